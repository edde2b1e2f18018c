package listen

// The life of a server by an invented clock, on connections in memory.

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A network is a listener in memory.
type network struct {
	dialed chan net.Conn
	closed chan struct{}
}

func newNetwork() *network { return &network{make(chan net.Conn), make(chan struct{})} }

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.dialed:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error {
	select {
	case <-n.closed:
	default:
		close(n.closed)
	}
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{} }

// get returns the body of an answer, or the error where there is none.
func (n *network) get(path string) string {
	ours, theirs := net.Pipe()
	select {
	case n.dialed <- theirs:
	case <-n.closed:
		return "refused"
	}
	defer ours.Close()
	go io.WriteString(ours, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(ours), nil)
	if err != nil {
		return err.Error()
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return string(body) + err.Error()
	}
	return string(body)
}

// A house is a handler that records what it is told.
type house struct {
	state atomic.Pointer[string]
	cut   chan struct{}
}

func (h *house) say(state string) { h.state.Store(&state) }

// ServeHTTP answers /state at once, and /busy/TIME with a stream that ends when it is cut, so long
// after that.
func (h *house) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, work := strings.CutPrefix(r.URL.Path, "/busy/")
	if !work {
		io.WriteString(w, *h.state.Load())
		return
	}
	w.(http.Flusher).Flush()
	last, _ := time.ParseDuration(after)
	<-h.cut
	time.Sleep(last)
	io.WriteString(w, "the end")
}

func (h *house) ending(grace, drain time.Duration) Ending {
	return Ending{Grace: grace, Drain: drain, Retire: func() { h.say("retired") },
		Refuse: func() { h.say("refuses") }, Cut: func() { close(h.cut) }}
}

// live serves with an ending that begins after a second.
func live(t *testing.T, e func(*house) Ending, visit func(n *network)) (late bool, took time.Duration) {
	h, n := &house{cut: make(chan struct{})}, newNetwork()
	h.say("serves")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	begin := time.Now()
	running := (&Listener{Listener: n}).Start(h)
	go visit(n)
	late, err := running.Wait(ctx, e(h))
	if err != nil {
		t.Error(err)
	}
	took = time.Since(begin)
	time.Sleep(time.Minute) // handlers that were cut off end
	synctest.Wait()
	return late, took
}

func TestTheEndHasItsTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := map[string]string{}
		late, took := live(t, func(h *house) Ending { return h.ending(5*time.Second, 10*time.Second) },
			func(n *network) {
				whole, cut := make(chan string), make(chan string)
				go func() { whole <- n.get("/busy/900ms") }()
				go func() { cut <- n.get("/busy/1100ms") }()
				got["before"] = n.get("/state")
				time.Sleep(1100 * time.Millisecond)
				got["at once"] = n.get("/state")
				time.Sleep(4800 * time.Millisecond)
				got["to the end of the grace"] = n.get("/state")
				time.Sleep(200 * time.Millisecond)
				got["in the drain"] = n.get("/state")
				got["with time for last words"] = <-whole
				got["too slow for them"] = <-cut
			})
		for name, want := range map[string]string{
			"before": "serves", "at once": "retired", "to the end of the grace": "retired",
			"in the drain": "refused", "with time for last words": "the end",
			"too slow for them": "unexpected EOF",
		} {
			if got[name] != want {
				t.Errorf("%s: %q, want %q", name, got[name], want)
			}
		}
		if want := (1 + 5 + 10 + 1) * time.Second; !late || took != want {
			t.Errorf("late %v, took %v, want true, %v", late, took, want)
		}
	})
}

func TestWhereNothingIsAnsweredTheDrainIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late, took := live(t, func(h *house) Ending { return h.ending(0, time.Hour) }, func(*network) {})
		if late || took != time.Second {
			t.Errorf("late %v, took %v, want false, 1s", late, took)
		}
	})
}

func TestAnAnswerThatEndsInTheDrainIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		late, _ := live(t, func(h *house) Ending {
			e := h.ending(0, time.Hour)
			e.Refuse, e.Cut = e.Cut, func() {} // so that the answer ends by itself
			return e
		}, func(n *network) { got = n.get("/busy/30m") })
		if late || got != "the end" {
			t.Errorf("late %v, %q", late, got)
		}
	})
}

func TestAListenerThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.Close()
		running := (&Listener{Listener: n}).Start(http.NotFoundHandler())
		if _, err := running.Wait(t.Context(), Ending{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%v, want that of the listener", err)
		}
	})
}
