package faults

import "slices"

type lateWrite struct {
	fate
	due  int // lands before the call of this number; 0: only by Land
	land func()
}

// Land carries out all late writes now, also in an outage or after a crash: they are on their way already. It blocks
// until they are done and answers how many they were.
func (f *Faults) Land() int {
	return f.land(func(lateWrite) bool { return true })
}

// landBefore carries out the late writes that come before the call of this number.
func (f *Faults) landBefore(call int) {
	f.land(func(w lateWrite) bool { return w.due > 0 && w.due <= call })
}

// land carries out the late writes that are due, one by one: should one panic, the others are still there.
func (f *Faults) land(due func(lateWrite) bool) int {
	for landed := 0; ; landed++ {
		write, ok := f.takeLate(due)
		if !ok {
			return landed
		}
		f.tell(Event{Op: write.op, Key: write.key, Fault: ErrLate, Landed: true})
		write.land()
	}
}

func (f *Faults) takeLate(due func(lateWrite) bool) (lateWrite, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.late, due)
	if i < 0 {
		return lateWrite{}, false
	}
	write := f.late[i]
	f.late = slices.Delete(f.late, i, i+1)
	return write, true
}

// postpone keeps a late write until it is due.
func (f *Faults) postpone(t fate, land func()) {
	due := 0
	if f.plan.LateBy > 0 {
		due = t.call + 1 + int(t.draw*float64(f.plan.LateBy))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, lateWrite{fate: t, due: due, land: land})
}
