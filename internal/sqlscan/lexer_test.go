package sqlscan

import (
	"strings"
	"testing"
)

var kindNames = map[kind]string{
	kindBad: "bad", kindIdent: "name", kindQuoted: "quoted", kindUnicodeQuoted: "uquoted", kindString: "string",
	kindEscape: "escape", kindUnicode: "unicode", kindNational: "national", kindBits: "bits", kindDollar: "dollar",
	kindNumber: "number", kindParam: "param", kindOperator: "op", kindOpen: "(", kindClose: ")", kindBracketOpen: "[",
	kindBracketClose: "]", kindComma: ",", kindSemicolon: ";", kindDot: ".", kindDotDot: "..", kindColon: ":",
	kindCast: "::", kindAssign: ":=", kindArrow: "=>", kindComment: "comment",
}

// cut gives the tokens of a text without white space, as kind:text.
func cutText(text string) string {
	var out []string
	for l := (lexer{text: text}); ; {
		t := l.next()
		switch t.kind {
		case kindEOF:
			return strings.Join(out, " ")
		case kindSpace:
			continue
		}
		name, body := kindNames[t.kind], text[t.start:t.end]
		if name == "name" && t.kw != 0 {
			name = "keyword"
		}
		if name != body {
			name += ":" + body
		}
		out = append(out, name)
	}
}

func TestLexer(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"keywords in any case", "SeLeCt selects", "keyword:SeLeCt name:selects"},
		{"a name with a dollar", "a$$b", "name:a$$b"},
		{"a name beyond ASCII", "größe", "name:größe"},
		{"a doubled quote", "'a''b'", "string:'a''b'"},
		{"a backslash is a character", `'a\' b`, `string:'a\' name:b`},
		{"a backslash escapes in E", `E'a\'b' c`, `escape:E'a\'b' name:c`},
		{"a continued literal keeps its kind", "E'a'\n'b\\'c'", "escape:E'a'\n'b\\'c'"},
		{"no continuation without a new line", "'a' 'b'", "string:'a' string:'b'"},
		{"a line comment within a continuation", "'a' -- x\n 'b'", "string:'a' -- x\n 'b'"},
		{"a block comment ends a literal", "'a' /*\n*/ 'b'", "string:'a' comment:/*\n*/ string:'b'"},
		{"bits and hex", "b'01' X'1f'", "bits:b'01' bits:X'1f'"},
		{"national", "n'a' nn'b'", "national:n'a' name:nn string:'b'"},
		{"unicode", `U&'d\0061' u&"a""b"`, `unicode:U&'d\0061' uquoted:u&"a""b"`},
		{"U and & apart", "u & 'a'", "name:u op:& string:'a'"},
		{"dollar quotes", "$$a$b$$ $x$ $$ $X$ $x$", "dollar:$$a$b$$ dollar:$x$ $$ $X$ $x$"},
		{"a parameter", "$1+$23", "param:$1 op:+ param:$23"},
		{"quoted names", `"a""b" "C"`, `quoted:"a""b" quoted:"C"`},
		{"nested comments", "a/* x /* y */ z */b", "name:a comment:/* x /* y */ z */ name:b"},
		{"a comment that begins with an operator", "/*+ x */", "comment:/*+ x */"},
		{"a comment ends an operator", "a<--b\n>=/*c*/d", "name:a op:< comment:--b op:>= comment:/*c*/ name:d"},
		{"a trailing minus is another operator", "a=-1 a<>-1 a+-b", "name:a op:= op:- number:1 name:a op:<> op:- number:1 name:a op:+ op:- name:b"},
		{"a trailing minus stays behind a special character", "a@-b ~+- |-", "name:a op:@- name:b op:~+- op:|-"},
		{"many characters", "a ->> b #>> c <-> ?| &&", "name:a op:->> name:b op:#>> name:c op:<-> op:?| op:&&"},
		{"casts and arguments", "a::b c:=d e=>f g:h", "name:a :: name:b name:c := name:d name:e => name:f name:g : name:h"},
		{"numbers", "1 1.5 .5 1. 1e5 1.5E-3 0x1F 0b10 0o17 1_000", "number:1 number:1.5 number:.5 number:1. number:1e5 number:1.5E-3 number:0x1F number:0b10 number:0o17 number:1_000"},
		{"two dots", "1..2", "number:1 .. number:2"},
		{"junk behind a number", "1a", "bad:1a"},
		{"junk behind a parameter", "$1a", "bad:$1a"},
		{"an unfinished literal", "'a", "bad:'a"},
		{"an unfinished name", `"a`, `bad:"a`},
		{"an empty name", `""`, `bad:""`},
		{"an unfinished comment", "/* /* */", "bad:/* /* */"},
		{"an unfinished dollar quote", "$a$ b $b$", "bad:$a$ b $b$"},
		{"a byte that means nothing", `a\b`, `name:a bad:\b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := cutText(tt.text); got != tt.want {
				t.Errorf("%s\n got %s\nwant %s", tt.text, got, tt.want)
			}
		})
	}
}

// Every keyword is found, in both cases, with what the grammar says of it.
func TestKeywords(t *testing.T) {
	for i, w := range keywordNames[1:] {
		for _, w := range []string{w, strings.ToUpper(w)} {
			tok := (&lexer{text: w}).next()
			if int(tok.kw) != i+1 || int(tok.end) != len(w) {
				t.Errorf("%s is keyword %d, want %d", w, tok.kw, i+1)
			}
		}
	}
	if got := categories[kwSelect]; got != catReserved {
		t.Errorf("SELECT is of category %d", got)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 62)
	tests := []struct{ name, text, want string }{
		{"lower case", "Shop", "shop"},
		{"only ASCII letters fold", "ÄB", "Äb"},
		{"quoted as written", `"Sh""op"`, `Sh"op`},
		{"cut at 63 bytes", long + "bc", long + "b"},
		{"cut before a character that doesn't fit", long + "éc", long},
		{"quoted and cut", `"` + long + `éc"`, long},
		{"unicode escapes", `U&"d\0061t\+000061"`, "data"},
		{"another escape", `U&"d!0061ta" UESCAPE '!'`, "data"},
		{"a pair of surrogates", `U&"\D83D\DE00"`, "😀"},
		{"escaped escape", `U&"a\\b"`, `a\b`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := Scan("TABLE " + tt.text)
			if len(st.Relations) != 1 || st.Relations[0].Name != tt.want {
				t.Errorf("%s: got %q, want %q", tt.text, st.Relations, tt.want)
			}
		})
	}
	for _, bad := range []string{`U&"\00"`, `U&"\D83D"`, `U&"\DE00\D83D"`, `U&"\0000"`, `U&"a" UESCAPE 'ab'`, `U&"a" UESCAPE '+'`} {
		if st := Scan("TABLE " + bad); st.Class != ClassUnknown {
			t.Errorf("%s: %v, want unknown", bad, st.Class)
		}
	}
}
