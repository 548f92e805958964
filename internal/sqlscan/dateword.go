package sqlscan

import "strings"

// dateWord finds now, today, tomorrow or yesterday as a word of its own in any
// case, where an input function of dates and times could read it as such, and
// gives it.
//
// Those functions take every run of letters for a word and pass over most
// punctuation, so '%today%' is a date. Arrays, ranges and composites take quotes
// and backslashes out of their elements first, so {n\ow} has a date in it.
func dateWord(s string) string {
	for i := 0; i < len(s); i++ {
		if !isLetter(s[i]) {
			continue
		}
		if word := relativeWord(s[i:]); word != "" {
			if neverDate(s) {
				return ""
			}
			return word
		}
		for i+1 < len(s) && isLetter(s[i+1]) {
			i++
		}
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// relativeWord gives the word that s begins with.
func relativeWord(s string) string {
	switch s[0] | 0x20 {
	case 'n':
		if beginsWith(s, "now") {
			return "now"
		}
	case 't':
		if beginsWith(s, "today") {
			return "today"
		}
		if beginsWith(s, "tomorrow") {
			return "tomorrow"
		}
	case 'y':
		if beginsWith(s, "yesterday") {
			return "yesterday"
		}
	}
	return ""
}

// beginsWith says whether s begins with the word, whatever quotes and
// backslashes stand within, and no letter follows.
func beginsWith(s, word string) bool {
	i := 0
	for j := range len(word) {
		for j > 0 && i < len(s) && (s[i] == '"' || s[i] == '\\') {
			i++
		}
		if i >= len(s) || s[i]|0x20 != word[j] {
			return false
		}
		i++
	}
	return i >= len(s) || !isLetter(s[i])
}

// neverDate says that no input function of dates and times takes the literal: a
// word stands in it that they don't know, apart from all else, and it is none of
// the containers and documents in which another element may be the date.
//
// They know their own words, the abbreviations of time zones, of which none that
// PostgreSQL comes with has more than six letters, and the names of time zones.
// A word that touches a digit or a sign may be a time zone of somebody's making,
// as hiring+3 is.
func neverDate(s string) bool {
	if strings.ContainsAny(s, `({["\<>=`) {
		return false
	}
	const longestAbbreviation = 6
	for i := 0; i < len(s); i++ {
		if !isLetter(s[i]) {
			continue
		}
		start := i
		for i < len(s) && isLetter(s[i]) {
			i++
		}
		if i-start > longestAbbreviation && (start == 0 || apart(s[start-1])) && (i == len(s) || apart(s[i])) &&
			!knownToDates(s[start:i]) {
			return true
		}
	}
	return false
}

// apart says whether a byte ends a word of letters for good.
func apart(c byte) bool { return strings.IndexByte(" \t\n\r,;!?&%", c) >= 0 }

// knownToDates says whether a word of seven letters or more means something in a
// date or a time, or is a time zone's name: on some system, in some version.
func knownToDates(word string) bool {
	switch strings.ToLower(word) {
	case "january", "february", "september", "october", "november", "december",
		"tuesday", "wednesday", "thursday", "saturday",
		"tomorrow", "yesterday", "infinity", "allballs", "isoyear", "current", "invalid", "undefined",
		"america", "antarctica", "atlantic", "australia", "pacific",
		"factory", "greenwich", "hongkong", "iceland", "jamaica", "kwajalein", "portugal", "singapore", "universal",
		"localtime", "posixrules", "leapseconds", "systemv":
		return true
	}
	return false
}
