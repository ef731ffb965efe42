package ferry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/goferry/goferry/ferry"
)

// logged is a log without times, of one line each.
type logged struct{ bytes.Buffer }

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

func (l *logged) want(t *testing.T, lines ...string) {
	t.Helper()
	want := ""
	for _, line := range lines {
		want += "level=WARN " + line + "\n"
	}
	if got := l.String(); got != want {
		t.Errorf("logged: got\n%swant\n%s", got, want)
	}
	l.Reset()
}

func TestLogObserverTellsFailedBatches(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var log logged
		p := open(t, ferry.Config{MaxInFlight: 1, Observer: ferry.LogObserver(log.logger())})
		p.submit("z1", "a1", "a2")
		pass(time.Second)
		p.land("z")
		pass(2 * time.Second)
		log.want(t) // Nothing of a batch that succeeded, or is out.
		p.finish("a", func() ([]string, error) { return nil, errBoom })
		log.want(t, `msg="batch failed" key=a size=2 wait=1s took=2s error=boom`)
	})
}

func TestLogObserverTellsRefusalsOnceASecondForEachBound(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var log logged
		p := open(t, ferry.Config{MaxInFlight: 1, MaxQueued: 2, MaxQueuedPerKey: 1, Observer: ferry.LogObserver(log.logger())})
		p.submit("z0", "a1")
		p.submit("a2", "a3", "a4")
		p.submit("b1", "c1")
		log.want(t,
			`msg="inputs refused" bound=MaxQueuedPerKey count=1 key=a`,
			`msg="inputs refused" bound=MaxQueued count=1 key=c`)
		pass(time.Second - 1)
		p.submit("a5", "b2")
		log.want(t)
		pass(1)
		log.want(t) // No timer tells what is left over, the next refusal does.
		p.submit("b3", "b4")
		log.want(t, `msg="inputs refused" bound=MaxQueuedPerKey count=5 key=b`)
		pass(time.Minute)
		p.submit("b5")
		log.want(t, `msg="inputs refused" bound=MaxQueuedPerKey count=2 key=b`)
		p.landAll()
	})
}

func TestLogSlow(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var log logged
		p := open(t, ferry.Config{Observer: ferry.LogSlow(log.logger(), time.Second)})
		for took, want := range map[time.Duration][]string{
			time.Second:     nil,
			time.Second + 1: {`msg="batch slow" key=a size=1 wait=0s took=1.000000001s limit=1s`},
		} {
			p.submit("a1")
			pass(took)
			p.land("a")
			log.want(t, want...)
		}
	})
}

func TestLogObserversRefuseNoLogger(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(){
		"LogObserver": func() { ferry.LogObserver(nil) },
		"LogSlow":     func() { ferry.LogSlow(nil, 0) },
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, name+": log is nil") {
					t.Errorf("%s: got panic %q, want one that names log", name, got)
				}
			}()
			build()
		}()
	}
}
