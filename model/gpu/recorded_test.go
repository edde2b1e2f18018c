//go:build gpu

package gpu_test

// Replayed recordings give the same bits as launches.

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testdevice"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

func TestReplayedPassesGiveTheSameBits(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 500})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	texts := func(m *model.Model) (logits [][]float32) {
		sessions := []*model.Session{m.NewSession(), m.NewSession(), m.NewSession()}
		for step := range 150 { // over pages, and over growths of their pool
			var batch []model.Input
			for i, s := range sessions[:1+step%3] {
				in := model.Input{Session: s, Tokens: []int{(step*7 + i) % 29}}
				if step == 60 {
					in.Tokens = make([]int, 100) // a prompt is not recorded
				}
				in.NoLogits = step%10 == 9
				batch = append(batch, in)
			}
			if err := m.Eval(context.Background(), batch...); err != nil {
				t.Fatal(err)
			}
			for _, in := range batch {
				logits = append(logits, append([]float32(nil), in.Session.Logits()...))
			}
		}
		return logits
	}
	want := texts(testmodel.New(t, config, file, model.Options{}))
	m := testmodel.New(t, config, file, model.Options{Device: device})
	*count = gpu.Recorded{Launches: map[string]int{}} // without those of the probe
	for i, logits := range texts(m) {
		if len(logits) != len(want[i]) {
			t.Fatalf("text %d: %d logits, want %d", i, len(logits), len(want[i]))
		}
		sameBits(t, fmt.Sprint("text ", i), logits, want[i])
	}
	// the first pass of a shape is launched: one that comes again is recorded, and replayed
	launched := count.Launches["embed_f32"] - count.Replayed - 1
	if count.Recorded < 5 || launched < count.Recorded || launched > 40 ||
		count.Replayed != 149-launched {
		t.Errorf("%d passes launched, %d recorded, %d replayed, want 149, most of them replayed",
			launched, count.Recorded, count.Replayed)
	}
	if err := m.Close(); err != nil || count.Forgotten < count.Recorded {
		t.Errorf("%d recordings forgotten of %d, error %v", count.Forgotten, count.Recorded, err)
	}
}

// TestWideRecordingsGiveTheSameBits has GPT-2's own widths: texts side by side, and prompts.
func TestWideRecordingsGiveTheSameBits(t *testing.T) {
	for _, c := range []struct {
		embd, heads   int
		format, cache string
		tokens        []int // new ones, of each text
	}{
		{448, 4, "f32", "f32", slices.Repeat([]int{1}, 64)},
		{768, 12, "q8", "f16", slices.Repeat([]int{1}, 19)},
		{768, 12, "f16", "f32", []int{3, 1, 7, 1}},
		{1600, 25, "f16", "f16", []int{5}},
		{1600, 25, "q8", "f32", []int{1}},
		{768, 12, "q4", "f16", []int{1}},
		{768, 12, "f16", "f16", []int{1}},
		{768, 12, "bf16", "f32", []int{1, 1, 1}},
	} {
		what := fmt.Sprintf("width %d in %s, %d texts", c.embd, c.format, len(c.tokens))
		config, file := fixture.Checkpoint(fixture.Options{Embd: c.embd, Head: c.heads, Layer: 1,
			Vocab: 300, Positions: 99, DType: "F16"})
		device, count := gpu.WithRecorder(testdevice.Open(t))
		rows := func(o model.Options) (rows [][]float32) {
			o.Format, o.CacheFormat = c.format, c.cache
			m := testmodel.New(t, config, file, o)
			defer m.Close()
			batch := make([]model.Input, len(c.tokens))
			for i, n := range c.tokens {
				batch[i] = model.Input{Session: m.NewSession(), Tokens: make([]int, n)}
			}
			for round := range 3 { // launched, recorded, replayed
				for i := range batch {
					for at := range batch[i].Tokens {
						batch[i].Tokens[at] = (round*31 + i*7 + at) % 300
					}
				}
				if err := m.Eval(t.Context(), batch...); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				for _, in := range batch {
					rows = append(rows, slices.Clone(in.Session.Logits()))
				}
			}
			return rows
		}
		want := rows(model.Options{})
		// a driver's own recordings, if it makes any, and the strict recorder's
		for _, d := range []*gpu.Device{testdevice.Open(t).WithoutProbe(), device.WithoutProbe()} {
			for i, logits := range rows(model.Options{Device: d}) {
				sameBits(t, fmt.Sprintf("%s, text %d", what, i), logits, want[i])
			}
		}
		if count.Recorded != 1 || count.Replayed != 2 {
			t.Errorf("%s: %d recordings, %d replayed, want 1 and 2", what, count.Recorded,
				count.Replayed)
		}
	}
}
