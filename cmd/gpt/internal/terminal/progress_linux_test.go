package terminal

// The line of progress on a terminal, which is a pseudo-terminal here.

import (
	"strings"
	"testing"
	"time"

	"picogpt/dev/testterminal"
)

// TestProgressNeverWrapsALine runs the line on terminals of several widths, which change while it
// runs, and ends it: nothing of it may remain.
func TestProgressNeverWrapsALine(t *testing.T) {
	screen, terminal := testterminal.Open(t)
	read := func() string { // what was written up to now
		b := make([]byte, 1<<16)
		n, err := screen.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	work := state{
		title: "loading /模型/gpt2-xl", bar: true, share: 0.3,
		parts: []string{"1.20 GB of 6.40 GB", "1m20s left", "60.0 MB/s", "perplexity 20.0222"},
	}
	turn := make(chan bool)
	p := newProgress(func() state {
		<-turn
		return work
	})
	p.wait, p.every = time.Millisecond, time.Millisecond
	go p.run(terminal)
	var line string
	for _, columns := range []uint16{80, 40, 120, 20, 5, 1, 0, 80} {
		testterminal.Resize(t, terminal, columns)
		turn <- true
		text, ok := strings.CutPrefix(read(), "\r")
		line = text
		room := int(columns)
		if columns == 0 {
			room = 80 // the terminal does not say
		}
		if got := Width(line); !ok || got >= room || strings.Contains(line, "\n") {
			t.Errorf("%d columns: a line of %d: %q", columns, got, line)
		}
		if columns >= 20 && !strings.Contains(line, "1.20 GB of 6.40 GB") {
			t.Errorf("%d columns: %q does not say how much is done", columns, line)
		}
	}
	close(p.stop)
	close(turn)
	<-p.done
	rest := strings.Split(read(), "\r") // perhaps one line more, then spaces
	wiped := rest[len(rest)-2]
	if strings.Trim(wiped, " ") != "" || len(wiped) < Width(line) || rest[len(rest)-1] != "" {
		t.Errorf("after %q the line was wiped with %q", line, wiped)
	}
}
