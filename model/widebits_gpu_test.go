//go:build gpu

package model_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/model"
)

// TestADeviceGivesTheSameBitsOfWideModels has layers as wide as those of GPT-2 124M and 1.5B, and
// vocabularies of several groups: prompts, tokens one by one, and many texts in a pass.
func TestADeviceGivesTheSameBitsOfWideModels(t *testing.T) {
	prompts, texts := []int{5, 1, 130, 1}, 20
	if strings.HasPrefix(os.Getenv("GPT_DEVICE"), "ptx") { // an instruction takes far longer
		prompts, texts = []int{3, 1}, 2
	}
	for _, s := range []struct{ embd, heads int }{{768, 12}, {1600, 25}} {
		t.Run(fmt.Sprint(s.embd), func(t *testing.T) {
			o := fixture.Options{Seed: 8, Vocab: 2100, Positions: 140, Embd: s.embd, Head: s.heads,
				Layer: 1}
			config, file := fixture.Checkpoint(o)
			onBoth(t, config, file, func(t *testing.T, processor, device *model.Model) {
				want, got := processor.NewSession(), device.NewSession()
				r := rand.New(rand.NewPCG(8, 9))
				for _, n := range prompts {
					ids := tokens(r, n, o.Vocab)
					sameBits(t, fmt.Sprint(n, " tokens"), eval(t, got, ids...), eval(t, want, ids...))
				}
				side := func(m *model.Model) (rows [][]float32) {
					batch := make([]model.Input, texts)
					for i := range batch {
						batch[i] = model.Input{Session: m.NewSession(), Tokens: []int{7 * i}}
					}
					if err := m.Eval(t.Context(), batch...); err != nil {
						t.Fatal(err)
					}
					for _, in := range batch {
						rows = append(rows, in.Session.Logits())
					}
					return rows
				}
				wants := side(processor)
				for i, row := range side(device) {
					sameBits(t, fmt.Sprintf("text %d of %d", i, texts), row, wants[i])
				}
			})
		})
	}
}

// TestADeviceGivesTheSameBitsOfALongText has more than 1024 keys, which a group of attention has in
// local memory at a time, and goes one by one over the edge of a page.
func TestADeviceGivesTheSameBitsOfALongText(t *testing.T) {
	o := fixture.Options{Seed: 3, Vocab: 40, Positions: 1200, Embd: 20, Head: 2, Inner: 16, Layer: 1}
	config, file := fixture.Checkpoint(o)
	onBoth(t, config, file, func(t *testing.T, processor, device *model.Model) {
		want, got := processor.NewSession(), device.NewSession()
		r := rand.New(rand.NewPCG(3, 4))
		for _, n := range []int{1020, 1, 1, 1, 1, 1, 1, 60, 1, 1, 1, 1, 1, 50, 1} {
			ids := tokens(r, n, o.Vocab)
			sameBits(t, fmt.Sprintf("%d tokens up to %d", n, want.Len()+n), eval(t, got, ids...),
				eval(t, want, ids...))
		}
	})
}
