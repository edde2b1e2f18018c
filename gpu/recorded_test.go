//go:build gpu

package gpu_test

// What is recorded once and replayed gives the same bits as what is launched.

import (
	"context"
	"fmt"
	"testing"

	"picogpt/gpu"
	"picogpt/internal/fixture"
	"picogpt/internal/testdevice"
	"picogpt/internal/testmodel"
	"picogpt/model"
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
	if count.Recorded < 6 || launched < count.Recorded || launched > 40 ||
		count.Replayed != 149-launched {
		t.Errorf("%d passes launched, %d recorded, %d replayed, want 149, most of them replayed",
			launched, count.Recorded, count.Replayed)
	}
	if err := m.Close(); err != nil || count.Forgotten < count.Recorded {
		t.Errorf("%d recordings forgotten of %d, error %v", count.Forgotten, count.Recorded, err)
	}
}
