package sqlscan

import (
	"strconv"
	"strings"
)

// What the text, and the server in its stead, gives names to.

// alsoNamed reads a name that the text gives to something.
func (s *scanner) alsoNamed(allowed int) string {
	name := s.takeName(allowed)
	if s.failed == failedNot {
		s.aliases.add(name)
	}
	return name
}

// fromNamed notes what an entry of a FROM list is called: its name alone means
// its whole row.
func (s *scanner) fromNamed(name string) {
	if name != "" {
		s.entries.add(name)
	}
}

// wholeRows looks for those names among the names that stand alone in
// expressions.
func (s *scanner) wholeRows() {
	if len(s.entries.list) == 0 || s.st.Features&FeatureWholeRow != 0 {
		return
	}
	for _, i := range s.bare {
		if s.entries.has(s.name(int(i))) {
			s.feature(FeatureWholeRow)
			return
		}
	}
}

// unlabelled notes the names that the server may give to a subquery's column
// that the text gives none, and that begins at start and has just been read: that
// of a function, of a type, of a column below a cast, of CASE. Nearly all are
// words of the text.
func (s *scanner) unlabelled(v value, start int) {
	if name := s.columnName(v); name != "" {
		s.aliases.add(name)
		if v.is == OperandCall {
			return
		}
	}
	if s.st.Features&FeatureRow != 0 {
		s.aliases.add(keywordNames[kwRow])
	}
	for i := start; i < s.pos; i++ {
		if t := &s.toks[i]; t.kind == kindIdent || t.kind == kindQuoted || t.kind == kindUnicodeQuoted {
			s.aliases.add(s.name(i))
			for _, name := range alsoCalled[t.kw] {
				s.aliases.add(name)
			}
		}
	}
}

// columnName gives the name that the server gives to a column of that value, as
// far as it is a call or a cast.
func (s *scanner) columnName(v value) string {
	if v.is != OperandCall && v.is != OperandCast {
		return ""
	}
	// What is called by a keyword is named in lower case.
	return strings.ToLower(v.of.Name)
}

// alsoCalled are the names of functions and types that have other words in the
// grammar.
var alsoCalled = map[keyword][]string{
	kwTrim: {"btrim", "ltrim", "rtrim"}, kwExtract: {"date_part"}, kwCollation: {"pg_collation_for"},
	kwNormalized: {"is_normalized"}, kwZone: {"timezone", "timestamptz", "timetz"}, kwLocal: {"timezone"},
	kwInt: {"int4"}, kwInteger: {"int4"}, kwSmallint: {"int2"}, kwBigint: {"int8"}, kwBoolean: {"bool"},
	kwReal: {"float4"}, kwFloat: {"float4", "float8"}, kwDouble: {"float8"}, kwDec: {"numeric"}, kwDecimal: {"numeric"},
	kwChar: {"bpchar"}, kwCharacter: {"bpchar"}, kwNchar: {"bpchar"}, kwVarying: {"varchar", "varbit"},
}

// valuesColumns notes the names that the columns of VALUES get.
func (s *scanner) valuesColumns(n int) {
	for i := 1; i <= n && s.failed == failedNot; i++ {
		s.aliases.add("column" + strconv.Itoa(i))
	}
}
