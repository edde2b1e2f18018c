//go:build gpu

package model_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testdevice"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
)

// Promise 2 on a GPU, the one that $GPT_DEVICE names: its logits are the processor's, bit for bit.

// onBoth runs a test for each number format of weights, with the model on the processor and on the
// device. Caches are in F32 and F16 by turns, or in the long run in both.
func onBoth(
	t *testing.T, config, file []byte, test func(t *testing.T, processor, device *model.Model),
) {
	d := testdevice.Open(t)
	for i, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
		caches := []string{"f32", "f16"}
		if !cases.Long {
			caches = caches[i%2:][:1]
		}
		for _, cache := range caches {
			t.Run(format+", cache "+cache, func(t *testing.T) {
				o := model.Options{Format: format, CacheFormat: cache}
				processor := testmodel.New(t, config, file, o)
				o.Device = d
				test(t, processor, testmodel.New(t, config, file, o))
			})
		}
	}
}

// one returns the logits after each of ids, evaluated one by one.
func one(t *testing.T, m *model.Model, ids []int) (rows [][]float32) {
	s := m.NewSession()
	for _, id := range ids {
		rows = append(rows, append([]float32(nil), eval(t, s, id)...))
	}
	return rows
}

func TestADeviceGivesTheSameBits(t *testing.T) {
	all := maps.Clone(shapes)
	all["wide heads, four segments"] = fixture.Options{Seed: 6, Vocab: 61, Positions: 200,
		Embd: 270, Head: 2, Inner: 800, Layer: 1}
	for name, o := range all {
		t.Run(name, func(t *testing.T) {
			config, file := fixture.Checkpoint(o)
			r := rand.New(rand.NewPCG(1, 2))
			ids := tokens(r, 150, o.Vocab) // three pages
			onBoth(t, config, file, func(t *testing.T, processor, device *model.Model) {
				want := one(t, processor, ids)
				checkWays(t, device, r, ids, want, 0)
			})
		})
	}
}

func TestADeviceGivesTheSameBitsOfUnusualConfigs(t *testing.T) {
	goldens, err := fixture.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goldens {
		t.Run(g.Name, func(t *testing.T) {
			onBoth(t, g.Config, g.File, func(t *testing.T, processor, device *model.Model) {
				for _, seq := range g.Sequences {
					want := visit(t, processor, seq.Tokens)
					for i, row := range visit(t, device, seq.Tokens) {
						sameBits(t, fmt.Sprint("position ", i), row, want[i])
					}
					for i, row := range one(t, device, seq.Tokens) {
						sameBits(t, fmt.Sprint("one by one, position ", i), row, want[i])
					}
				}
			})
		})
	}
}

// TestModelsShareADevice: two models at the same time, each used from many goroutines.
func TestModelsShareADevice(t *testing.T) {
	o := model.Options{Device: testdevice.Open(t)}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { shareAModel(t, o) })
	}
	wg.Wait()
}

// TestADeviceStopsWithItsContext ends a context in the middle of a prompt: after a few looks at it,
// and no pass begins once it has ended.
func TestADeviceStopsWithItsContext(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 7, Vocab: 50, Positions: 320,
		Embd: 192, Head: 4, Layer: 8})
	m := testmodel.New(t, config, file, model.Options{Device: testdevice.Open(t)})
	s, ids := m.NewSession(), make([]int, 310)
	eval(t, s, ids[:3]...)
	count := &cancelledAt{Context: context.Background(), look: math.MaxInt}
	if err := m.Eval(count, model.Input{Session: s, Tokens: ids[3:]}); err != nil {
		t.Fatal(err)
	}
	if s.Truncate(3); count.looks < 4 {
		t.Fatalf("%d looks at the context in a whole prompt, want one for each pass at least", count.looks)
	}
	ctx := &cancelledAt{Context: context.Background(), look: count.looks / 2}
	err := m.Eval(ctx, model.Input{Session: s, Tokens: ids[3:]})
	if !errors.Is(err, context.Canceled) || s.Len() != 3 || ctx.looks > count.looks/2+2 {
		t.Errorf("error %v, %d tokens, %d of %d looks, want the context's error, 3 tokens, %d looks", err,
			s.Len(), ctx.looks, count.looks, count.looks/2+2)
	}
}

// TestADeviceGivesTheSameHiddenStates compares what Visit sees, in passes of more rows than one
// group of logits has.
func TestADeviceGivesTheSameHiddenStates(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 5, Vocab: 31, Positions: 700,
		Layer: 1})
	ids := tokens(rand.New(rand.NewPCG(3, 4)), 600, 31)
	rows := func(m *model.Model) [][]float32 {
		rows := make([][]float32, 2*len(ids))
		s := m.NewSession()
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids, VisitFrom: 17,
			Visit: func(r model.Row) {
				rows[2*r.Index] = append([]float32(nil), r.Logits...)
				rows[2*r.Index+1] = append([]float32(nil), r.Hidden...)
			}})
		if err != nil {
			t.Fatal(err)
		}
		return append(rows, s.Logits())
	}
	o := model.Options{Device: testdevice.Open(t)}
	want := rows(testmodel.New(t, config, file, model.Options{}))
	for i, row := range rows(testmodel.New(t, config, file, o)) {
		sameBits(t, fmt.Sprint("row ", i/2), row, want[i])
	}
}

// TestADeviceNamesTheSameNonFiniteLogit: keys and values that overflow, some in a cache in F16
// only.
func TestADeviceNamesTheSameNonFiniteLogit(t *testing.T) {
	d, failed := testdevice.Open(t), 0
	for _, bias := range []float64{1e4, 7e4, 1e18, 3e37} {
		config, file := fixture.Checkpoint(fixture.Options{QKVBias: bias})
		for _, cache := range []string{"f32", "f16"} {
			evaluate := func(best int, o model.Options) string {
				m := testmodel.New(t, config, file, o)
				s := m.NewSession()
				err := m.Eval(context.Background(), model.Input{Session: s, Tokens: []int{1, 2, 3},
					Best: best, NoLogits: best > 0, Visit: func(model.Row) {}})
				if err != nil && s.Len() != 0 {
					t.Errorf("%d tokens held after %v", s.Len(), err)
				}
				return fmt.Sprint(err)
			}
			want := evaluate(0, model.Options{CacheFormat: cache})
			for best := range 2 {
				got := evaluate(best, model.Options{CacheFormat: cache, Device: d})
				if got != want {
					t.Errorf("bias %g, cache %s: error %s, want %s", bias, cache, got, want)
				}
			}
			if want != "<nil>" {
				failed++
			}
		}
	}
	if failed == 0 || failed == 8 {
		t.Errorf("%d of 8 overflow, want some", failed)
	}
}

// TestADeviceHandsOutTheBestOfRows beside rows that are wanted whole, in groups of both.
func TestADeviceHandsOutTheBestOfRows(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Seed: 8, Vocab: 301, Positions: 200})
	ids := tokens(rand.New(rand.NewPCG(5, 6)), 90, 301)
	type row struct {
		logits []float32
		best   *model.Best
	}
	rows := func(m *model.Model) (all [3][90]row) {
		batch := make([]model.Input, 3)
		for i := range batch {
			batch[i] = model.Input{Session: m.NewSession(), Tokens: ids[i:], VisitFrom: 7 * i,
				Best: []int{4, 0, 16}[i], NoLogits: i == 0,
				Visit: func(r model.Row) {
					all[i][r.Index].logits = slices.Clone(r.Logits)
					if b := r.Best; b != nil {
						all[i][r.Index].best = &model.Best{IDs: slices.Clone(b.IDs),
							Logits: slices.Clone(b.Logits), LogSumExp: b.LogSumExp}
					}
				}}
		}
		if err := m.Eval(context.Background(), batch...); err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := rows(testmodel.New(t, config, file, model.Options{}))
	got := rows(testmodel.New(t, config, file, model.Options{Device: testdevice.Open(t)}))
	chosen := 0
	for i := range want {
		for at, w := range want[i] {
			g, what := got[i][at], fmt.Sprintf("input %d, row %d", i, at)
			if g.best == nil {
				sameBits(t, what, g.logits, w.logits)
				continue
			}
			chosen++
			if i == 1 || len(g.logits) > 0 || len(g.best.IDs) < []int{4, 0, 16}[i] ||
				g.best.LogSumExp != (kernels.Leaves{}).LogSumExp(w.logits) {
				t.Errorf("%s: %d logits and %v", what, len(g.logits), g.best)
			}
			for j, id := range g.best.IDs {
				if g.best.Logits[j] != w.logits[id] {
					t.Errorf("%s: the logit of id %d is %v, want %v", what, id, g.best.Logits[j],
						w.logits[id])
				}
			}
		}
	}
	if n := 90 + 88 - 14 - 1; chosen < n-9 || chosen > n {
		t.Errorf("%d rows by their best logits, want %d", chosen, n)
	}
}

// checkWays evaluates in every way, or where the kernels are pure Go, which is slow, in one of them.
func checkWays(t *testing.T, m *model.Model, r *rand.Rand, ids []int, want [][]float32, turn int) {
	ways := []func(){
		func() { checkWhole(t, m, ids, want) },
		func() { checkChunks(t, m, r, ids, want) },
		func() { checkBatch(t, m, r, ids, want) },
		func() { checkForkAndTruncate(t, m, ids, want) },
	}
	if m.Kernel() == "go" {
		ways = cases.Some(ways, 1, turn)
	}
	for _, check := range ways {
		check()
	}
}

func checkWhole(t *testing.T, m *model.Model, ids []int, want [][]float32) {
	for i, row := range visit(t, m, ids) {
		sameBits(t, fmt.Sprintf("whole, position %d", i), row, want[i])
	}
	sameBits(t, "whole, last", eval(t, m.NewSession(), ids...), want[len(ids)-1])
}

func checkChunks(t *testing.T, m *model.Model, r *rand.Rand, ids []int, want [][]float32) {
	s := m.NewSession()
	for s.Len() < len(ids) {
		n := min(1+r.IntN(40), len(ids)-s.Len())
		got := eval(t, s, ids[s.Len():s.Len()+n]...)
		sameBits(t, fmt.Sprintf("a chunk of %d ending at %d", n, s.Len()), got, want[s.Len()-1])
	}
}

// checkBatch runs sessions that are at different places of the same text, with chunks of different
// lengths, in one Eval.
func checkBatch(t *testing.T, m *model.Model, r *rand.Rand, ids []int, want [][]float32) {
	batch := make([]model.Input, 9)
	for i := range batch {
		batch[i].Session = m.NewSession()
	}
	for range 6 {
		for i := range batch {
			at := batch[i].Session.Len()
			n := 1
			if r.IntN(2) == 0 {
				n = 1 + r.IntN(20)
			}
			batch[i].Tokens = ids[at : at+n]
		}
		if err := m.Eval(context.Background(), batch...); err != nil {
			t.Fatal(err)
		}
		for i := range batch {
			s := batch[i].Session
			sameBits(t, fmt.Sprintf("session %d of a batch, position %d", i, s.Len()-1), s.Logits(),
				want[s.Len()-1])
		}
	}
}

func checkForkAndTruncate(t *testing.T, m *model.Model, ids []int, want [][]float32) {
	s := m.NewSession()
	eval(t, s, ids[:100]...)
	full := s.Fork(100)
	sameBits(t, "a fork's logits", full.Logits(), want[99])
	early := s.Fork(70) // in the middle of a page
	other := s.Fork(64)
	// must not disturb the others
	eval(t, other, tokens(rand.New(rand.NewPCG(9, 9)), 20, m.Config().VocabSize)...)
	sameBits(t, "a fork goes on", eval(t, early, ids[70:90]...), want[89])
	sameBits(t, "the original goes on", eval(t, s, ids[100:130]...), want[129])
	sameBits(t, "a full fork goes on", eval(t, full, ids[100:101]...), want[100])
	s.Truncate(33)
	if s.Logits() != nil {
		t.Error("a truncated session has logits")
	}
	eval(t, s, tokens(rand.New(rand.NewPCG(8, 8)), 50, m.Config().VocabSize)...)
	s.Truncate(33)
	sameBits(t, "after truncation", eval(t, s, ids[33:140]...), want[139])
	sameBits(t, "a fork after all that", eval(t, early, ids[90:91]...), want[90])
}

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
