package terminal

// A line of progress, for what takes more than a second.

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// A progress is a line that a goroutine rewrites until it is ended.
type progress struct {
	now   func() state
	since time.Time
	wait  time.Duration // until the line appears
	every time.Duration // from one line to the next
	stop  chan struct{}
	once  sync.Once
	done  chan struct{}
}

// newProgress shows, a second from now on, what now returns.
func newProgress(now func() state) *progress {
	return &progress{
		now: now, since: time.Now(), wait: time.Second, every: 200 * time.Millisecond,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// end wipes the line.
func (p *progress) end() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
}

func (p *progress) run(w *os.File) {
	defer close(p.done)
	written := 0 // columns that hold something
	for wait := time.NewTimer(p.wait); ; wait.Reset(p.every) {
		select {
		case <-p.stop:
			wait.Stop()
			if written > 0 {
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", min(written, roomOf(w))))
			}
			return
		case <-wait.C:
			now, room := p.now(), roomOf(w)
			now.parts = append(now.parts, fmt.Sprintf("%d s", int(time.Since(p.since).Seconds())))
			line := now.line(room)
			columns := Width(line)
			fmt.Fprintf(w, "\r%s%s", line, strings.Repeat(" ", max(0, min(written, room)-columns)))
			written = columns
		}
	}
}

// roomOf returns how many columns a line on the terminal may take at this moment. The last column
// stays free: writing to it makes some terminals begin a new line.
func roomOf(w *os.File) int { return Columns(w) - 1 }
