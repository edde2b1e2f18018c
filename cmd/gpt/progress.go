package main

// Progress: one line on stderr, on a terminal only, for what takes more than a second.

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// A progress is a line that a goroutine rewrites until it is ended.
type progress struct {
	now   func() workState
	since time.Time
	wait  time.Duration // until the line appears
	every time.Duration // from one line to the next
	stop  chan struct{}
	once  sync.Once
	done  chan struct{}
}

// showProgress shows, a second from now on, what label returns and how long it has taken. label is
// called from another goroutine. Call end before anything else is written to the terminal. There is
// at most one line at a time.
func (a *app) showProgress(label func() string) (end func()) {
	return a.showStatus(func() workState { return workState{title: label()} })
}

// showBar shows a bar in the same way.
func (a *app) showBar(b *bar) (end func()) { return a.showStatus(b.status) }

// progressFile is the terminal that progress is shown on, nil if there is none.
func (a *app) progressFile() *os.File {
	if file, ok := a.stderr.(*os.File); ok && isTerminal(file) {
		return file
	}
	return nil
}

func (a *app) showStatus(now func() workState) (end func()) {
	file := a.progressFile()
	if file == nil {
		return func() {}
	}
	p := newProgress(now)
	a.mu.Lock()
	a.progress = p
	a.mu.Unlock()
	go p.run(file)
	return a.endProgress
}

func newProgress(now func() workState) *progress {
	return &progress{
		now: now, since: time.Now(), wait: time.Second, every: 200 * time.Millisecond,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
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

// noteDuring writes a line to stderr while b may be on the terminal.
func (a *app) noteDuring(b *bar, format string, args ...any) {
	a.mu.Lock()
	shown := a.progress != nil
	a.mu.Unlock()
	a.endProgress()
	a.notef(format, args...)
	if shown {
		a.showBar(b)
	}
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
			columns := columnsOf(line)
			fmt.Fprintf(w, "\r%s%s", line, strings.Repeat(" ", max(0, min(written, room)-columns)))
			written = columns
		}
	}
}

// roomOf returns how many columns a line on the terminal may take at this moment. The last column
// stays free: writing to it makes some terminals begin a new line.
func roomOf(w *os.File) int { return columns(w) - 1 }
