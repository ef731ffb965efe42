package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

//go:embed index.html
var page []byte

// handler serves the page, the stream of events that it draws, and the form that changes things.
func (c *console) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.page)
	mux.HandleFunc("GET /events", c.events)
	mux.HandleFunc("POST /controls", c.post)
	// Other sites that are open in the same browser change nothing here.
	return http.NewCrossOriginProtection().Handler(mux)
}

func (c *console) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Content-Security-Policy",
		"default-src 'none'; connect-src 'self'; img-src data:; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(page))
}

// patience is how long a reader may take for an event.
const patience = 2 * time.Second

// events streams samples as server-sent events, each a JSON list: first those that are remembered, then each new one.
// A reader that comes back gets what it has missed.
func (c *console) events(w http.ResponseWriter, r *http.Request) {
	last, err := lastEvent(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	hurry := context.AfterFunc(r.Context(), func() { _ = out.SetWriteDeadline(time.Now()) }) // A reader may be stuck.
	defer hurry()
	for {
		samples, more := c.history.after(last)
		if len(samples) > 0 {
			last = samples[len(samples)-1].At
			_ = out.SetWriteDeadline(time.Now().Add(patience)) // Whoever does not read is let go.
			if err := sendEvent(w, last, samples); err != nil {
				return
			}
		}
		if err := out.Flush(); err != nil {
			return
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}

func lastEvent(r *http.Request) (int64, error) {
	id := r.Header.Get("Last-Event-ID")
	if id == "" {
		return 0, nil
	}
	last, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("Last-Event-ID is not one of this stream: %q", id)
	}
	return last, nil
}

func sendEvent(w http.ResponseWriter, id int64, samples []sample) error {
	data, err := json.Marshal(samples)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "id: %d\ndata: %s\n\n", id, data)
	return err
}

// post changes what the form names, and answers what is set now.
func (c *console) post(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 1<<12)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the form cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	now, err := c.change(r.PostForm)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(now)
}
