package sqlscan

import "strings"

// keyword is a word that PostgreSQL's grammar knows; 0 is none. The words are
// those of version 17: what later versions add and don't reserve may stand where
// a name may, and is read as one.
type keyword uint16

// category says where a keyword may stand for a name.
type category uint8

const (
	catNone           category = iota // no keyword
	catUnreserved                     // anywhere
	catColumn                         // a column or a table, not a function or a type
	catTypeOrFunction                 // a function or a type
	catReserved                       // only as a label
)

// The keywords that the descent asks for.
const (
	_ keyword = iota
	kwAbort
	kwAbsent
	kwAll
	kwAlter
	kwAnalyse
	kwAnalyze
	kwAnd
	kwAny
	kwArray
	kwAs
	kwAsc
	kwAsymmetric
	kwAt
	kwBegin
	kwBetween
	kwBigint
	kwBinary
	kwBit
	kwBoolean
	kwBoth
	kwBreadth
	kwBy
	kwCascade
	kwCase
	kwCast
	kwChain
	kwChar
	kwCharacter
	kwClose
	kwCluster
	kwCoalesce
	kwCollate
	kwCollation
	kwColumns
	kwComment
	kwCommit
	kwConcurrently
	kwConditional
	kwConflict
	kwConstraint
	kwConstraints
	kwContent
	kwContinue
	kwCopy
	kwCreate
	kwCross
	kwCube
	kwCurrent
	kwCurrentCatalog
	kwCurrentDate
	kwCurrentRole
	kwCurrentSchema
	kwCurrentTime
	kwCurrentTimestamp
	kwCurrentUser
	kwCycle
	kwData
	kwDay
	kwDeallocate
	kwDec
	kwDecimal
	kwDeclare
	kwDefault
	kwDelete
	kwDepth
	kwDesc
	kwDiscard
	kwDistinct
	kwDo
	kwDocument
	kwDouble
	kwDrop
	kwElse
	kwEmpty
	kwEncoding
	kwEnd
	kwError
	kwEscape
	kwExcept
	kwExclude
	kwExecute
	kwExists
	kwExplain
	kwExtract
	kwFalse
	kwFetch
	kwFilter
	kwFirst
	kwFloat
	kwFollowing
	kwFor
	kwFormat
	kwFrom
	kwFull
	kwGlobal
	kwGrant
	kwGreatest
	kwGroup
	kwGrouping
	kwGroups
	kwHaving
	kwHold
	kwHour
	kwIdentity
	kwIf
	kwIlike
	kwImport
	kwIn
	kwIndent
	kwInner
	kwInsert
	kwInt
	kwInteger
	kwIntersect
	kwInterval
	kwInto
	kwIs
	kwIsnull
	kwJoin
	kwJson
	kwJsonArray
	kwJsonArrayagg
	kwJsonExists
	kwJsonObject
	kwJsonObjectagg
	kwJsonQuery
	kwJsonScalar
	kwJsonSerialize
	kwJsonTable
	kwJsonValue
	kwKeep
	kwKey
	kwKeys
	kwLast
	kwLateral
	kwLeading
	kwLeast
	kwLeft
	kwLike
	kwLimit
	kwListen
	kwLoad
	kwLocal
	kwLocaltime
	kwLocaltimestamp
	kwLock
	kwLocked
	kwMatched
	kwMaterialized
	kwMerge
	kwMergeAction
	kwMinute
	kwMonth
	kwMove
	kwName
	kwNational
	kwNatural
	kwNchar
	kwNested
	kwNew
	kwNext
	kwNfc
	kwNfd
	kwNfkc
	kwNfkd
	kwNo
	kwNormalize
	kwNormalized
	kwNot
	kwNothing
	kwNotify
	kwNotnull
	kwNowait
	kwNull
	kwNullif
	kwNulls
	kwNumeric
	kwObject
	kwOf
	kwOff
	kwOffset
	kwOld
	kwOmit
	kwOn
	kwOnly
	kwOperator
	kwOr
	kwOrder
	kwOrdinality
	kwOthers
	kwOuter
	kwOver
	kwOverlaps
	kwOverlay
	kwOverriding
	kwPartition
	kwPassing
	kwPath
	kwPlacing
	kwPosition
	kwPreceding
	kwPrecision
	kwPrepare
	kwPrepared
	kwPreserve
	kwProgram
	kwQuotes
	kwRange
	kwRead
	kwReal
	kwReassign
	kwRecursive
	kwRef
	kwRefresh
	kwReindex
	kwRelease
	kwRepeatable
	kwReplace
	kwReset
	kwRestart
	kwRestrict
	kwReturning
	kwRevoke
	kwRight
	kwRollback
	kwRollup
	kwRow
	kwRows
	kwSavepoint
	kwScalar
	kwSearch
	kwSecond
	kwSecurity
	kwSelect
	kwSession
	kwSessionUser
	kwSet
	kwSetof
	kwSets
	kwShare
	kwShow
	kwSimilar
	kwSkip
	kwSmallint
	kwSome
	kwSource
	kwStandalone
	kwStart
	kwStdin
	kwStdout
	kwString
	kwStrip
	kwSubstring
	kwSymmetric
	kwSystem
	kwSystemUser
	kwTable
	kwTablesample
	kwTarget
	kwTemp
	kwTemporary
	kwThen
	kwTies
	kwTime
	kwTimestamp
	kwTo
	kwTrailing
	kwTransaction
	kwTrim
	kwTrue
	kwTruncate
	kwType
	kwUescape
	kwUnbounded
	kwUnconditional
	kwUnion
	kwUnique
	kwUnknown
	kwUnlisten
	kwUnlogged
	kwUpdate
	kwUser
	kwUsing
	kwValue
	kwValues
	kwVarchar
	kwVariadic
	kwVarying
	kwVerbose
	kwVersion
	kwView
	kwWhen
	kwWhere
	kwWhitespace
	kwWindow
	kwWith
	kwWithin
	kwWithout
	kwWork
	kwWrapper
	kwXmlattributes
	kwXmlconcat
	kwXmlelement
	kwXmlexists
	kwXmlforest
	kwXmlnamespaces
	kwXmlparse
	kwXmlpi
	kwXmlroot
	kwXmlserialize
	kwXmltable
	kwYear
	kwYes
	kwZone
)

// Words with ! behind them are no label without AS.
const (
	wordsUnreserved = `
		abort absent absolute access action add admin after aggregate also alter always asensitive assertion
		assignment at atomic attach attribute backward before begin breadth by cache call called cascade cascaded
		catalog chain characteristics checkpoint class close cluster columns comment comments commit committed
		compression conditional configuration conflict connection constraints content continue conversion copy
		cost csv cube current cursor cycle data database day! deallocate declare defaults deferred definer delete
		delimiter delimiters depends depth detach dictionary disable discard document domain double drop each
		empty enable encoding encrypted enum error escape event exclude excluding exclusive execute explain
		expression extension external family filter! finalize first following force format forward function
		functions generated global granted groups handler header hold hour! identity if immediate immutable
		implicit import include including increment indent index indexes inherit inherits inline input
		insensitive insert instead invoker isolation keep key keys label language large last leakproof level
		listen load local location lock locked logged mapping match matched materialized maxvalue merge method
		minute! minvalue mode month! move name names nested new next nfc nfd nfkc nfkd no normalized nothing
		notify nowait nulls object of off oids old omit operator option options ordinality others over!
		overriding owned owner parallel parameter parser partial partition passing password path plan plans
		policy preceding prepare prepared preserve prior privileges procedural procedure procedures program
		publication quote quotes range read reassign recheck recursive ref referencing refresh reindex relative
		release rename repeatable replace replica reset restart restrict return returns revoke role rollback
		rollup routine routines rows rule savepoint scalar schema schemas scroll search second! security sequence
		sequences serializable server session set sets share show simple skip snapshot source sql stable
		standalone start statement statistics stdin stdout storage stored strict string strip subscription
		support sysid system tables tablespace target temp template temporary text ties transaction transform
		trigger truncate trusted type types uescape unbounded uncommitted unconditional unencrypted unknown
		unlisten unlogged until update vacuum valid validate validator value varying! version view views volatile
		whitespace within! without! work wrapper write xml year! yes zone`
	wordsColumn = `
		between bigint bit boolean char! character! coalesce dec decimal exists extract float greatest grouping
		inout int integer interval json json_array json_arrayagg json_exists json_object json_objectagg
		json_query json_scalar json_serialize json_table json_value least merge_action national nchar none
		normalize nullif numeric out overlay position precision! real row setof smallint substring time timestamp
		treat trim values varchar xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse
		xmlpi xmlroot xmlserialize xmltable`
	wordsTypeOrFunction = `
		authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull! join
		left like natural notnull! outer overlaps! right similar tablesample verbose`
	wordsReserved = `
		all analyse analyze and any array! as! asc asymmetric both case cast check collate column constraint
		create! current_catalog current_date current_role current_time current_timestamp current_user default
		deferrable desc distinct do else end except! false fetch! for! foreign from! grant! group! having! in
		initially intersect! into! lateral leading limit! localtime localtimestamp not null offset! on! only or
		order! placing primary references returning! select session_user some symmetric system_user table then
		to! trailing true union! unique user using variadic when where! window! with!`
)

// What the descent calls its keywords, in the order of their constants.
const wordsNamed = `
	abort absent all alter analyse analyze and any array as asc asymmetric at begin between bigint binary bit
	boolean both breadth by cascade case cast chain char character close cluster coalesce collate collation
	columns comment commit concurrently conditional conflict constraint constraints content continue copy create
	cross cube current current_catalog current_date current_role current_schema current_time current_timestamp
	current_user cycle data day deallocate dec decimal declare default delete depth desc discard distinct do
	document double drop else empty encoding end error escape except exclude execute exists explain extract false
	fetch filter first float following for format from full global grant greatest group grouping groups having
	hold hour identity if ilike import in indent inner insert int integer intersect interval into is isnull join json
	json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize
	json_table json_value keep key keys last lateral leading least left like limit listen load local localtime
	localtimestamp lock locked matched materialized merge merge_action minute month move name national natural
	nchar nested new next nfc nfd nfkc nfkd no normalize normalized not nothing notify notnull nowait null nullif
	nulls numeric object of off offset old omit on only operator or order ordinality others outer over overlaps
	overlay overriding partition passing path placing position preceding precision prepare prepared preserve
	program quotes range read real reassign recursive ref refresh reindex release repeatable replace reset restart
	restrict returning revoke right rollback rollup row rows savepoint scalar search second security select
	session session_user set setof sets share show similar skip smallint some source standalone start stdin stdout
	string strip substring symmetric system system_user table tablesample target temp temporary then ties time
	timestamp to trailing transaction trim true truncate type uescape unbounded unconditional union unique unknown
	unlisten unlogged update user using value values varchar variadic varying verbose version view when where
	whitespace window with within without work wrapper xmlattributes xmlconcat xmlelement xmlexists xmlforest
	xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable year yes zone`

var (
	keywordNames []string
	keywordUpper []string
	categories   []category // by keyword
	needsAs      []bool     // by keyword: no label without AS
	keywordTable [1 << 11]keyword
)

const (
	hashFactor     = 31
	longestKeyword = len("current_timestamp")
)

func init() {
	ids := map[string]keyword{}
	keywordNames = append(keywordNames, "")
	for _, w := range strings.Fields(wordsNamed) {
		ids[w] = keyword(len(keywordNames))
		keywordNames = append(keywordNames, w)
	}
	all := []struct {
		words string
		cat   category
	}{
		{wordsUnreserved, catUnreserved}, {wordsColumn, catColumn},
		{wordsTypeOrFunction, catTypeOrFunction}, {wordsReserved, catReserved},
	}
	categories, needsAs = make([]category, 600), make([]bool, 600)
	for _, group := range all {
		for _, w := range strings.Fields(group.words) {
			w, as := strings.CutSuffix(w, "!")
			id, ok := ids[w]
			if !ok {
				id = keyword(len(keywordNames))
				keywordNames = append(keywordNames, w)
			}
			categories[id], needsAs[id] = group.cat, as
			hash := uint32(0)
			for _, c := range []byte(w) {
				hash = hash*hashFactor + uint32(c|0x20)
			}
			slot := keywordSlot(hash)
			for keywordTable[slot] != 0 {
				slot = (slot + 1) % uint32(len(keywordTable))
			}
			keywordTable[slot] = id
		}
	}
	keywordUpper = make([]string, len(keywordNames))
	for i, w := range keywordNames {
		keywordUpper[i] = strings.ToUpper(w)
	}
}

func keywordSlot(hash uint32) uint32 {
	return (hash ^ hash>>11) % uint32(len(keywordTable))
}

// lookup gives the keyword that a word is, in any case. The hash is over its
// bytes with the bit of lower case set.
func lookup(word string, hash uint32) keyword {
	if len(word) > longestKeyword {
		return 0
	}
	for slot := keywordSlot(hash); ; slot = (slot + 1) % uint32(len(keywordTable)) {
		id := keywordTable[slot]
		if id == 0 || sameWord(keywordNames[id], word) {
			return id
		}
	}
}

func sameWord(keyword, word string) bool {
	if len(keyword) != len(word) {
		return false
	}
	for i := range len(keyword) {
		if keyword[i]|0x20 != word[i]|0x20 {
			return false
		}
	}
	return true
}
