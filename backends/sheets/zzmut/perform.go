package sheetstest

import (
	"context"
	"net/http"
	"time"
)

// perform does the call under its fault.
func (s *Server) perform(ctx context.Context, a *action, f Fault) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, err
	}
	c := change{book: a.book, arrival: s.view(a.book, f.Stale), apply: a.apply}
	if err := sleep(ctx, f.Delay); err != nil {
		return answer{}, err
	}
	if f.Before != nil {
		f.Before()
	}
	if f.Kind == None && s.overQuota(a.write) {
		f.Kind = TooManyRequests
	}
	switch f.Kind {
	case Late:
		if a.write && a.bad == nil {
			s.hold(c)
		}
		return refusals[Unavailable], nil
	case HangUnapplied:
		<-ctx.Done()
		return answer{}, ctx.Err()
	}
	refusal, refused := refusals[f.Kind]
	if refused && !(f.Kind == TooManyRequests && a.write && s.traits.throttleAfterApply) {
		return refusal, nil
	}
	done := s.execute(a, c, f.Stale)
	if refused {
		return refusal, nil
	}
	return done.spoil(ctx, f.Kind)
}

func (s *Server) hold(c change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.late = append(s.late, c)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spoil is the answer as the client gets to see it.
func (a answer) spoil(ctx context.Context, k Kind) (answer, error) {
	switch k {
	case CutAnswer:
		return answer{}, errCut
	case TruncatedAnswer:
		a.body = a.body[:len(a.body)/2]
	case JunkAnswer:
		return answer{code: http.StatusOK, body: []byte(page), html: true}, nil
	case HangApplied:
		<-ctx.Done()
		return answer{}, ctx.Err()
	}
	return a, nil
}

const page = "<!DOCTYPE html><html><head><title>Error</title></head><body>The server encountered a temporary error.</body></html>"

// refusals are the answers of the kinds that do not do the call.
var refusals = map[Kind]answer{
	TooManyRequests: refusal(429, "RESOURCE_EXHAUSTED",
		"Quota exceeded for quota metric 'Requests' and limit 'Requests per minute per user' of service 'sheets.googleapis.com'."),
	Internal:        refusal(500, "INTERNAL", "Internal error encountered."),
	Unavailable:     refusal(503, "UNAVAILABLE", "The service is currently unavailable."),
	BadGateway:      {code: http.StatusBadGateway, body: []byte(page), html: true},
	Unauthenticated: refusal(401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
	Forbidden:       refusal(403, "PERMISSION_DENIED", "The caller does not have permission"),
}

func refusal(code int, status, message string) answer {
	return (&apiError{code: code, status: status, message: message}).answer()
}
