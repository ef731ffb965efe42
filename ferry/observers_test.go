package ferry_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/goferry/goferry/ferry"
)

// numbered tells told what it hears, and puts its number behind those that the context carries.
func numbered(told *journal, number int) ferry.Observer {
	return ferry.Observer{
		BatchStarted: func(ctx context.Context, b ferry.Batch) context.Context {
			before := ctx.Value(tag{})
			told.add(number, "started", b.Key, "after", before)
			return context.WithValue(ctx, tag{}, fmt.Sprint(before, " ", number))
		},
		BatchEnded: func(ctx context.Context, b ferry.Batch, err error) {
			told.add(number, "ended", b.Key, b.Size, "of", ctx.Value(tag{}), err)
		},
		Overloaded: func(key any, bound ferry.Bound) { told.add(number, "refused", key, bound) },
	}
}

func TestObserversAreAllTold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told journal
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 1, Observer: ferry.Observers(
			numbered(&told, 1), ferry.Observer{}, numbered(&told, 2),
		)})
		p.submit("z1")
		if got := p.trip("z").ctx.Value(tag{}); got != "<nil> 1 2" {
			t.Errorf("the call's context: got %v, want what the last answered", got)
		}
		p.submit("z2", "a1")
		p.finish("z", func() ([]string, error) { return nil, errBoom })
		told.want(t,
			"1 started z after <nil>", "2 started z after <nil> 1",
			"1 refused a MaxQueued", "2 refused a MaxQueued",
			"2 ended z 1 of <nil> 1 2 boom", "1 ended z 1 of <nil> 1 2 boom",
			"1 started z after <nil>", "2 started z after <nil> 1",
		)
		p.landAll()
	})
}

func TestObserversAreToldWhateverBecomesOfTheOthers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told journal
		bad := ferry.Observer{
			BatchStarted: func(context.Context, ferry.Batch) context.Context { panic("started") },
			BatchEnded:   func(context.Context, ferry.Batch, error) { panic("ended") },
			Overloaded:   func(any, ferry.Bound) { panic("refused") },
		}
		none := ferry.Observer{BatchStarted: func(context.Context, ferry.Batch) context.Context { return nil }}
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 1, Observer: ferry.Observers(bad, none, numbered(&told, 1), bad)})
		p.submit("z1")
		p.submit("a1", "b1")
		p.finish("z", func() ([]string, error) { return nil, errBoom })
		told.want(t, "1 started z after <nil>", "1 refused b MaxQueued", "1 ended z 1 of <nil> 1 boom", "1 started a after <nil>")
		p.landAll()
	})
}

func TestObserversAreNotThoseOfASliceChangedLater(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var told journal
		mine := []ferry.Observer{numbered(&told, 1)}
		p := open(t, ferry.Config{Observer: ferry.Observers(mine...)})
		mine[0] = numbered(&told, 2)
		p.submit("z1")
		told.want(t, "1 started z after <nil>")
		p.landAll()
	})
}
