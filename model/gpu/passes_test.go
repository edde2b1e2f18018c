package gpu

// Passes on a driver that computes nothing: how many launches they are (SPEED.md has the table),
// the last block where few rows are read, GPT-2's own widths, and a server's load, in which texts
// come and go.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/engine"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
	"picogpt/sample"
)

// TestLaunchesOfALayer counts those of texts of so many new tokens each, in models of one layer and
// of two.
func TestLaunchesOfALayer(t *testing.T) {
	cases.NotShort(t)
	type kind struct {
		format string
		layers int
	}
	models, fakes := map[kind]*model.Model{}, map[kind]*fakeDriver{}
	for layers := 1; layers <= 2; layers++ {
		config, file := fixture.Checkpoint(fixture.Options{Embd: 768, Head: 12, Inner: 96,
			Layer: layers, Vocab: 300, Positions: 70})
		for _, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
			fake := newFake(t)
			fakes[kind{format, layers}] = fake
			models[kind{format, layers}] = testmodel.New(t, config, file, model.Options{
				Format: format, Threads: 1, Device: NewDevice(Info{Name: "fake"},
					func() (Driver, error) { return fake, nil }).WithoutProbe()})
		}
	}
	launches := func(format string, layers int, tokens []int) int {
		m, fake := models[kind{format, layers}], fakes[kind{format, layers}]
		var batch []model.Input
		for _, n := range tokens {
			batch = append(batch, model.Input{Session: m.NewSession(), Tokens: make([]int, n)})
		}
		fake.launches = 0
		if err := m.Eval(t.Context(), batch...); err != nil {
			t.Fatal(err)
		}
		for _, in := range batch {
			in.Session.Release()
		}
		return fake.launches
	}
	for _, c := range []struct {
		what           string
		tokens         []int
		floats, blocks int // of a layer, in F32, F16 and BF16, and in Q8 and Q4
		head           int // of the embedding, the norm and the head in Q8 and Q4; in floats 3
	}{
		// norm, c_attn, attend, c_proj, norm, c_fc, c_proj
		{"one row", []int{1}, 7, 7, 3},
		// and activation; or quantize before both c_proj
		{"two rows", []int{1, 1}, 8, 9, 3},
		{"64 rows", slices.Repeat([]int{1}, 64), 8, 9, 3},
	} {
		for _, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
			layer, rest := c.floats, 3
			if format[0] == 'q' {
				layer, rest = c.blocks, c.head
			}
			one, two := launches(format, 1, c.tokens), launches(format, 2, c.tokens)
			if one != rest+layer || two != one+layer {
				t.Errorf("%s in %s: %d launches, and %d with a second layer, want %d and %d",
					c.what, format, one, two, rest+layer, rest+2*layer)
			}
		}
	}
	// rows of one text: also store
	for format, want := range map[string]int{"f32": 9, "q8": 10} {
		one, two := launches(format, 1, []int{3}), launches(format, 2, []int{3})
		if got := fmt.Sprint(two - one); got != fmt.Sprint(want) {
			t.Errorf("three rows of a text in %s: %s launches of a layer, want %d", format, got, want)
		}
	}
}

// The last block of passes of which few rows are read, on a driver that computes nothing.

// A rowCounter keeps the groups of each launch of a kernel.
type rowCounter struct {
	*fakeDriver
	groups map[string][][3]int
}

func (d *rowCounter) Launch(l *Launch) error {
	d.groups[l.Kernel] = append(d.groups[l.Kernel], l.Groups)
	return d.fakeDriver.Launch(l)
}

// TestTheLastBlockIsForTheRowsThatAreRead: of a prompt of 600 tokens in two passes, no row of the
// first is read, and one of the second; beside it three rows of other texts are.
func TestTheLastBlockIsForTheRowsThatAreRead(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 700, Layer: 2, Head: 3})
	d := &rowCounter{newFake(t), map[string][][3]int{}}
	m := testmodel.New(t, config, file, model.Options{Device: NewDevice(Info{Name: "fake"},
		func() (Driver, error) { return d, nil }).WithoutProbe()})
	batch := []model.Input{{Session: m.NewSession(), Tokens: make([]int, 600)}}
	for range 3 {
		batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}})
	}
	if err := m.Eval(context.Background(), batch...); err != nil {
		t.Fatal(err)
	}
	rows := func(kernel string, dimension int) (all []int) {
		for _, g := range d.groups[kernel] {
			all = append(all, g[dimension])
		}
		return all
	}
	const second = 600 - 512 + 3
	for kernel, want := range map[string][]int{
		"layer_norm": { // ln_1 and ln_2 of each block, and ln_f
			512, 512, 512, second, second, second, 4, 4},
		"store_f32": {512, 512, second, second},
		"take_rows": {4},
	} {
		if got := rows(kernel, 0); !slices.Equal(got, want) {
			t.Errorf("%s of %d rows, want %d", kernel, got, want)
		}
	}
	for kernel, want := range map[string][]int{
		"attend_tile_f32": {32, 6, 1}, // groups of 16 rows; one of the last
		"attend_one_f32":  {3, 3},
	} {
		if got := rows(kernel, 1); !slices.Equal(got, want) {
			t.Errorf("%s of %d groups, want %d", kernel, got, want)
		}
	}
	all := fmt.Sprint(rows("activate_parts", 0))
	inner := m.Config().Inner
	if want := fmt.Sprint([]int{groups(512*inner, groupItems), groups(second*inner, groupItems),
		groups(4*inner, groupItems)}); all != want {
		t.Errorf("activations of %s groups, want %s", all, want)
	}
}

// Passes of GPT-2's own widths on a driver that computes nothing.

func TestWidePassesAreRecorded(t *testing.T) {
	cases.NotShort(t)
	for _, s := range []struct{ embd, heads int }{{768, 12}, {1600, 25}, {448, 4}} {
		t.Run(fmt.Sprint(s.embd), func(t *testing.T) {
			config, file := fixture.Checkpoint(fixture.Options{Embd: s.embd, Head: s.heads,
				Layer: 1, Vocab: 300, Positions: 70})
			fake := newFake(t)
			d, count := WithRecorder(NewDevice(Info{Name: "fake", Doubles: true},
				func() (Driver, error) { return fake, nil }).WithoutProbe())
			m := testmodel.New(t, config, file, model.Options{Device: d})
			var batch []model.Input
			for range mostFew + 1 { // too many; the pool of pages is then as large as it becomes
				batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}})
			}
			if err := m.Eval(t.Context(), batch...); err != nil || count.Recorded > 0 {
				t.Fatalf("%d recordings, error %v", count.Recorded, err)
			}
			for _, in := range batch {
				in.Session.Release()
			}
			sizes := map[int]bool{}
			for rows := 1; rows <= mostFew; rows++ {
				evaluated(t, m, count, sizes, slices.Repeat([]int{1}, rows))
			}
			if len(sizes) != 11 {
				t.Errorf("%d sizes of recordings, want 11", len(sizes))
			}
			clear(sizes)
			for rows := 2; rows < leastTiled; rows++ { // prompts, alone and beside texts
				evaluated(t, m, count, sizes, []int{rows})
			}
			// beside texts: of the rows so many are wanted as of a size without prompts, but
			// attention does not store what rows of one text need of each other
			evaluated(t, m, count, map[int]bool{}, append(slices.Repeat([]int{1}, mostFew-7), 7))
		})
	}
}

// evaluated evaluates texts of so many new tokens each in a pass, and again: the first pass of a
// size is launched kernel by kernel, the second recorded, and from then on it is replayed.
func evaluated(t *testing.T, m *model.Model, count *Recorded, sizes map[int]bool, tokens []int) {
	t.Helper()
	rows := 0
	for _, n := range tokens {
		rows += n
	}
	known := sizes[sizeOf(rows)]
	sizes[sizeOf(rows)] = true
	for round := range 3 {
		before := *count
		var batch []model.Input
		for _, n := range tokens {
			batch = append(batch, model.Input{Session: m.NewSession(), Tokens: make([]int, n)})
		}
		err := m.Eval(t.Context(), batch...)
		recorded, replayed := count.Recorded-before.Recorded, count.Replayed-before.Replayed
		wantRecorded, wantReplayed := round%2, min(round, 1)
		if known {
			wantRecorded, wantReplayed = 0, 1
		}
		if err != nil || recorded != wantRecorded || replayed != wantReplayed {
			t.Fatalf("%d tokens, round %d: %d recorded, %d replayed, want %d and %d, error %v",
				tokens, round, recorded, replayed, wantRecorded, wantReplayed, err)
		}
		for _, in := range batch {
			in.Session.Release()
		}
	}
}

// TestAStepIsNotWaitedFor before its end, unless the device has got very much work.
func TestAStepIsNotWaitedFor(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Embd: 768, Head: 12, Layer: 2, Vocab: 300,
		Positions: 200})
	fake := newFake(t)
	m := testmodel.New(t, config, file, model.Options{Device: NewDevice(Info{Name: "fake"},
		func() (Driver, error) { return fake, nil }).WithoutProbe()})
	batch := []model.Input{{Session: m.NewSession(), Tokens: make([]int, 130)}}
	for range 63 {
		batch = append(batch, model.Input{Session: m.NewSession(), Tokens: []int{1}})
	}
	fake.reads = 0
	if err := m.Eval(t.Context(), batch...); err != nil || fake.reads != 1 {
		t.Errorf("%d reads, want that of the logits; error %v", fake.reads, err)
	}
	b := newBackend(&Info{}, &stack.Params{H: make([]stack.Block, 1)}, engine.NewBudget(0), nil,
		fake)
	b.params.H[0].CFC.Weight = kernels.Matrix{In: 1 << 11, Out: 1 << 13}
	b.rows, fake.reads = 512, 0
	fake.live[0] = 4 // the plan
	q := b.queue()
	for range 8 {
		q.pace()
	}
	if delete(fake.live, 0); q.err != nil || fake.reads != 4 {
		t.Errorf("%d reads of 8 layers of 2^33 multiplications, want 4; error %v", fake.reads, q.err)
	}
}

// A server's load on a driver that records and computes nothing: texts come and go, so that each
// pass has another number of rows.

// recordedModel is a model on a device that records and computes nothing.
func recordedModel(t *testing.T, o fixture.Options) (*model.Model, *Recorded) {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	fake := newFake(t)
	d, count := WithRecorder(NewDevice(Info{Name: "fake", Doubles: true},
		func() (Driver, error) { return fake, nil }).WithoutProbe())
	return testmodel.New(t, config, file, model.Options{Device: d}), count
}

// TestALoadOf64UsersIsReplayed: after each shape has been launched once and recorded once, small
// passes are replayed, whatever the users do; none is recorded twice.
func TestALoadOf64UsersIsReplayed(t *testing.T) {
	m, count := recordedModel(t, fixture.Options{Vocab: 300, Positions: 300, Layer: 2})
	b := batch.New(m, batch.Options{})
	var users sync.WaitGroup
	for user := range 64 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(3, uint64(user)))
			for range 6 {
				o := decode.Options{MaxTokens: 5 + r.IntN(40), EndOfText: []int{},
					Params: sample.Params{Temperature: float64(user % 2), TopK: 1 + user%40,
						Seed: uint64(user)}}
				prompt := make([]int, 1+r.IntN(200))
				for _, err := range b.Generate(context.Background(), prompt, o) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	users.Wait()
	b.Close()
	// 11 sizes of the rows, of which as many or fewer are wanted, and 1 to 64 best ones of each
	if count.Recorded > 64 || count.Replayed < 4*count.Recorded {
		t.Errorf("%d recordings, %d replayed", count.Recorded, count.Replayed)
	}
	t.Logf("%d recordings, %d replayed, %d forgotten, of %d passes", count.Recorded, count.Replayed,
		count.Forgotten, count.Launches["embed_f32"])
}

// TestTheOldestRecordingGoes: with more shapes than may be stored, those in use stay.
func TestTheOldestRecordingGoes(t *testing.T) {
	m, count := recordedModel(t, fixture.Options{Vocab: 5000, Positions: 99, Layer: 1})
	eval := func(rows, best int) {
		t.Helper()
		var inputs []model.Input
		for range rows {
			inputs = append(inputs, model.Input{Session: m.NewSession(), Tokens: []int{1}, Best: best,
				NoLogits: true, Visit: func(model.Row) {}})
		}
		if err := m.Eval(t.Context(), inputs...); err != nil {
			t.Fatal(err)
		}
		for _, in := range inputs {
			in.Session.Release()
		}
	}
	thrice := func(rows, best int) {
		for range 3 {
			eval(rows, best)
		}
	}
	eval(64, 1) // the pool of pages is then as large as it becomes
	*count = Recorded{Launches: map[string]int{}}
	thrice(1, 1)
	shapes := 1
	for _, rows := range []int{2, 4, 8, 16, 24, 32, 40, 48, 56, 64} {
		for _, best := range []int{0, 1, 2, 4, 8, 16, 32} {
			thrice(rows, best)
			if shapes++; shapes%5 == 0 {
				before := count.Recorded
				if eval(1, 1); count.Recorded != before { // in use
					t.Fatalf("%d shapes, and the first is recorded again", shapes)
				}
			}
		}
	}
	if forgotten := shapes - mostRecordings; count.Forgotten != forgotten {
		t.Errorf("%d recordings forgotten of %d shapes, want %d", count.Forgotten, shapes, forgotten)
	}
	before := count.Recorded
	for range 2 { // the oldest one that was not in use
		eval(2, 0)
	}
	if got := count.Recorded - before; got != 1 {
		t.Errorf("%d recordings of a shape that was dropped, want 1", got)
	}
}
