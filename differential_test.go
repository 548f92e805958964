package cachedpgx_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cachedpgx/cachedpgx"
	"github.com/cachedpgx/cachedpgx/internal/pgtest"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// The long run: CACHEDPGX_ROUNDS=20000 go test -run TestDifferential -timeout 2h .
// A seed makes a run again; without one, a long run takes a new one.
const (
	diffEnvSeed   = "CACHEDPGX_SEED"
	diffEnvRounds = "CACHEDPGX_ROUNDS"

	diffSeed     = 20241105
	diffRounds   = 240
	diffPerWorld = 60 // rounds over one schema
	diffMost     = 25 // disagreements after which a run ends
)

// TestDifferential asks random questions of random tables through plain pgx and
// through the cache, again and again, with writes in between: every answer must
// be the one that plain pgx gives. Kinds 1, 3, 4, 5, 7, 8, 10, 11, 12, 14.
func TestDifferential(t *testing.T) {
	seed, rounds := diffSetting(t, diffEnvSeed, diffSeed), diffSetting(t, diffEnvRounds, diffRounds)
	if os.Getenv(diffEnvSeed) == "" && os.Getenv(diffEnvRounds) != "" {
		seed = int(time.Now().UnixNano() % 1_000_000_000)
	}
	t.Logf("%s=%d %s=%d", diffEnvSeed, seed, diffEnvRounds, rounds)
	tally := &diffTally{asked: map[string]int{}, hits: map[string]int{}}
	for world := 0; world*diffPerWorld < rounds && tally.faults < diffMost; world++ {
		t.Run(fmt.Sprintf("seed %d, world %d", seed, world), func(t *testing.T) {
			w := newDiffWorld(t, seed, world, tally)
			for round := 0; round < min(diffPerWorld, rounds-world*diffPerWorld) && tally.faults < diffMost; round++ {
				w.round = round
				w.turn()
			}
		})
	}
	t.Log(tally)
	if tally.faults > 0 || t.Failed() {
		return // what was served from memory is not the question then
	}
	for _, what := range diffKinds {
		// Some questions can't be kept, and some fail.
		if asked, hits := tally.asked[what], tally.hits[what]; hits*3 < asked || asked == 0 {
			t.Errorf("%s: %d of %d second questions were answered from memory: this test compares less than it should", what, hits, asked)
		}
	}
	if asked := tally.asked["all"]; tally.unstable*50 > asked {
		t.Errorf("plain pgx gave two answers to %d of %d questions", tally.unstable, asked)
	}
	if tally.writes == 0 {
		t.Error("nothing was written")
	}
}

func diffSetting(t *testing.T, env string, short int) int {
	v := os.Getenv(env)
	if v == "" {
		return short
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return n
}

// diffKinds are the kinds of question of which a share must come from memory.
var diffKinds = []string{"all", "no arguments", "arguments", "prepared", "options or named"}

type diffTally struct {
	asked, hits              map[string]int // questions asked a second time that plain pgx answers, by kind
	unstable, stale, writes  int
	refused, faults, written int
}

func (d *diffTally) String() string {
	s := fmt.Sprintf("%d writes, %d of them done; %d questions refused; %d unstable answers, %d old plans of plain pgx; from memory:",
		d.writes, d.written, d.refused, d.unstable, d.stale)
	for _, what := range diffKinds {
		s += fmt.Sprintf(" %s %d/%d", what, d.hits[what], d.asked[what])
	}
	return s
}

// diffAsk is a question, and how it is asked.
type diffAsk struct {
	*diffQuery
	args     []any
	prepared bool
	read     diffReading
}

func (a diffAsk) String() string {
	s := fmt.Sprintf("%q", a.text)
	for _, v := range a.args {
		s += ", " + diffShow(v)
	}
	if a.prepared {
		s += ", prepared"
	}
	return s + ", " + a.read.String()
}

func (a diffAsk) kinds() []string {
	kinds := []string{"all"}
	switch {
	case a.prepared:
		kinds = append(kinds, "prepared")
	case len(a.args) == 0:
		kinds = append(kinds, "no arguments")
	default:
		kinds = append(kinds, "arguments")
		switch a.args[0].(type) {
		case pgx.QueryRewriter, pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID:
			kinds[1] = "options or named"
		}
	}
	return kinds
}

// diffHandle is a *sql.DB, a *sql.Conn or a *sql.Tx.
type diffHandle interface {
	pgQuerier
	pgExecer
	PrepareContext(context.Context, string) (*sql.Stmt, error)
}

func (a diffAsk) of(ctx context.Context, h diffHandle) pgAnswer {
	if !a.prepared {
		rows, err := h.QueryContext(ctx, a.text, a.args...)
		return a.read.answer(rows, err)
	}
	stmt, err := h.PrepareContext(ctx, a.text)
	if err != nil {
		return pgAnswer{Err: "Prepare: " + diffPlain(pgError(err))}
	}
	defer stmt.Close()
	rows, err := stmt.QueryContext(ctx, a.args...)
	return a.read.answer(rows, err)
}

// A diffWorld is one database, one configuration, and its handles.
type diffWorld struct {
	testing.TB
	*diffGen
	ctx       context.Context
	plain, db *sql.DB
	fresh     *sql.DB // plain pgx, a new connection each time
	cache     *cachedpgx.Cache
	tally     *diffTally
	label     string
	round     int
	altered   bool // plain's connections may hold old plans
	others    bool // so may the cache's: the DDL was somebody else's
	recent    []diffAsk
}

func newDiffWorld(t *testing.T, seed, world int, tally *diffTally) *diffWorld {
	dsn := pgtest.DSN(t)
	version, _ := pgServerOffers(t, dsn)
	w := &diffWorld{TB: t, diffGen: newDiffGen(rand.New(rand.NewPCG(uint64(seed), uint64(world))), version), tally: tally}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w.ctx = ctx

	setUp := pgOpen(t, "pgx", dsn)
	if _, err := setUp.ExecContext(ctx, w.schema()); err != nil {
		t.Fatal(err)
	}
	settings := []string{"plan_cache_mode=force_custom_plan", "sslmode=disable"}
	for _, choice := range [][]string{
		{"default_query_exec_mode=cache_statement", "default_query_exec_mode=cache_statement", "default_query_exec_mode=cache_describe",
			"default_query_exec_mode=describe_exec", "default_query_exec_mode=exec", "default_query_exec_mode=simple_protocol",
			"default_query_exec_mode=exec&statement_cache_capacity=0&description_cache_capacity=0"},
		{"TimeZone=UTC", "TimeZone=Asia/Tokyo", "TimeZone=America/New_York"},
		{"", "", "", "", "DateStyle=SQL,DMY"}, {"", "", "", "IntervalStyle=iso_8601"}, {"", "", "bytea_output=escape"},
		{"", "", "extra_float_digits=0"},
	} {
		if s := diffOneOf(w.diffGen, choice); s != "" {
			settings = append(settings, s)
		}
	}
	for s := range strings.SplitSeq(strings.Join(settings, "&"), "&") {
		name, value, _ := strings.Cut(s, "=")
		dsn = pgWith(t, dsn, name, value)
	}
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	var opts []stdlib.OptionOpenDB
	registered := w.in(2)
	if registered {
		opts = append(opts, stdlib.OptionAfterConnect(diffRegister))
	}
	// Entries outlive the test, so that whether a question is answered from
	// memory does not depend on the machine's speed.
	cfg := cachedpgx.Config{Policy: cachedpgx.Policy{TTL: time.Hour, NegativeTTL: time.Hour}, CatalogTTL: time.Hour}
	if w.in(4) {
		cfg.Policy.MaxRows = 3
	}
	if w.in(4) {
		cfg.ServerPool.MaxOpen, cfg.LoadLimit = 2, 1
	}
	w.label = fmt.Sprintf("%v, registered types %t, MaxRows %d, MaxOpen %d", settings, registered, cfg.Policy.MaxRows, cfg.ServerPool.MaxOpen)
	connector, err := cachedpgx.NewConnector(pgConnector(config, opts...), cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.cache = connector.Cache()
	w.db, w.plain, w.fresh = sql.OpenDB(connector), stdlib.OpenDB(*config, opts...), stdlib.OpenDB(*config, opts...)
	w.fresh.SetMaxIdleConns(-1)
	t.Cleanup(func() {
		for _, db := range []*sql.DB{w.db, w.plain, w.fresh} {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return w
}

// diffRegister is what services do in AfterConnect.
func diffRegister(ctx context.Context, conn *pgx.Conn) error {
	types, err := conn.LoadTypes(ctx, []string{"mood", "_mood", "pair", "_pair"})
	if err != nil {
		return err
	}
	conn.TypeMap().RegisterTypes(types)
	conn.TypeMap().RegisterDefaultPgType(diffString(""), "mood")
	return nil
}

func (w *diffWorld) turn() {
	if w.in(5) {
		w.change()
		for range min(2, len(w.recent)) {
			w.compare(diffOneOf(w.diffGen, w.recent))
		}
	}
	if w.in(15) {
		w.session()
	}
	a := w.question()
	w.compare(a)
	if w.recent = append(w.recent, a); len(w.recent) > 40 {
		w.recent = slices.Delete(w.recent, 0, 10)
	}
}

// question is a new one, an old one again, or an old one with other arguments.
func (w *diffWorld) question() diffAsk {
	if len(w.recent) > 0 && w.in(3) {
		a := diffOneOf(w.diffGen, w.recent)
		if w.in(2) {
			a.args = w.args(a.diffQuery)
		}
		if w.in(3) {
			a.read = w.reading()
		}
		return a
	}
	q := w.query()
	// pgx prepares an empty text only once on a connection.
	return diffAsk{diffQuery: q, args: w.args(q), prepared: w.in(4) && q.text != "", read: w.reading()}
}

func (w *diffWorld) reading() diffReading {
	switch w.IntN(8) {
	case 0:
		return diffReading{how: readFirst}
	case 1:
		return diffReading{how: readRaw}
	case 2, 3:
		return diffReading{how: readTyped, seed: w.Uint64()}
	}
	return diffReading{}
}

// compare asks a question of plain pgx, and of the cache at least twice.
func (w *diffWorld) compare(a diffAsk) {
	want := a.of(w.ctx, w.plain)
	wishes := []func(context.Context) context.Context{
		cachedpgx.WithoutCache, cachedpgx.WithRefresh,
		func(ctx context.Context) context.Context { return cachedpgx.WithTTL(ctx, time.Minute) },
	}
	ask := func(way string) (hit bool) {
		ctx := w.ctx
		if w.in(2) {
			ctx = context.Background() // its loads run without a goroutine of their own
		}
		before := w.cache.Stats().Hits
		got := a.of(ctx, w.db)
		hit = w.cache.Stats().Hits > before
		w.judge(a, way, want, got, hit)
		return hit
	}
	if w.in(6) {
		if err := w.cache.Flush(w.ctx); err != nil {
			w.Fatal(err)
		}
	}
	if w.in(6) {
		wish := w.IntN(len(wishes))
		before := w.cache.Stats().Hits
		got := a.of(wishes[wish](w.ctx), w.db)
		w.judge(a, fmt.Sprintf("wish %d", wish), want, got, w.cache.Stats().Hits > before)
	}
	if w.in(8) {
		w.together(a, want)
	}
	ask("first")
	hit := ask("second")
	if want.Err == "" {
		for _, kind := range a.kinds() {
			w.tally.asked[kind]++
			if hit {
				w.tally.hits[kind]++
			}
		}
	} else {
		w.tally.refused++
	}
	if w.in(8) {
		ask("third")
	}
}

// together asks from several goroutines at once.
func (w *diffWorld) together(a diffAsk, want pgAnswer) {
	answers := make([]pgAnswer, 4)
	before := w.cache.Stats().Hits
	var wg sync.WaitGroup
	for i := range answers {
		wg.Go(func() { answers[i] = a.of(w.ctx, w.db) })
	}
	wg.Wait()
	hit := w.cache.Stats().Hits > before
	for _, got := range answers {
		w.judge(a, "together", want, got, hit)
	}
}

// judge reports an answer that plain pgx doesn't give.
func (w *diffWorld) judge(a diffAsk, way string, want, got pgAnswer, hit bool) {
	w.Helper()
	if pgDiff(want, got) == "" {
		return
	}
	// What plain pgx's connections and descriptions remember from before DDL is
	// theirs; so is what somebody else's DDL does to the cache's, which a
	// failure mends.
	one, two := a.of(w.ctx, w.fresh), a.of(w.ctx, w.fresh)
	for i := 0; i < 8 && w.others && got.Err != "" && pgDiff(one, got) != ""; i++ {
		got = a.of(w.ctx, w.db)
	}
	from := "not from memory"
	if hit {
		from = "from memory"
	}
	switch {
	case pgDiff(one, two) != "" || pgDiff(one, want) != "" && !w.altered:
		w.Logf("round %d: unstable, %s: %v: plain pgx gives %s, then %s", w.round, way, a, pgDiff(one, want), pgDiff(one, two))
		if w.tally.unstable++; hit {
			w.fault(a, "%s: an answer that changes by itself, from memory: %s", way, pgDiff(one, got))
		}
	case pgDiff(one, got) != "":
		w.fault(a, "%s, %s: %s", way, from, pgDiff(one, got))
	default:
		w.tally.stale++
	}
}

func (w *diffWorld) fault(a fmt.Stringer, format string, args ...any) {
	w.Helper()
	w.tally.faults++
	w.Errorf("round %d, %s\n\t%v\n\t%s", w.round, w.label, a, fmt.Sprintf(format, args...))
}

// A diffChange is a write and its arguments.
type diffChange struct {
	*diffWrite
	args     []any
	prepared bool
}

func (c diffChange) String() string {
	return diffAsk{diffQuery: &c.diffQuery, args: c.args, prepared: c.prepared}.String()
}

// on runs the write, and says how it went.
func (c diffChange) on(ctx context.Context, h diffHandle) pgAnswer {
	if c.rows {
		return diffAsk{diffQuery: &c.diffQuery, args: c.args, prepared: c.prepared}.of(ctx, h)
	}
	var res sql.Result
	var err error
	if c.prepared {
		var stmt *sql.Stmt
		if stmt, err = h.PrepareContext(ctx, c.text); err == nil {
			defer stmt.Close()
			res, err = stmt.ExecContext(ctx, c.args...)
		}
	} else {
		res, err = h.ExecContext(ctx, c.text, c.args...)
	}
	if err != nil {
		return pgAnswer{Err: diffPlain(pgError(err))}
	}
	n, err := res.RowsAffected()
	return pgAnswer{Cols: fmt.Sprint(n, err)}
}

// change writes through the cache, and before that through plain pgx in a
// transaction that is rolled back, which must go the same way.
func (w *diffWorld) change() {
	wr := w.write()
	c := diffChange{wr, w.args(&wr.diffQuery), w.in(4)}
	q := w.query()
	inside := diffAsk{diffQuery: q, args: w.args(q)}
	w.tally.writes++
	if w.in(8) { // somebody else's
		if c.on(w.ctx, w.fresh).Err == "" {
			w.did(wr, true)
		}
		if err := w.cache.Flush(w.ctx); err != nil {
			w.Fatal(err)
		}
		return
	}
	inTx, commits := w.in(3), w.in(2)
	tx := w.begin(w.reference())
	want := c.on(w.ctx, tx)
	var wantInside pgAnswer
	if inTx {
		wantInside = inside.of(w.ctx, tx)
	}
	if err := tx.Rollback(); err != nil {
		w.Fatal(err)
	}
	var got, gotInside pgAnswer
	done := true
	if inTx {
		tx := w.begin(w.db)
		got, gotInside = c.on(w.ctx, tx), inside.of(w.ctx, tx)
		if commits {
			done = tx.Commit() == nil
		} else {
			done = tx.Rollback() != nil
		}
	} else {
		got = c.on(w.ctx, w.db)
	}
	if done && got.Err == "" {
		w.did(wr, false)
	}
	if w.others && (got.Err != "" || gotInside.Err != "") {
		return // the cache's connections may hold old plans, as plain pgx's would
	}
	if diff := pgDiff(want, got); diff != "" {
		w.fault(c, "the write, in a transaction %t: %s", inTx, diff)
	} else if diff := pgDiff(wantInside, gotInside); diff != "" {
		w.fault(inside, "in a transaction, after %v: %s", c, diff)
	}
}

// reference is plain pgx without old plans.
func (w *diffWorld) reference() *sql.DB {
	if w.altered {
		return w.fresh
	}
	return w.plain
}

func (w *diffWorld) begin(db *sql.DB) *sql.Tx {
	w.Helper()
	tx, err := db.BeginTx(w.ctx, nil)
	if err != nil {
		w.Fatal(err)
	}
	return tx
}

func (w *diffWorld) did(wr *diffWrite, others bool) {
	w.tally.written++
	if wr.ddl {
		w.others = w.others || others
		if w.altered = w.in(3); !w.altered {
			w.plain.SetMaxIdleConns(-1) // closes them
			w.plain.SetMaxIdleConns(2)
		}
	}
	if wr.apply != nil {
		wr.apply()
	}
}

// session asks under settings of a session's own, and after they are gone.
func (w *diffWorld) session() {
	set := diffOneOf(w.diffGen, []string{"SET TIME ZONE 'Australia/Sydney'", "SET DateStyle = 'German'", "SET extra_float_digits = -5", "SET bytea_output = 'escape'",
		"SET IntervalStyle = 'sql_standard'", "BEGIN; SET LOCAL TIME ZONE 'Asia/Kolkata'; COMMIT", "SELECT set_config('transform_null_equals', 'on', false)"})
	var asks []diffAsk
	for range min(3, len(w.recent)) {
		asks = append(asks, diffOneOf(w.diffGen, w.recent))
	}
	var answers [2][]pgAnswer
	for i, db := range []*sql.DB{w.reference(), w.db} {
		conn, err := db.Conn(w.ctx)
		if err != nil {
			w.Fatal(err)
		}
		for _, text := range []string{set, "RESET ALL"} {
			if _, err := conn.ExecContext(w.ctx, text); err != nil {
				w.Fatal(err)
			}
			for _, a := range asks {
				answers[i] = append(answers[i], a.of(w.ctx, conn))
			}
		}
		// A session that had settings counts as changed until this, which plain
		// pgx's statement cache would not survive.
		if db == w.db {
			if _, err := conn.ExecContext(w.ctx, "DISCARD ALL"); err != nil {
				w.Fatal(err)
			}
		}
		if err := conn.Close(); err != nil {
			w.Fatal(err)
		}
	}
	for i, want := range answers[0] {
		got := answers[1][i]
		if diff := pgDiff(want, got); diff != "" && (got.Err == "" || !w.others) {
			w.fault(asks[i%len(asks)], "in a session, answer %d after %s: %s", i, set, diff)
		}
	}
}
