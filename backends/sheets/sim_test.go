package sheets_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/goferry/goferry/backends/sheets"
	"github.com/goferry/goferry/backends/sheets/sheetstest"
	"github.com/goferry/goferry/projected"
)

// simulation is several processes that work on one spreadsheet, with everything that can go wrong between them and the
// service, and people who edit it. Its invariant: every acknowledged transaction is applied exactly once, in the
// order of the sequences, or failed with a code and without an effect.
type simulation struct {
	world
	processes []*sheets.Queue
	txs       []sheets.Transaction // all that were ever sent, by number
	acked     map[string]int64     // sequence by transaction
	verdicts  map[string]sheets.Verdict
	spoiled   map[string]bool // transactions whose rows people edited
	mu        sync.Mutex
	seen      *sync.Map // what happened at least once in all of the histories
}

var faultKinds = []sheetstest.Kind{
	sheetstest.None, sheetstest.CutAnswer, sheetstest.Late, sheetstest.Unavailable, sheetstest.TooManyRequests,
	sheetstest.Internal, sheetstest.BadGateway, sheetstest.TruncatedAnswer, sheetstest.JunkAnswer,
	sheetstest.HangApplied, sheetstest.HangUnapplied,
}

func TestSimulation(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	rapid.Check(t, func(rt *rapid.T) {
		rapid.SyncTest(rt, func(rt *rapid.T) { simulate(rt, &seen) })
	})
	if histories < 30 {
		return // Too few to have seen everything.
	}
	// Histories in which nothing happens prove nothing.
	for _, what := range []string{
		"projected", "committed", "an error", "a replay", "processing failed", "status done", "status failed", "code conflict",
	} {
		if _, ok := seen.Load(what); !ok {
			t.Errorf("no history had %s", what)
		}
	}
}

func simulate(rt *rapid.T, seen *sync.Map) {
	profile := rapid.SampledFrom([]sheetstest.Profile{sheetstest.P1, sheetstest.P2}).Draw(rt, "profile")
	kind := rapid.SampledFrom([]sheets.FenceKind{sheets.MetadataFence, sheets.SwapFence}).Draw(rt, "fence")
	s := &simulation{seen: seen, acked: map[string]int64{}, verdicts: map[string]sheets.Verdict{}, spoiled: map[string]bool{}}
	s.world = newWorld(rt, sheetstest.Options{
		TB: rt, Profile: profile, Quota: rapid.Bool().Draw(rt, "quota"),
	}, kind)
	defer s.close()
	s.start()
	for range rapid.IntRange(2, 3).Draw(rt, "processes") {
		s.processes = append(s.processes, s.process())
	}
	rt.Repeat(map[string]func(*rapid.T){
		"submit":   s.submit,
		"resubmit": s.resubmit,
		"enqueue":  s.enqueueSome,
		"process":  s.processSome,
		"race":     s.race,
		"restart": func(rt *rapid.T) {
			s.processes[s.which(rt)] = s.process()
		},
		"pause": func(rt *rapid.T) {
			time.Sleep(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, 6 * time.Minute}).Draw(rt, "pause"))
		},
		"late":    func(*rapid.T) { s.server.DeliverLate() },
		"edit":    s.editInternal,
		"visible": s.editVisible,
	})
	s.heal()
}

func (s *simulation) which(rt *rapid.T) int {
	return rapid.IntRange(0, len(s.processes)-1).Draw(rt, "process")
}

// newTransaction draws one that has a fair chance to apply.
func (s *simulation) newTransaction(rt *rapid.T) sheets.Transaction {
	tx := sheets.Transaction{ID: fmt.Sprintf("t%02d", len(s.txs))}
	for i := range rapid.IntRange(1, 2).Draw(rt, "tasks") {
		id := fmt.Sprintf("%s-%d", tx.ID, i)
		sheet := rapid.SampledFrom([]string{"Users", "Orders"}).Draw(rt, "sheet")
		key := rapid.SampledFrom([]string{"a", "b", "7"}).Draw(rt, "key")
		version := float64(rapid.IntRange(1, 2).Draw(rt, "version"))
		field := map[string]string{"Users": "name", "Orders": "total"}[sheet]
		row := sheets.Row{"id": key, field: id, "_version": 1}
		switch rapid.IntRange(0, 2).Draw(rt, "op") {
		case 0:
			tx.Tasks = append(tx.Tasks, sheets.Insert(id, sheet, "id", row))
		case 1:
			row["_version"] = version + 1
			tx.Tasks = append(tx.Tasks, sheets.Update(id, sheet, "id", version, row))
		case 2:
			row["_version"] = version
			tx.Tasks = append(tx.Tasks, sheets.Delete(id, sheet, "id", version, row))
		}
	}
	s.txs = append(s.txs, tx)
	return tx
}

// withFaults runs f while calls fail as a drawn tape says, and with a deadline.
func (s *simulation) withFaults(rt *rapid.T, f func(ctx context.Context)) {
	tape := rapid.SliceOfN(rapid.IntRange(0, len(faultKinds)-1), 0, 6).Draw(rt, "faults")
	stale := rapid.IntRange(0, 2).Draw(rt, "stale")
	n := 0
	s.server.SetFaults(func(c sheetstest.Call) sheetstest.Fault {
		s.mu.Lock()
		defer s.mu.Unlock()
		n++
		fault := sheetstest.Fault{Delay: time.Duration(n%3) * 100 * time.Millisecond}
		if n <= len(tape) {
			fault.Kind = faultKinds[tape[n-1]]
			if !c.Write {
				fault.Stale = stale
			}
		}
		return fault
	})
	ctx, cancel := context.WithTimeout(context.Background(), rapid.SampledFrom([]time.Duration{5 * time.Minute, 2 * time.Second}).Draw(rt, "deadline"))
	defer cancel()
	f(ctx)
	s.server.SetFaults(nil)
}

func (s *simulation) submitOne(ctx context.Context, q *sheets.Queue, tx sheets.Transaction) {
	out, err := q.Submit(ctx, tx)
	if err != nil {
		s.seen.Store("an error", true)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen.Store(out.Status.String(), true)
	if _, before := s.acked[tx.ID]; before {
		s.seen.Store("a replay", true)
	}
	s.acked[tx.ID] = out.Result.Sequence
	if out.Status == projected.Projected {
		s.verdicts[tx.ID] = out.Result.Verdict
	}
}

func (s *simulation) submit(rt *rapid.T) {
	q := s.processes[s.which(rt)]
	var txs []sheets.Transaction
	for range rapid.IntRange(1, 3).Draw(rt, "callers") {
		txs = append(txs, s.newTransaction(rt))
	}
	s.withFaults(rt, func(ctx context.Context) {
		var callers sync.WaitGroup
		for _, tx := range txs {
			callers.Go(func() { s.submitOne(ctx, q, tx) })
		}
		callers.Wait()
	})
}

func (s *simulation) resubmit(rt *rapid.T) {
	if len(s.txs) == 0 {
		rt.Skip()
	}
	tx := rapid.SampledFrom(s.txs).Draw(rt, "again")
	q := s.processes[s.which(rt)]
	s.withFaults(rt, func(ctx context.Context) { s.submitOne(ctx, q, tx) })
}

func (s *simulation) enqueueSome(rt *rapid.T) {
	q := s.processes[s.which(rt)]
	txs := []sheets.Transaction{s.newTransaction(rt), s.newTransaction(rt)}
	s.withFaults(rt, func(ctx context.Context) { s.enqueueThem(ctx, q, txs) })
}

func (s *simulation) enqueueThem(ctx context.Context, q *sheets.Queue, txs []sheets.Transaction) {
	receipts, err := q.EnqueueTasks(ctx, txs, sheets.EnqueueOptions{})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range receipts {
		s.acked[r.TransactionID] = r.Sequence
	}
}

func (s *simulation) processSome(rt *rapid.T) {
	q := s.processes[s.which(rt)]
	opts := sheets.ProcessOptions{MaxTransactions: rapid.IntRange(0, 2).Draw(rt, "max")}
	bulk := rapid.Bool().Draw(rt, "bulk")
	s.withFaults(rt, func(ctx context.Context) {
		run := q.ProcessTaskQueue
		if bulk {
			run = q.ProcessTaskQueueBulk
		}
		if _, err := run(ctx, opts); err != nil {
			s.seen.Store("processing failed", true)
		}
	})
}

// race lets every process do something at once.
func (s *simulation) race(rt *rapid.T) {
	var jobs []func(context.Context)
	for _, q := range s.processes {
		switch rapid.IntRange(0, 2).Draw(rt, "job") {
		case 0:
			tx := s.newTransaction(rt)
			jobs = append(jobs, func(ctx context.Context) { s.submitOne(ctx, q, tx) })
		case 1:
			txs := []sheets.Transaction{s.newTransaction(rt)}
			jobs = append(jobs, func(ctx context.Context) { s.enqueueThem(ctx, q, txs) })
		case 2:
			jobs = append(jobs, func(ctx context.Context) { _, _ = q.ProcessTaskQueueBulk(ctx, sheets.ProcessOptions{}) })
		}
	}
	s.withFaults(rt, func(ctx context.Context) {
		var all sync.WaitGroup
		for _, job := range jobs {
			all.Go(func() { job(ctx) })
		}
		all.Wait()
	})
}

// editInternal is a person in the internal sheets while no batch is between its read and its write: a batch whose
// callers have left may still be under way for as long as its timeout allows.
func (s *simulation) editInternal(rt *rapid.T) {
	time.Sleep(12 * time.Minute)
	rows := s.server.Rows(s.id, queueTitle)
	what := rapid.SampledFrom([]string{"note below the queue", "note below a table", "blank row in a table", "extra column", "spoil"}).Draw(rt, "edit")
	at := rapid.IntRange(0, 5).Draw(rt, "row")
	column := rapid.SampledFrom([]int{colPayload, colKey, colStatus, colFingerprint, colAttempts}).Draw(rt, "column")
	err := s.server.Edit(s.id, func(e *sheetstest.Editor) {
		switch what {
		case "note below the queue":
			e.Tab(queueTitle).Set(len(rows)+2, 3, "note")
		case "note below a table":
			e.Tab(usersTitle).Set(len(s.server.Rows(s.id, usersTitle))+1, 1, "note")
		case "blank row in a table":
			e.Tab(usersTitle).InsertRows(1, 1)
		case "extra column":
			e.Tab(usersTitle).Set(0, 5, "extra")
		case "spoil":
			open := slices.IndexFunc(rows, func(row []any) bool {
				return len(row) > colStatus && (row[colStatus] == "pending" || row[colStatus] == "processing")
			})
			if open < 0 || open+at >= len(rows) || len(rows[open+at]) <= colStatus || rows[open+at][colStatus] == "done" || rows[open+at][colStatus] == "failed" {
				return
			}
			if id, ok := rows[open+at][colTransaction].(string); ok {
				s.spoiled[id] = true
				e.Tab(queueTitle).Set(open+at, column, "spoilt")
			}
		}
	})
	s.must(err)
	time.Sleep(10 * time.Second)
}

func (s *simulation) editVisible(rt *rapid.T) {
	at := rapid.IntRange(1, 4).Draw(rt, "row")
	s.must(s.server.Edit(s.id, func(e *sheetstest.Editor) { e.Tab("Users").SetRow(at, 0, "a", "by hand", 99) }))
}

// heal ends the faults, lets one process finish everything, and compares the spreadsheet with the model.
func (s *simulation) heal() {
	s.server.DeliverLate()
	for range 4 {
		time.Sleep(10 * time.Minute)
		if _, err := s.process().ProcessTaskQueueBulk(context.Background(), sheets.ProcessOptions{}); err != nil {
			s.Fatalf("healing: %v", err)
		}
	}
	s.server.DeliverLate()
	s.check()
}

// check replays the queue by its sequences.
func (s *simulation) check() {
	model := map[string]map[string]modelRow{"Users": {}, "Orders": {}}
	groups := s.groupsOfQueue()
	for _, g := range groups {
		applies := g.fits(model)
		s.seen.Store("status "+g.status, true)
		s.seen.Store("code "+g.code, true)
		switch {
		case g.status == "done" && !applies:
			s.Errorf("transaction %s, sequence %v, is done but does not fit what came before it", g.tx.ID, g.sequence)
		case g.status == "failed" && g.code == "":
			s.Errorf("transaction %s failed without a code", g.tx.ID)
		case g.status == "failed" && g.code == "conflict" && applies:
			s.Errorf("transaction %s failed by a conflict that there is not", g.tx.ID)
		case g.status == "failed" && !slices.Contains([]string{"conflict", "retry_limit_exceeded"}, g.code) && !s.spoiled[g.tx.ID]:
			s.Errorf("transaction %s failed with %s though nobody touched it", g.tx.ID, g.code)
		case g.status == "done":
			g.apply(model)
		}
		if s.spoiled[g.tx.ID] {
			continue
		}
		if v, ok := s.verdicts[g.tx.ID]; ok && (string(v.Status) != g.status || string(v.Code) != g.code) {
			s.Errorf("transaction %s was answered %+v, the queue says %s %s", g.tx.ID, v, g.status, g.code)
		}
	}
	s.checkAcknowledged(groups)
	for name, title := range map[string]string{"Users": usersTitle, "Orders": s.canonical("Orders")} {
		if got, want := tableOf(s.server.Rows(s.id, title)), textOf(model[name]); got != want {
			s.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

type modelRow struct {
	field   string
	version float64
}

type modelGroup struct {
	tx           sheets.Transaction
	sequence     float64
	status, code string
}

func (s *simulation) groupsOfQueue() []modelGroup {
	byID := map[string]sheets.Transaction{}
	for _, tx := range s.txs {
		byID[tx.ID] = tx
	}
	found := map[string]*modelGroup{}
	rows := map[string]int{}
	for at, row := range s.server.Rows(s.id, queueTitle)[1:] {
		if len(row) <= colStatus || row[colTransaction] == nil {
			continue // A person's note.
		}
		id := row[colTransaction].(string)
		status, _ := row[colStatus].(string)
		code, _ := row[colCode].(string)
		g := found[id]
		if g == nil {
			g = &modelGroup{tx: byID[id], sequence: row[colSequence].(float64), status: status, code: code}
			found[id] = g
		}
		if rows[id]++; rows[id] > len(g.tx.Tasks) {
			s.Errorf("transaction %s has more rows than tasks", id)
		}
		if status != g.status || code != g.code || status != "done" && status != "failed" {
			s.Errorf("row %d of transaction %s is %s %s, its first row %s %s", at+2, id, status, code, g.status, g.code)
		}
	}
	var groups []modelGroup
	for _, g := range found {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b modelGroup) int { return int(a.sequence - b.sequence) })
	return groups
}

// fits says whether a transaction applies to the model, without changing it.
func (g modelGroup) fits(model map[string]map[string]modelRow) bool {
	scratch := map[string]map[string]modelRow{}
	for name, rows := range model {
		scratch[name] = map[string]modelRow{}
		for key, row := range rows {
			scratch[name][key] = row
		}
	}
	return g.apply(scratch)
}

func (g modelGroup) apply(model map[string]map[string]modelRow) bool {
	for _, task := range g.tx.Tasks {
		row, present := model[task.Sheet][task.KeyValue]
		switch {
		case (task.Operation == sheets.OpInsert) == present:
			return false
		case task.ExpectedVersion != nil && row.version != *task.ExpectedVersion:
			return false
		case task.Operation == sheets.OpInsert:
			model[task.Sheet][task.KeyValue] = modelRow{task.ID, 1}
		case task.Operation == sheets.OpUpdate:
			model[task.Sheet][task.KeyValue] = modelRow{task.ID, *task.ExpectedVersion + 1}
		default:
			delete(model[task.Sheet], task.KeyValue)
		}
	}
	return true
}

func (s *simulation) checkAcknowledged(groups []modelGroup) {
	for id, sequence := range s.acked {
		i := slices.IndexFunc(groups, func(g modelGroup) bool { return g.tx.ID == id })
		if i < 0 {
			s.Errorf("acknowledged transaction %s is not in the queue", id)
		} else if groups[i].sequence != float64(sequence) {
			s.Errorf("transaction %s was answered sequence %d, the queue says %v", id, sequence, groups[i].sequence)
		}
	}
	for i := 1; i < len(groups); i++ {
		if groups[i].sequence == groups[i-1].sequence {
			s.Errorf("sequence %v was given twice", groups[i].sequence)
		}
	}
}

func tableOf(rows [][]any) string {
	var lines []string
	for _, row := range rows[1:] {
		if len(row) > 2 && row[0] != nil {
			lines = append(lines, fmt.Sprint(row[0], " ", row[1], " ", row[2]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

func textOf(rows map[string]modelRow) string {
	var lines []string
	for key, row := range rows {
		lines = append(lines, fmt.Sprint(key, " ", row.field, " ", row.version))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}
