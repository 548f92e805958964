package oracle

import "strings"

// value makes an expression of a kind, over what can be named.
func (g *Typed) value(kind string) {
	g.depth++
	defer func() { g.depth-- }()
	if g.depth > 6 || g.one(3) {
		g.leaf(kind)
		return
	}
	switch kind {
	case kindInt:
		g.intValue()
	case kindText:
		g.textValue()
	case kindNum:
		g.fill(g.pick("( %numeric % 3 )", "discount ( %numeric )", "shop . discount ( %int )", "round ( %numeric , 1 )", "( %int :: numeric )",
			"CAST ( %int AS numeric(10,2) )", "EXTRACT ( epoch FROM %timestamptz )", "EXTRACT ( year FROM %date )", "COALESCE ( %numeric , 0 )", "GREATEST ( %numeric , %numeric )",
			"( @ %numeric )", "NULLIF ( %numeric , 1 )"))
	case kindTime:
		g.fill(g.pick("date_trunc ( 'day' , %timestamptz )", "( %date :: timestamptz )", "( %timestamptz + interval '1 day' )", "( date_trunc ( 'hour' , %timestamptz ) AT TIME ZONE 'UTC' ) :: timestamptz",
			"timestamptz '2020-01-01'", "timezone ( 'UTC' , %date :: timestamp )", "( %timestamptz AT TIME ZONE 'UTC' AT TIME ZONE 'CET' )", "to_timestamp ( %numeric :: float8 )"))
	case kindDay:
		g.fill(g.pick("( %timestamptz :: date )", "( %date + %int )", "CAST ( date_trunc ( 'day' , %timestamptz ) AS date )", "date '2020-01-01'", "( %text :: date )", "to_date ( %text , 'YYYY' )",
			"make_date ( %int , 1 , 1 )", "date ( %timestamptz )", "( '2020-01-02' :: text :: date )", "( %timestamptz AT TIME ZONE 'UTC' ) :: date"))
	default:
		g.boolValue()
	}
}

func (g *Typed) intValue() {
	g.fill(g.pick("( %int + %int )", "( - %int )", "length ( %text )", "( %numeric :: int )", "CAST ( %text AS integer )", "( %text :: int4 )", "total ( %int , %int )", "total ( VARIADIC ARRAY [ %int ] )",
		"POSITION ( 'a' IN %text )", "CASE WHEN %bool THEN %int ELSE %int END", "CASE %int WHEN %int THEN 1 END", "COALESCE ( %int , %int )", "NULLIF ( %int , %int )",
		"( ARRAY [ %int , %int ] ) [ 1 ]", "( SELECT count ( * ) FROM item WHERE %bool ) :: int", "LEAST ( %int , %int )", "( %int :: int2 :: int )", "char_length ( TRIM ( %text ) )", "cardinality ( ARRAY [ %text ] )",
		"( %int % 2 )", "width_bucket ( %int :: float8 , 1 , 2 , 3 )"))
}

func (g *Typed) textValue() {
	g.fill(g.pick("( %text || %text )", "lower ( %text )", "UPPER ( %text )", "( %int :: text )", "CAST ( %date AS text )", "( %timestamptz :: varchar(20) )", "( %numeric :: character varying )", "TRIM ( BOTH 'x' FROM %text )",
		"SUBSTRING ( %text FROM 1 FOR 2 )", "SUBSTRING ( %text FOR %int )", "SUBSTRING ( %text , 1 )", "OVERLAY ( %text PLACING 'x' FROM 1 )", "pair ( a => %int )", "pair ( %int , b := %text )", "to_char ( %timestamptz , 'YYYY' )",
		"format ( '%%s' , %int )", "replace ( %text , 'a' , 'b' )", "left ( %text , 1 )", "( %text COLLATE \"C\" )", "( SELECT max ( name ) FROM item )", "( SELECT label ( i ) FROM item i LIMIT 1 )", "( SELECT i . label FROM item i LIMIT 1 )",
		"( SELECT ( i ) . label FROM item i LIMIT 1 )", "( SELECT ( sp ) . note FROM item LIMIT 1 )", "concat ( %int , %text )", "N'x'", "( ARRAY [ %text ] ) [ 1 : 1 ] :: text", "COALESCE ( %text , %text )", "NORMALIZE ( %text , NFC )",
		"( %text :: shop . code )", "( 'ok' :: mood :: text )", "CASE WHEN %bool THEN %text END", "( ROW ( %int , %text ) :: text )", "( jsonb_build_object ( 'a' , %int ) ->> 'a' )", "regexp_replace ( %text , 'a' , 'b' )"))
}

func (g *Typed) boolValue() {
	g.fill(g.pick("( %int = %int )", "( %text < %text )", "( %int IN ( %int , %int ) )", "( %text NOT IN ( 'a' , %text ) )", "( %int BETWEEN %int AND %int )", "( %int NOT BETWEEN SYMMETRIC %int AND %int )", "( %text LIKE %text )",
		"( %text NOT ILIKE 'a%' ESCAPE 'x' )", "( %text SIMILAR TO 'a' )", "( %bool AND %bool )", "( NOT %bool OR %bool )", "( %date IS NULL )", "( %int IS DISTINCT FROM %int )", "( %int = ANY ( ARRAY [ %int ] ) )",
		"( %int <> ALL ( SELECT id FROM event ) )", "EXISTS ( SELECT 1 FROM item_view v WHERE v . id = %int )", "( %int IN ( SELECT item_id FROM \"Order\" WHERE %bool ) )", "( ( %int , %text ) = ( %int , %text ) )",
		"( ( %int , %int ) < ( %int , %int ) )", "( ( %date , %date ) OVERLAPS ( %date , %date ) )", "( %text ### %text )", "( %text OPERATOR( shop . ### ) %text )", "( %timestamptz > %date )", "( %date >= '2020-01-01' )", "starts_with ( %text , 'a' )",
		"( %bool IS NOT TRUE )", "( %text ~* 'x' )", "( %numeric > %int )", "( %int , %int ) IN ( SELECT id , item_id FROM public.tag )", "( %text IS NFC NORMALIZED )", "( %bool :: boolean )", "( jsonb_build_array ( %int ) @> '[1]' )",
		"( %timestamptz > %timestamptz - interval '1' day )", "( %text COLLATE \"C\" > 'a' )", "( %text || 'x' LIKE 'a' )"))
}

// leaf makes a value of a kind without much ado.
func (g *Typed) leaf(kind string) {
	var fit []column
	for _, s := range g.scopes {
		for _, c := range s {
			if c.kind == kind && c.name != "" {
				fit = append(fit, c)
			}
		}
	}
	if len(fit) > 0 && !g.one(4) {
		c := fit[g.r.IntN(len(fit))]
		g.emit(c.entry, ".", c.name)
		return
	}
	switch kind {
	case kindInt:
		g.emit(g.pick("1", "2", "$1", "0", "42"))
	case kindText:
		g.emit(g.pick("'a'", "'it''s'", "$2", "E'x\\n'", "$$b$$", "U&'\\0061'"))
	case kindNum:
		g.emit(g.pick("1.5", "2.0"))
	case kindTime:
		g.emit(g.pick("$3", "timestamptz '2020-01-01 12:00'"))
	case kindDay:
		g.emit(g.pick("date '2020-01-01'", "'2021-02-03'::date"))
	default:
		g.emit(g.pick("true", "FALSE"))
	}
}

// fill emits a pattern's words, with values for its %kinds.
func (g *Typed) fill(pattern string) {
	for _, w := range strings.Fields(pattern) {
		switch kind := strings.TrimPrefix(w, "%"); kind {
		case kindInt, kindText, kindNum, kindTime, kindDay, kindBool:
			if kind != w {
				g.value(kind)
				continue
			}
			fallthrough
		default:
			g.out = append(g.out, strings.ReplaceAll(w, "%%", "%"))
		}
	}
}
