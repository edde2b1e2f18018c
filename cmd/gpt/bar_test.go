package main

import (
	"regexp"
	"testing"
	"time"
)

func TestBar(t *testing.T) {
	b := newBar("lines")
	b.start = time.Now().Add(-2 * time.Second)
	for _, c := range []struct {
		done, total int
		extra, want string
	}{
		{0, 0, "", `^0 lines, 0 lines/s$`},
		{10, 0, "", `^10 lines, [45] lines/s$`},
		{0, 40, "", `^0 lines, 0 lines/s$`},
		{10, 40, "", `^\[#{5}\.{15}\] 10 of 40 lines, [45] lines/s, [6-9]s left$`},
		{40, 40, "perplexity 2", `^\[#{20}\] 40 of 40 lines, [0-9]+ lines/s, 0s left, perplexity 2$`},
	} {
		b.set(c.done, c.total, c.extra)
		if got := b.String(); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("got %q, want %s", got, c.want)
		}
	}
}
