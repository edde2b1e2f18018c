//go:build gpu

package gpu_test

// The kernels on the device of $GPT_DEVICE: operation by operation, against package kernels; the
// best of a row against their definition; replayed recordings; texts whose tokens the device
// chooses.

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testdevice"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/gpu"
	"picogpt/model/gpu/cuda"
	"picogpt/model/stack"
	"picogpt/sample"
)

func open(t *testing.T) (*gpu.Leaves, *kernels.Team) {
	team, err := kernels.NewTeam(0, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(team.Close)
	return gpu.OpenLeaves(t, testdevice.Open(t), team), team
}

// TestIntegersOnADevice is TestIntegersOfThePTX on a device, with more outputs.
func TestIntegersOnADevice(t *testing.T) {
	integers(t, testdevice.Open(t), rowsOf, cases.Of(3, 40))
}

// TestTilesOnADevice is TestTilesOfThePTX on a device.
func TestTilesOnADevice(t *testing.T) { tiles(t, testdevice.Open(t), true) }

// TestLinearOnADevice straddles the edges of segments, slabs, tiles and groups.
func TestLinearOnADevice(t *testing.T) {
	leaves, team := open(t)
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []struct{ rows, in, out int }{
		{1, 1, 1}, {1, 255, 15}, {1, 256, 16}, {1, 257, 17}, {1, 800, 33}, {2, 513, 31},
		{3, 32, 64}, {8, 300, 65}, {9, 31, 40}, {15, 33, 129}, {16, 256, 16}, {17, 270, 48},
		{64, 65, 20}, {65, 257, 63}, {70, 530, 130}, {128, 16, 64}, {130, 17, 65},
	}
	for _, format := range []kernels.Format{
		kernels.F32, kernels.F16, kernels.BF16, kernels.Q8, kernels.Q4,
	} {
		for _, s := range sizes {
			for _, layout := range []kernels.Layout{kernels.InOut, kernels.OutIn} {
				if layout == kernels.OutIn && s.rows > engine.GroupRows {
					continue
				}
				what := fmt.Sprintf("%v, layout %d, %d rows, %d to %d", format, layout, s.rows,
					s.in, s.out)
				m := kernels.Matrix{Layout: layout, In: s.in, Out: s.out,
					F32: numbers(r, s.in*s.out)}
				m = kernels.Convert(team, format, &m)
				x, bias := numbers(r, s.rows*s.in), numbers(r, s.out)
				if s.rows == 9 {
					x[s.in+1], x[3*s.in] = float32(math.Inf(1)), float32(math.NaN())
				}
				want := make([]float32, s.rows*s.out)
				var got []float32
				if layout == kernels.OutIn {
					bias = nil
					got = leaves.Head(&m, x, s.rows)
				} else {
					got = leaves.Linear(&m, bias, x, s.rows)
				}
				team.Run(func(w *kernels.Worker) { kernels.Linear(w, want, x, s.rows, &m, bias) })
				sameBits(t, what, got, want)
			}
		}
	}
}

// TestActivationsOnADevice compares floats of all bits, a stride apart.
func TestActivationsOnADevice(t *testing.T) {
	leaves, team := open(t)
	const each = 1 << 20
	step := uint32(1<<32/each*2 - 1)
	if cases.Long {
		step = 1
	}
	got, want := make([]float32, each), make([]float32, each)
	for a := kernels.GELUTanh; a <= kernels.Mish; a++ {
		for first := uint64(0); first < 1<<32; first += each * uint64(step) {
			for i := range want {
				want[i] = math.Float32frombits(uint32(first) + uint32(i)*step)
			}
			team.Run(func(w *kernels.Worker) { kernels.Activate(w, want, a) })
			leaves.Activate(got, uint32(first), step, a)
			sameBits(t, fmt.Sprintf("activation %d from %x", a, first), got, want)
		}
	}
}

// The best of a row, as the device of $GPT_DEVICE chooses them, against their definition.

// bestByDefinition sorts the row.
func bestByDefinition(logits []float32, k int) (b stack.Best) {
	sorted := slices.Sorted(slices.Values(logits))
	least := sorted[len(sorted)-k]
	for id, x := range logits {
		if x >= least {
			b.IDs, b.Logits = append(b.IDs, int32(id)), append(b.Logits, x)
		}
	}
	b.LogSumExp = kernels.Leaves{}.LogSumExp(logits)
	return b
}

// TestTheBestOnADevice uses sizes around the edges of runs, chunks and groups, and one of more runs
// than a group loads at a time, 2048; some rows have equal logits, zeros of both signs, or logits
// that are not finite.
func TestTheBestOnADevice(t *testing.T) {
	leaves, _ := open(t)
	r := rand.New(rand.NewPCG(1, 5))
	const rows = 9
	for _, vocab := range []int{2, 17, 31, 33, 65, 500, 2047, 2048, 2049, 5000, 50257, 140_003} {
		chosen, refused := 0, 0
		for _, k := range []int{1, 2, 5, 16, 40, 128, 129} {
			if k >= vocab || vocab > 1<<17 && k != 16 { // so many take long
				continue
			}
			logits := make([]float32, rows*vocab)
			for i := range logits {
				logits[i] = float32(r.NormFloat64() * 4)
			}
			row := func(i int) []float32 { return logits[i*vocab:][:vocab] }
			row(1)[r.IntN(vocab)] = float32(math.NaN())
			row(2)[r.IntN(vocab)] = float32(math.Inf(-1))
			row(3)[vocab-1] = float32(math.Inf(1))
			clear(row(4)) // all are equal
			for i := range row(5) {
				row(5)[i] = float32(r.IntN(3)) - 1 // most are
			}
			for i := range row(6) { // some are, at the greatest
				row(6)[i] = float32(math.Copysign(0, r.Float64()-0.5)) - float32(r.IntN(9)/8)
			}
			for i := range row(7) { // in order, and far apart
				row(7)[i] = -float32(i) * 0.3
			}
			for i, got := range leaves.Best(logits, rows, vocab, k) {
				what := fmt.Sprintf("%d of %d, row %d", k, vocab, i)
				if len(got.IDs) == 0 {
					refused++
					continue
				}
				chosen++
				want := bestByDefinition(row(i), k)
				if i >= 1 && i <= 3 {
					t.Fatalf("%s: ids %v of what is not finite", what, got.IDs)
				}
				if !slices.Equal(got.IDs, want.IDs) ||
					math.Float64bits(got.LogSumExp) != math.Float64bits(want.LogSumExp) {
					t.Fatalf("%s: ids %v, log of the sum %v, want %v, %v", what, got.IDs,
						got.LogSumExp, want.IDs, want.LogSumExp)
				}
				sameBits(t, what, got.Logits, want.Logits)
			}
		}
		if chosen == 0 || vocab > 5000 && vocab < 1<<17 && chosen < 6*3 {
			t.Errorf("vocabulary of %d: %d rows chosen, %d to be read", vocab, chosen, refused)
		}
	}
}

// TestTheExponentialsOfARowOnADevice compares each, and their sum, to the last bit. A step of exp
// that rounds once more shows in one of 20,000, so there are many. The differences to the greatest
// logit are small, usual and large, up to where exp is 0.
func TestTheExponentialsOfARowOnADevice(t *testing.T) {
	leaves, _ := open(t)
	r := rand.New(rand.NewPCG(2, 6))
	const rows = 3
	for _, vocab := range []int{9, 2048, 200_000} {
		logits := make([]float32, rows*vocab)
		for i := range logits {
			spread := []float64{0.5, 4, 300}[i/vocab]
			logits[i] = float32(r.NormFloat64() * spread)
		}
		terms, sums := leaves.Exponentials(logits, rows, vocab)
		for row := range rows {
			logits, terms := logits[row*vocab:][:vocab], terms[row*vocab:][:vocab]
			greatest := float64(slices.Max(logits))
			var lanes [8]float64
			for id, x := range logits {
				want := kernels.Exp64(float64(x) - greatest)
				if math.Float64bits(terms[id]) != math.Float64bits(want) {
					t.Fatalf("row %d of %d: exp(%v) is %x, want %x", row, vocab,
						float64(x)-greatest, terms[id], want)
				}
				lanes[id%8] += want
			}
			want := ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
				((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
			if math.Float64bits(sums[row]) != math.Float64bits(want) {
				t.Errorf("row %d of %d: the sum is %x, want %x", row, vocab, sums[row], want)
			}
		}
	}
}

// Replayed recordings give the same bits as launches.

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

// Texts whose tokens the device chooses, as far as their logits stay there.

// TestChoicesLeaveTheLogitsOnTheDevice compares texts of several sessions in a pass with those of
// the processor, to the last bit of their log-probabilities, and counts the bytes that were read.
func TestChoicesLeaveTheLogitsOnTheDevice(t *testing.T) {
	const vocab, texts, length = 2500, 5, 12
	config, file := fixture.Checkpoint(fixture.Options{Vocab: vocab, Positions: 99})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	processor := testmodel.New(t, config, file, model.Options{})
	onDevice := testmodel.New(t, config, file, model.Options{Device: device})
	write := func(m *model.Model, o decode.Options) [][]decode.Token {
		b := batch.New(m, batch.Options{})
		defer b.Close()
		all := make([][]decode.Token, texts)
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() {
				own := o
				own.Seed = uint64(i)
				for tok, err := range b.Generate(context.Background(), make([]int, 1+3*i), own) {
					if err != nil {
						t.Error(err)
					}
					all[i] = append(all[i], tok)
				}
			})
		}
		wg.Wait()
		return all
	}
	for _, c := range []struct {
		what string
		o    decode.Options
		read int // bytes for each token
	}{
		{"greedy", decode.Options{Top: 1}, 4 * (4 + 65)},
		{"top-k", decode.Options{Top: 3, Params: sample.Params{Temperature: 1,
			TopK: 5}}, 4 * (4 + 8*65)},
		{"top-k and top-p", decode.Options{Params: sample.Params{Temperature: 2, TopK: 16,
			TopP: 0.8}}, 4 * (4 + 16*65)},
		{"all ids", decode.Options{Params: sample.Params{Temperature: 1}}, 4 * (vocab + 15)}, // logits, and hidden
	} {
		c.o.MaxTokens, c.o.EndOfText = length, []int{}
		count.Read = 0
		got := write(onDevice, c.o)
		read := count.Read
		want := write(processor, c.o)
		for i := range want {
			if len(want[i]) != length || !reflect.DeepEqual(got[i], want[i]) {
				t.Errorf("%s: text %d is %v, want %v", c.what, i, fmt.Sprint(got[i]),
					fmt.Sprint(want[i]))
			}
		}
		if least := c.read * texts * length; read < least || read > least+4*texts*length {
			t.Errorf("%s: %d bytes read, want %d", c.what, read, least)
		}
	}
}

// TestTopPLeavesTheLogitsOnTheDevice where its best ones are enough; else the row is read as well.
func TestTopPLeavesTheLogitsOnTheDevice(t *testing.T) {
	const vocab, length, chosen, whole = 15000, 6, 4 * (4 + 128*65), 4 * (15000 + 15)
	config, file := fixture.Checkpoint(fixture.Options{Vocab: vocab, Positions: 20, Layer: 1})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	processor := testmodel.New(t, config, file, model.Options{})
	onDevice := testmodel.New(t, config, file, model.Options{Device: device})
	for topP, want := range map[float64]int{
		0.005: length * chosen,
		0.999: 2*(chosen+whole) + (length-2)*whole, // it is tried once, and not for four tokens
	} {
		o := decode.Options{Params: sample.Params{Temperature: 1, TopP: topP}, MaxTokens: length,
			EndOfText: []int{}}
		count.Read = 0
		got := texts(t, decode.Generate(t.Context(), onDevice.NewSession(), []int{1, 2}, o))
		read := count.Read
		if read < want || read > want+4*length {
			t.Errorf("top-p %g: %d bytes read, want %d", topP, read, want)
		}
		alone := texts(t, decode.Generate(t.Context(), processor.NewSession(), []int{1, 2}, o))
		if got != alone {
			t.Errorf("top-p %g: %s\nwant %s", topP, got, alone)
		}
	}
}

// TestPagesOfTheDeviceAreShared has texts of a Batcher begin as others do: those that are written,
// and those that have ended.
func TestPagesOfTheDeviceAreShared(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 99})
	processor := testmodel.New(t, config, file, model.Options{})
	onDevice := testmodel.New(t, config, file, model.Options{Device: testdevice.Open(t)})
	b := batch.New(onDevice, batch.Options{PrefixBytes: 1 << 30})
	scored := decode.Options{MaxTokens: 4, Echo: decode.EchoPrompt, Top: 2}
	for _, o := range []decode.Options{{MaxTokens: 4}, scored} {
		var group sync.WaitGroup
		for i := range 6 {
			prompt := make([]int, 70+i) // each is the beginning of the next
			prompt[0], prompt[69] = 7, i/2
			if i == 3 {
				group.Wait() // the others come when those have ended
			}
			group.Go(func() {
				got := texts(t, b.Generate(context.Background(), prompt, o))
				alone := processor.NewSession()
				want := texts(t, decode.Generate(context.Background(), alone, prompt, o))
				if got != want {
					t.Errorf("prompt %d: %s\nwant %s", i, got, want)
				}
			})
		}
		group.Wait()
	}
	if s := b.Stats(); s.PrefixHits < 2*5*60 {
		t.Errorf("%d tokens were shared, want most", s.PrefixHits)
	}
	b.Close()
	if n := onDevice.CacheBytes(); n != 0 {
		t.Errorf("%d bytes of pages stay", n)
	}
}

// texts prints the tokens of a text.
func texts(t *testing.T, tokens iter.Seq2[decode.Token, error]) string {
	t.Helper()
	var all []decode.Token
	for tok, err := range tokens {
		if err != nil {
			t.Error(err)
		}
		all = append(all, tok)
	}
	return fmt.Sprintf("%+v", all)
}

// TestADeviceWithoutDoubles hands out rows whole.
func TestADeviceWithoutDoubles(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 500, Positions: 99})
	device, count := gpu.WithRecorder(testdevice.Open(t))
	device.Doubles = false
	m := testmodel.New(t, config, file, model.Options{Device: device})
	count.Read = 0
	whole := false
	err := m.Eval(t.Context(), model.Input{Session: m.NewSession(), Tokens: []int{1}, Best: 1,
		NoLogits: true, Visit: func(r model.Row) { whole = len(r.Logits) == 500 && r.Best == nil }})
	if err != nil || !whole || count.Read < 4*500 || count.Launches["best_sum"] > 0 {
		t.Errorf("error %v, whole %v, %d bytes read, %d sums", err, whole, count.Read,
			count.Launches["best_sum"])
	}
}

// The probe runs every kernel that models need.

func TestTheProbeRunsEveryKernel(t *testing.T) {
	device, count := gpu.WithRecorder(testdevice.Open(t))
	if err := device.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	elsewhere := map[string]bool{"activate": true, "read_peak": true, "fma_peak": true}
	all := regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(cuda.PTX(), -1)
	if len(all) < 30 {
		t.Fatalf("%d kernels, want more", len(all))
	}
	for _, m := range all {
		if count.Launches[m[1]] == 0 && !elsewhere[m[1]] {
			t.Errorf("the probe does not run %s", m[1])
		}
	}
}
