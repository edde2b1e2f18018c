package main

import (
	"slices"
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/listen"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/serve"
)

func TestTheStartWarnsOfAModelWithoutAnOutputHead(t *testing.T) {
	on := &places{api: &listen.Listener{Loopback: true}}
	for tied, want := range map[bool][]string{true: nil, false: {"the model has no output head, so " +
		"no logits: it answers /classify and /v1/embeddings"}} {
		config, file := fixture.Checkpoint(fixture.Options{
			Config: map[string]any{"tie_word_embeddings": tied}})
		m := testmodel.New(t, config, file, model.Options{Headless: true})
		if got := (&serveCommand{}).warnings(on, m, &serve.Options{}); !slices.Equal(got, want) {
			t.Errorf("tied %v: %q, want %q", tied, got, want)
		}
	}
}

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
