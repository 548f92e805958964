package sqlscan

import "strings"

// look goes through the tokens from one place up to another for what counts
// wherever it stands.
func (s *scanner) look(from, to int) {
	s.effect = EffectNone
	labelled := false // after a dot or AS: a name, whatever word it is
	for i := from; i < to; i++ {
		t := &s.toks[i]
		switch t.kind {
		case kindIdent:
			if t.kw == 0 {
				s.lookName(i)
			} else if !labelled {
				s.lookKeyword(i)
			}
		case kindQuoted, kindUnicodeQuoted:
			s.lookName(i)
		case kindString, kindEscape, kindUnicode, kindNational, kindDollar:
			s.lookLiteral(i)
		}
		labelled = t.kind == kindDot || t.kw == kwAs || t.kw == kwName && s.namesElement(i)
	}
}

// namesElement says whether NAME at i is that of XMLELEMENT or XMLPI, which a
// label follows.
func (s *scanner) namesElement(i int) bool {
	if i < 2 || s.toks[i-1].kind != kindOpen {
		return false
	}
	k := s.toks[i-2].kw
	return k == kwXmlelement || k == kwXmlpi
}

func (s *scanner) lookKeyword(i int) {
	switch kw := s.toks[i].kw; kw {
	case kwCurrentDate, kwCurrentTime, kwCurrentTimestamp, kwLocaltime, kwLocaltimestamp:
		if s.isPlainLabel(i) {
			return
		}
		s.reasons.add(Reason{Code: ReasonClock, Detail: keywordNames[kw], Markable: true})
	case kwCurrentUser, kwUser, kwSessionUser, kwCurrentRole, kwCurrentCatalog, kwCurrentSchema, kwSystemUser:
		if s.isPlainLabel(i) {
			return
		}
		s.reasons.add(Reason{Code: ReasonIdentity, Detail: keywordNames[kw]})
	case kwTablesample:
		s.reasons.add(Reason{Code: ReasonTableSample, Detail: keywordNames[kw], Markable: true})
	case kwInto:
		if i == 0 || s.toks[i-1].kw != kwInsert && s.toks[i-1].kw != kwMerge {
			s.into = true
		}
	case kwFor:
		if s.isLock(i) {
			s.locks, s.lockAt = true, i
		}
	}
}

// isPlainLabel says whether the word at i can only be the label of what is right
// before it: no operand follows another one.
func (s *scanner) isPlainLabel(i int) bool {
	if i == 0 {
		return false
	}
	switch t := &s.toks[i-1]; t.kind {
	case kindIdent:
		return t.kw == 0
	case kindQuoted, kindNumber, kindParam:
		return true
	}
	return false
}

// isLock says whether FOR at a place begins a row lock. There are always
// enough tokens behind a keyword: the end is one.
func (s *scanner) isLock(i int) bool {
	switch s.kwAt(i + 1) {
	case kwUpdate, kwShare:
		return true
	case kwKey:
		return s.kwAt(i+2) == kwShare
	case kwNo:
		return s.kwAt(i+2) == kwKey
	}
	return false
}

func (s *scanner) kwAt(i int) keyword {
	if i < len(s.toks) {
		return s.toks[i].kw
	}
	return 0
}

// lookName looks for names that mean something wherever they stand.
func (s *scanner) lookName(i int) {
	t := &s.toks[i]
	n := int(t.end - t.start)
	if t.kind == kindQuoted {
		n -= 2
	}
	if t.kind != kindUnicodeQuoted {
		// Nearly all names end here.
		first := s.text[t.start]
		if t.kind == kindQuoted {
			first = s.text[t.start+1]
		}
		switch first | 0x20 {
		case 'x', 'c', 't':
			if n != len("ctid") && n != len("tableoid") {
				return
			}
		case 's', 'p':
			if n < len("set_config") {
				return
			}
		default:
			return
		}
	}
	switch name := s.name(i); name {
	case "xmin", "xmax", "cmin", "cmax", "ctid", "tableoid":
		s.reasons.add(Reason{Code: ReasonSystemColumn, Detail: name})
	case "set_config":
		if s.toks[i+1].kind == kindOpen {
			s.effect = max(s.effect, s.setConfig(i+1))
		}
	default:
		if len(name) > 15 && strings.HasPrefix(name, "pg_") && s.toks[i+1].kind == kindOpen &&
			(strings.HasPrefix(name, "pg_advisory_") || strings.HasPrefix(name, "pg_try_advisory_")) &&
			!strings.Contains(name, "_xact_") {
			s.effect = EffectChanged
		}
	}
}

// setConfig reads the arguments of set_config, whose parenthesis stands at i.
func (s *scanner) setConfig(i int) Effect {
	end, commas := int(s.toks[i].match), 0
	for j := i + 1; j < end; j++ {
		switch s.toks[j].kind {
		case kindOpen, kindBracketOpen:
			j = int(s.toks[j].match)
		case kindComma:
			if commas++; commas == 2 && s.kwAt(j+1) == kwTrue && j+2 == end {
				return EffectLocal
			}
		}
	}
	return EffectChanged
}

// lookLiteral looks for the words that mean a day or an instant relative to the
// clock.
func (s *scanner) lookLiteral(i int) {
	t := &s.toks[i]
	body := t.body(s.text)
	if t.flags&(flagContinued|flagBackslash) != 0 || t.kind == kindUnicode {
		body = t.joined(s.text)
		switch t.kind {
		case kindEscape:
			if word := dateWord(body); word != "" {
				break
			}
			body = decodeEscape(body)
		case kindUnicode:
			escape, ok := s.unicodeEscape(i)
			if ok {
				body, ok = decodeUnicode(body, escape, '\'')
			}
			if !ok {
				body = "now" // it can't be read: taken for the worst
			}
		case kindString, kindNational:
			// Where standard_conforming_strings is off it is an E'…'.
			if dateWord(body) == "" && t.flags&flagBackslash != 0 {
				body = decodeEscape(body)
			}
		}
	}
	if word := dateWord(body); word != "" {
		s.reasons.add(Reason{Code: ReasonDateWord, Detail: word, Markable: true})
	}
}

// unicodeEscape gives the escape character of the U& token at i.
func (s *scanner) unicodeEscape(i int) (byte, bool) {
	if s.kwAt(i+1) != kwUescape || i+2 >= len(s.toks) {
		return '\\', true
	}
	t := s.toks[i+2]
	if t.kind != kindString && t.kind != kindEscape {
		return 0, false
	}
	body := t.joined(s.text)
	if len(body) != 1 {
		return 0, false
	}
	c := body[0]
	if bytes[c]&(byteHex|byteSpace) != 0 || c == '+' || c == '\'' || c == '"' || c >= 0x80 {
		return 0, false
	}
	return c, true
}

// name gives what the name token at i means.
func (s *scanner) name(i int) string {
	t := s.toks[i]
	switch t.kind {
	case kindIdent:
		return fold(s.text[t.start:t.end], t.flags)
	case kindQuoted:
		body := t.body(s.text)
		if t.flags&flagDoubled != 0 {
			body = strings.ReplaceAll(body, `""`, `"`)
		}
		return cut(body)
	case kindUnicodeQuoted:
		s.st.Features |= FeatureUnicodeEscape
		if escape, ok := s.unicodeEscape(i); ok {
			if name, ok := decodeUnicode(t.body(s.text), escape, '"'); ok && name != "" {
				return cut(name)
			}
		}
		s.fail()
	}
	return ""
}
