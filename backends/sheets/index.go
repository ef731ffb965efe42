package sheets

import (
	"slices"
	"sync"
)

// index knows every task and transaction of the queue by its id, as of one commit. Between two layouts its facts
// only grow, so one that is newer than the state it is asked for answers nothing false. Any goroutine may use it.
type index struct {
	mu           sync.RWMutex
	number       int64               // guarded by mu: of the commit it knows
	layout       int64               // written once
	tasks        map[string]taskFact // guarded by mu
	transactions map[string][]string // guarded by mu: task ids, by their index as far as they are known
	nobodys      map[int]bool        // guarded by mu: rows whose transaction cannot be told
	last         int64               // guarded by mu: the largest sequence
}

// taskFact is what must be known of a task when its row is no longer at hand.
type taskFact struct {
	transaction string
	index       int
	at          int
	sequence    int64
	status      Status
	code        string
	fingerprint string
	dependsOn   string
	size        int
}

func newIndex(number, layout int64) *index {
	return &index{number: number, layout: layout, tasks: map[string]taskFact{}, transactions: map[string][]string{}, nobodys: map[int]bool{}}
}

// learn notes rows as commit number left them. Older news than it has are ignored.
func (x *index) learn(number int64, rows []queueRow) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if number < x.number {
		return
	}
	x.number = number
	for _, r := range rows {
		x.last = max(x.last, r.sequence)
		delete(x.nobodys, r.at)
		if r.transaction == "" {
			x.nobodys[r.at] = true
		}
		if r.task.ID != "" && r.transaction != "" {
			x.note(r)
		}
	}
}

// note keeps of two rows with one task id the one that is done, else the upper one. x.mu is held.
func (x *index) note(r queueRow) {
	old, known := x.tasks[r.task.ID]
	if known && old.at != r.at && (old.status == StatusDone || r.status != StatusDone) {
		return
	}
	if !known || old.transaction != r.transaction {
		x.transactions[r.transaction] = append(x.transactions[r.transaction], r.task.ID)
	}
	x.tasks[r.task.ID] = taskFact{
		transaction: r.transaction, index: r.index, at: r.at, sequence: r.sequence, status: r.status, code: r.code,
		fingerprint: r.fingerprint, dependsOn: r.dependsOn, size: r.size,
	}
}

func (x *index) task(id string) (taskFact, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	fact, ok := x.tasks[id]
	return fact, ok
}

// transaction answers the tasks of a transaction in their order.
func (x *index) transaction(id string) []taskFact {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var facts []taskFact
	for _, task := range x.transactions[id] {
		if fact := x.tasks[task]; fact.transaction == id {
			facts = append(facts, fact)
		}
	}
	slices.SortFunc(facts, func(a, b taskFact) int { return a.index - b.index })
	return facts
}

// each visits every transaction.
func (x *index) each(visit func(id string, facts []taskFact)) {
	x.mu.RLock()
	ids := make([]string, 0, len(x.transactions))
	for id := range x.transactions {
		ids = append(ids, id)
	}
	x.mu.RUnlock()
	slices.Sort(ids)
	for _, id := range ids {
		if facts := x.transaction(id); len(facts) > 0 {
			visit(id, facts)
		}
	}
}

// unprinted says whether the row of a task lacks a fingerprint.
func (x *index) unprinted() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, fact := range x.tasks {
		if fact.fingerprint == "" {
			return true
		}
	}
	return false
}

func (x *index) quarantined() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.nobodys)
}

func (x *index) lastSequence() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.last
}

// verdictOf judges a transaction by its tasks.
func verdictOf(facts []taskFact) Verdict {
	v := Verdict{Status: StatusDone}
	for _, fact := range facts {
		switch {
		case !fact.status.terminal():
			return Verdict{Status: StatusPending}
		case fact.status == StatusFailed:
			v = Verdict{Status: StatusFailed, Code: Code(fact.code)}
		}
	}
	return v
}

// Verdict is what became of a transaction.
type Verdict struct {
	// Status is StatusDone, StatusFailed, or StatusPending for one that has no verdict yet. The zero value means not known.
	Status Status
	// Code says why a failed one failed.
	Code Code
}

// String answers the status, and the code in parentheses if there is one.
func (v Verdict) String() string {
	if v.Code == "" {
		return string(v.Status)
	}
	return string(v.Status) + " (" + string(v.Code) + ")"
}

// Final says whether the verdict can no longer change, unless somebody resets the transaction.
func (v Verdict) Final() bool { return v.Status.terminal() }
