package ferry

import (
	"testing"
	"testing/synctest"
)

// Between the waking of a worker and its coming, another may have taken the last slot.
func TestL18AWorkerThatComesTooLateTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, gate := held(Config{MaxInFlight: 1})
		go f.SubmitAll(t.Context(), numbers(3))
		synctest.Wait()
		f.workers.alive.Add(1)
		go f.work(nil)
		synctest.Wait()
		if got := f.Stats().InFlight; got != 1 {
			t.Errorf("calls out: got %d, want 1", got)
		}
		close(gate)
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
