package batch

// Drafts that the cache has no room for.

import (
	"context"
	"errors"
	"testing"

	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// TestAStepThatFailedIsTriedWithoutDrafts: the cache has room for eight tokens, and drafts reach
// beyond them. The text has every token that it would have without drafts.
func TestAStepThatFailedIsTriedWithoutDrafts(t *testing.T) {
	const room = 8
	small := tiny(t, fixture.Options{}).NewSession()
	in := model.Input{Session: small, Tokens: make([]int, room)}
	if err := small.Model().Eval(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	config, file := fixture.Checkpoint(fixture.Options{})
	for prompt := 1; prompt <= room; prompt++ {
		m := testmodel.New(t, config, file, model.Options{Threads: 1, CacheBytes: small.Bytes()})
		b := newBatcher(t, m, Options{})
		texts := b.Generate(context.Background(), make([]int, prompt),
			decode.Options{Constraint: &dictated{7}})
		n, err := count(texts)
		if want := room - prompt + 1; n != want || !errors.Is(err, model.ErrCacheFull) {
			t.Errorf("after %d tokens: %d more and %v, want %d and that the cache is full", prompt, n,
				err, want)
		}
		if st := b.Stats(); prompt == 1 && st.Steps >= room {
			t.Errorf("%d tokens in %d steps, want fewer: drafts are right", room, st.Steps)
		}
	}
}
