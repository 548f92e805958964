package sqlscan

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// isText says whether the token is a literal in quotes that holds characters.
func (k kind) isText() bool {
	return k == kindString || k == kindEscape || k == kindUnicode || k == kindNational || k == kindDollar
}

// body gives what stands between a literal's or a name's quotes, undecoded.
func (t token) body(text string) string {
	s := text[t.start:t.end]
	switch t.kind {
	case kindDollar:
		n := strings.IndexByte(s[1:], '$') + 2
		return s[n : len(s)-n]
	case kindString, kindQuoted:
		return s[1 : len(s)-1]
	case kindEscape, kindNational, kindBits:
		return s[2 : len(s)-1]
	case kindUnicode, kindUnicodeQuoted:
		return s[3 : len(s)-1]
	}
	return s
}

// joined is body with a continued literal's parts put together, and doubled
// quotes as they are.
func (t token) joined(text string) string {
	s := t.body(text)
	if t.flags&flagContinued == 0 {
		return s
	}
	var b strings.Builder
	l := lexer{text: text}
	i := int(t.end) - len(s) - 1
	for i < int(t.end) {
		if text[i] != '\'' {
			b.WriteByte(text[i])
			if text[i] == '\\' && t.kind == kindEscape {
				i++
				b.WriteByte(text[i])
			}
			i++
			continue
		}
		if l.at(i+1) == '\'' && t.kind != kindBits && i+1 < int(t.end) {
			b.WriteString("''")
			i += 2
			continue
		}
		if i = l.continuation(i + 1); i < 0 {
			break
		}
		i++
	}
	return b.String()
}

// fold gives an unquoted name as PostgreSQL does: ASCII letters in lower case,
// cut.
func fold(s string, flags uint8) string {
	if flags&flagUpper != 0 {
		b := []byte(s)
		for i, c := range b {
			if c >= 'A' && c <= 'Z' {
				b[i] = c | 0x20
			}
		}
		s = string(b)
	}
	return cut(s)
}

// maxName is the longest name that PostgreSQL keeps, in bytes.
const maxName = 63

// cut shortens a name to what PostgreSQL keeps of it, to whole characters.
func cut(s string) string {
	if len(s) <= maxName {
		return s
	}
	n := maxName
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// decodeEscape gives what the body of an E'…' literal means.
func decodeEscape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 >= len(s) {
			b.WriteByte(c)
			if c == '\'' {
				i++ // doubled
			}
			continue
		}
		i++
		switch c = s[i]; c {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'v':
			b.WriteByte('\v')
		case 'x':
			v, n := digitsOf(s[i+1:], 16, 2)
			if n == 0 {
				b.WriteByte(c)
				break
			}
			b.WriteByte(byte(v))
			i += n
		case 'u', 'U':
			most := 4
			if c == 'U' {
				most = 8
			}
			v, n := digitsOf(s[i+1:], 16, most)
			b.WriteRune(rune(v))
			i += n
		case '0', '1', '2', '3', '4', '5', '6', '7':
			v, n := digitsOf(s[i:], 8, 3)
			b.WriteByte(byte(v))
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// decodeUnicode gives what the body of a U& literal or name means, with its
// quote q doubled within; not ok if PostgreSQL would refuse it.
func decodeUnicode(s string, escape, q byte) (string, bool) {
	var b strings.Builder
	var high rune // the first half of a surrogate pair
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == escape && i+1 < len(s) && s[i+1] == escape {
			i++
		} else if c == escape {
			most, skip := 4, 1
			if i+1 < len(s) && s[i+1] == '+' {
				most, skip = 6, 2
			}
			if i+skip > len(s) {
				return "", false
			}
			v, n := digitsOf(s[i+skip:], 16, most)
			if n != most || v == 0 || v > utf8.MaxRune {
				return "", false
			}
			i += skip + n - 1
			r := rune(v)
			if high != 0 {
				r = utf16.DecodeRune(high, r)
				if r == utf8.RuneError {
					return "", false
				}
				high = 0
			} else if utf16.IsSurrogate(r) {
				high = r
				continue
			}
			b.WriteRune(r)
			continue
		} else if c == q {
			i++
		}
		if high != 0 {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), high == 0
}

// digitsOf reads up to most digits, and says how many there were.
func digitsOf(s string, base uint32, most int) (v uint32, n int) {
	for n < len(s) && n < most {
		c := s[n]
		d := uint32(c - '0')
		if c|0x20 >= 'a' && c|0x20 <= 'f' {
			d = uint32(c|0x20-'a') + 10
		}
		if d >= base {
			break
		}
		v = v*base + d
		n++
	}
	return v, n
}
