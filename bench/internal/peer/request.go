package peer

import "context"

// request is an entry on its way, for the peers that do not answer by themselves.
type request struct {
	in   Entry
	out  Entry
	done chan error // of capacity 1: nobody waits for a caller that has left
}

func newRequest(in Entry) *request { return &request{in: in, done: make(chan error, 1)} }

func (r *request) wait(ctx context.Context) (Entry, error) {
	select {
	case err := <-r.done:
		return r.out, err
	case <-ctx.Done():
		return Entry{}, ctx.Err()
	}
}

// carry takes a batch to call and fills in the answers. The context of a batch cannot be that of one of its callers.
func carry(call Call, batch []*request) error {
	ins := make([]Entry, len(batch))
	for i, r := range batch {
		ins[i] = r.in
	}
	outs, err := call(context.Background(), ins[0].Key, ins)
	if err != nil {
		return err
	}
	for i, r := range batch {
		r.out = outs[i]
	}
	return nil
}

// answer takes a batch to call and tells the callers.
func answer(call Call, batch []*request) {
	err := carry(call, batch)
	for _, r := range batch {
		r.done <- err
	}
}
