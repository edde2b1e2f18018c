package terminal

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Two seconds pass, exactly.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines, bytes := NewBar("lines"), NewByteBar("load")
		time.Sleep(2 * time.Second)
		for _, c := range []struct {
			bar         *Bar
			done, total int
			extra, want string
		}{
			{lines, 0, 0, "", "0 lines, 0 lines/s"},
			{lines, 10, 0, "", "10 lines, 5.0 lines/s"},
			{lines, 0, 40, "", "[....................] 0 of 40 lines, 0 lines/s"},
			{lines, 10, 40, "", "[#####...............] 10 of 40 lines, 6s left, 5.0 lines/s"},
			{lines, 40, 40, "loss 2",
				"[####################] 40 of 40 lines, 0s left, 20 lines/s, loss 2"},
			{lines, 50, 40, "", "[####################] 50 of 40 lines, 0s left, 25 lines/s"},
			{bytes, 5e8, 2e9, "",
				"[#####...............] load, 500 MB of 2.00 GB, 6s left, 250 MB/s"},
			{bytes, 5e8, 0, "", "load, 500 MB, 250 MB/s"},
		} {
			c.bar.Set(c.done, c.total, c.extra)
			if got := c.bar.status().line(100); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		}
		lines.Set(10, 0, "")
		lines.SetInput(3e6, 12e6)
		want := "[#####...............] 10 lines, 3.00 MB of 12.0 MB, 6s left, 5.0 lines/s"
		if got := lines.status().line(100); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestAStatusFitsTheTerminal(t *testing.T) {
	parts := []string{"120 of 500 lines", "12s left", "30 lines/s", "perplexity 20.0222", "7 s"}
	work := state{parts: parts, bar: true, share: 0.24}
	file := state{
		title: "loading /models/gpt2-medium", bar: true, share: 0.25,
		parts: []string{"500 MB of 2 GB", "12s left", "90 MB/s"},
	}
	long := state{title: strings.Repeat("模型e\u0301👩\u200d🚀", 30), parts: parts, bar: true}
	for _, c := range []struct {
		state
		room int
		want string
	}{
		{work, 120, "[####................] 120 of 500 lines, 12s left, 30 lines/s, perplexity 20.0222, 7 s"},
		{work, 79, "[###..........] 120 of 500 lines, 12s left, 30 lines/s, perplexity 20.0222, 7 s"},
		{work, 62, "120 of 500 lines, 12s left, 30 lines/s, perplexity 20.0222"},
		{work, 39, "120 of 500 lines, 12s left, 30 lines/s"},
		{work, 19, "120 of 500 lines"},
		{work, 10, "120 of 50…"},
		{work, 1, "…"},
		{work, 0, ""},
		{file, 120, "[#####...............] loading /models/gpt2-medium, 500 MB of 2 GB, 12s left, 90 MB/s"},
		{file, 60, "loading /models/gpt2-med…, 500 MB of 2 GB, 12s left, 90 MB/s"},
		{file, 39, "loading /mod…, 500 MB of 2 GB, 12s left"},
		{file, 25, "loading…, 500 MB of 2 GB"},
		{file, 19, "500 MB of 2 GB"},
		{file, 9, "500 MB o…"},
		{state{title: "loading 模型", parts: []string{"7 s"}}, 79, "loading 模型, 7 s"},
		{state{title: "loading 模型模型模型模型", parts: []string{"7 s"}}, 18, "loading 模型…, 7 s"},
		{state{title: "loading e\u0301e\u0301e\u0301", parts: []string{"7 s"}}, 79,
			"loading e\u0301e\u0301e\u0301, 7 s"},
		{state{title: "a\nb\x1b[2J\xff"}, 79, "a\ufffdb\ufffd[2J\ufffd"},
	} {
		if got := c.line(c.room); got != c.want {
			t.Errorf("in %d columns: %q, want %q", c.room, got, c.want)
		}
	}
	for room := range 200 {
		for _, s := range []state{work, file, long, {}} {
			if got := Width(s.line(room)); got > room {
				t.Errorf("%d columns in %d: %q", got, room, s.line(room))
			}
		}
	}
}
