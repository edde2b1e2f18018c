package main

// Progress: one line on stderr, on a terminal only, for what takes more than a second.

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A progress is a line that a goroutine rewrites until it is ended.
type progress struct {
	label func() string
	since time.Time
	stop  chan struct{}
	once  sync.Once
	done  chan struct{}
}

// showProgress shows, a second from now on, what label returns and how long it has taken. label is called from another
// goroutine. Call end before anything else is written to the terminal. There is at most one line at a time.
func (a *app) showProgress(label func() string) (end func()) {
	file, ok := a.stderr.(*os.File)
	if !ok || !isTerminal(file) {
		return func() {}
	}
	p := &progress{label: label, since: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	a.mu.Lock()
	a.progress = p
	a.mu.Unlock()
	go p.run(file)
	return a.endProgress
}

// endProgress wipes the line, if there is one.
func (a *app) endProgress() {
	a.mu.Lock()
	p := a.progress
	a.progress = nil
	a.mu.Unlock()
	if p != nil {
		p.once.Do(func() { close(p.stop) })
		<-p.done
	}
}

func (p *progress) run(w *os.File) {
	defer close(p.done)
	width := 0
	for wait := time.NewTimer(time.Second); ; wait.Reset(200 * time.Millisecond) {
		select {
		case <-p.stop:
			wait.Stop()
			if width > 0 {
				fmt.Fprintf(w, "\r%s\r", strings.Repeat(" ", width))
			}
			return
		case <-wait.C:
			line := fmt.Sprintf("%s, %d s", p.label(), int(time.Since(p.since).Seconds()))
			columns := utf8.RuneCountInString(line)
			fmt.Fprintf(w, "\r%s%s", line, strings.Repeat(" ", max(0, width-columns)))
			width = max(width, columns)
		}
	}
}
