package main

import (
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/listen"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

func TestTheStartWarnsOfASmallCache(t *testing.T) {
	need := testmodel.Demo(t, model.Options{Threads: 1}).SessionBytes(256)
	for limit, want := range map[int64]int{0: 0, need: 0, need - 1: 1} {
		m := testmodel.Demo(t, model.Options{Threads: 1, CacheBytes: limit})
		on := &places{api: &listen.Listener{Loopback: true}}
		got := (&serveCommand{}).warnings(on, m, &serve.Options{})
		if len(got) != want || want > 0 && !strings.Contains(got[0], "holds no text of the whole context") {
			t.Errorf("--cache-bytes %d: %q, want %d", limit, got, want)
		}
	}
}
