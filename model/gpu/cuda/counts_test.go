package cuda

// What a token, and linear layers of several rows, cost on a device, counted on the interpreter:
// SPEED.md predicts from it. And how many loads are under way at a time.

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/ptx"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

// tokenCounts counts the second token of a text.
func tokenCounts(t *testing.T, format string, embd, layers, vocab int) ptx.Counts {
	t.Helper()
	program, err := ptx.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	d := ptx.NewDriver(program, 1)
	device := gpu.NewDevice(gpu.Info{Name: "interpreter", Memory: 1 << 30},
		func() (gpu.Driver, error) { return d, nil }).WithoutProbe()
	config, file := fixture.Checkpoint(fixture.Options{
		Seed: 9, Vocab: vocab, Positions: 64, Embd: embd, Head: embd / 64, Layer: layers,
	})
	m := testmodel.New(t, config, file,
		model.Options{Format: format, CacheFormat: "f16", Device: device, Threads: 1})
	s := m.NewSession()
	var before ptx.Counts
	for id := range 2 {
		before = d.Counts
		in := model.Input{Session: s, Tokens: []int{id}}
		if err := m.Eval(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	return d.Counts.Less(before)
}

// A token runs each weight's multiply-add once, and loads each weight once. Every layer costs the
// same, and every 64 ids; so small models say what the 12 layers and 50,257 ids of GPT-2 124M take.
// With the build tag long they have its widths, and -v prints that.
func TestATokenLoadsEachWeightOnce(t *testing.T) {
	cases.NotShort(t)
	embd := 256 // whole segments: past the end of one, numbers are loaded again
	if cases.Long {
		embd = 768
	}
	formats := map[string]float64{"f32": 4, "f16": 2, "q8": 17. / 16}
	for _, format := range cases.Keys(formats, 2, 1) {
		bytes := formats[format]
		one := tokenCounts(t, format, embd, 1, 64)
		layer := tokenCounts(t, format, embd, 2, 64).Less(one)
		ids := tokenCounts(t, format, embd, 1, 128).Less(one)
		weights, biasesAndNorms := float64(12*embd*embd), float64(13*embd*4) // and bytes
		// each group of c_proj also computes the activations of its inputs
		if got := float64(layer.FMAs) / weights; format != "q8" && (got < 1 || got > 1.25) {
			t.Errorf("%s: %.3f fma for each weight of a layer", format, got)
		}
		for what, got := range map[string]float64{
			"a layer's weights": (float64(layer.WeightBytes) - biasesAndNorms) / weights / bytes,
			"the head":          float64(ids.WeightBytes) / float64(64*embd) / bytes,
		} {
			if got < 1 || got > 1.1 { // the plan of a pass is small
				t.Errorf("%s: each byte of %s is loaded %.3f times", format, what, got)
			}
		}
		sum := func(count func(c ptx.Counts) int64) float64 {
			return float64(count(one)+11*count(layer)) + float64(count(ids))*(50257-64)/64
		}
		t.Logf("%s: %.0f launches, %.1f M instructions, %.2f M of warps, %.1f M fma; "+
			"MB: %.1f of weights, %.1f other loads, %.2f stored", format,
			sum(func(c ptx.Counts) int64 { return c.Launches }),
			sum(func(c ptx.Counts) int64 { return c.Instructions })/1e6,
			sum(func(c ptx.Counts) int64 { return c.WarpInstructions })/1e6,
			sum(func(c ptx.Counts) int64 { return c.FMAs })/1e6,
			sum(func(c ptx.Counts) int64 { return c.WeightBytes })/1e6,
			sum(func(c ptx.Counts) int64 { return c.LoadBytes })/1e6,
			sum(func(c ptx.Counts) int64 { return c.StoreBytes })/1e6)
	}
}

// What linear layers of several rows cost, counted on the interpreter: SPEED.md predicts from it.

// chainCounts counts a linear layer [768, out] in f16, by groups of all segments or of each.
func chainCounts(t *testing.T, kernel string, items, wide, high, rows, out, each int) ptx.Counts {
	t.Helper()
	program, err := right()
	if err != nil {
		t.Fatal(err)
	}
	const in, segments = 768, 3
	d := ptx.NewDriver(program, 1)
	l := gpu.Launch{Kernel: kernel, Items: items,
		Groups: [3]int{out / wide, segments / max(1, each), (rows + high - 1) / high}}
	for _, words := range []int{segments * rows * out, rows * in, in * out / 2, out} {
		b, err := d.Alloc(int64(4 * words))
		if err == nil {
			err = d.Write(b, 0, make([]byte, 4*words))
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
	}
	numbers := []int{rows, in, out}
	if each > 0 {
		numbers = append(numbers, each)
	}
	for _, n := range numbers {
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(uint32(n)), Size: 4})
	}
	if err := d.Launch(&l); err != nil {
		t.Fatal(err)
	}
	return d.Counts
}

// TestRowsShareWhatLocalMemoryGives: with more rows there are more multiplications for each number
// that is read from local memory, and for each instruction.
func TestRowsShareWhatLocalMemoryGives(t *testing.T) {
	cases.NotShort(t)
	const out = 128
	for _, c := range []struct {
		kernel            string
		items, wide, high int // items, outputs and rows of a group
		rows, each        int
		loads, all        float64 // for each fma, at most
	}{
		{"chains_few_f16", 256, 32, 16, 8, 0, 0.63, 4.8},
		{"chains_few_f16", 256, 32, 16, 16, 0, 0.63, 3.3},
		{"chains_many_f16", 128, 64, 64, 64, 1, 0.094, 1.4},
		{"chains_most_f16", 256, 128, 128, 128, 1, 0.063, 1.26},
		{"chains_most_f16", 256, 128, 128, 128, 3, 0.063, 1.26},
	} {
		n := chainCounts(t, c.kernel, c.items, c.wide, c.high, c.rows, out, c.each)
		if want := int64(768 * out * c.rows); n.FMAs != want {
			t.Errorf("%s, %d rows: %d fma, want %d", c.kernel, c.rows, n.FMAs, want)
		}
		loads := float64(n.SharedLoads) / float64(n.FMAs)
		all := 32 * float64(n.WarpInstructions) / float64(n.FMAs)
		t.Logf("%s, %d rows: for each fma %.4f loads of local memory, %.3f instructions", c.kernel,
			c.rows, loads, all)
		if loads > c.loads || all > c.all {
			t.Errorf("%s, %d rows: for each fma %.4f loads of local memory, %.3f instructions, "+
				"want %g and %g at most", c.kernel, c.rows, loads, all, c.loads, c.all)
		}
	}
}

// What linear layers on Q8 and Q4 cost, counted on the interpreter: SPEED.md predicts from it.

// integerCounts counts a linear layer [768, out], without the quantization of its inputs.
func integerCounts(
	t *testing.T, text, kernel string, groups [3]int, rows, out, tile int,
) ptx.Counts {
	t.Helper()
	program, err := ptx.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 768 / 32
	d := ptx.NewDriver(program, 1)
	l := gpu.Launch{Kernel: kernel, Groups: groups, Items: 256}
	const none = -1 // as a word: no activation
	buffers := []int{4 * rows * out, 64 * rows * blocks, 4 * rows, out / 16 * blocks * tile, 4 * out}
	numbers := []int{rows, blocks, out, none}
	if rows == 1 {
		buffers, numbers = slices.Insert(buffers, 3, 0), []int{768, blocks, out, none}
	}
	for _, bytes := range buffers {
		if bytes == 0 {
			l.Args = append(l.Args, gpu.Arg{Size: 8})
			continue
		}
		b, err := d.Alloc(int64(bytes))
		if err == nil {
			err = d.Write(b, 0, make([]byte, bytes))
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
	}
	for _, n := range numbers {
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(uint32(n)), Size: 4})
	}
	if err := d.Launch(&l); err != nil {
		t.Fatal(err)
	}
	return d.Counts
}

// TestIntegersAreMultipliedTogether: a product of a weight and an input is half of a dp2a, or a
// 64th of an item's two mma, and its share of what is around.
func TestIntegersAreMultipliedTogether(t *testing.T) {
	cases.NotShort(t)
	const out = 64
	for _, c := range []struct {
		name, text, kernel string
		groups             [3]int
		rows               int
		most               [2]float64 // instructions for each product, in Q8 and Q4
	}{
		{"dp2a", kernels, "integers_one_", [3]int{out / 16, 1, 1}, 1, [2]float64{4.2, 5.4}},
		{"dp2a", kernels, "integers_few_", [3]int{out / 16, 1, 1}, 8, [2]float64{1.4, 1.6}},
		{"dp2a", kernels, "integers_many_", [3]int{1, 1, 1}, 64, [2]float64{0.75, 0.75}},
		{"mma", kernels80, "integers_many_", [3]int{1, 1, 1}, 64, [2]float64{0.26, 0.27}},
	} {
		for i, format := range []string{"q8", "q4"} {
			tile := []int{544, 288}[i]
			n := integerCounts(t, c.text, c.kernel+format, c.groups, c.rows, out, tile)
			each := 32 * float64(n.WarpInstructions) / float64(768*out*c.rows)
			t.Logf("%s, %d rows, %s: %.3f instructions for each product", c.name, c.rows, format, each)
			if each > c.most[i] {
				t.Errorf("%s%s, %d rows: %.3f instructions for each product, want %g at most", c.kernel,
					format, c.rows, each, c.most[i])
			}
		}
	}
}

// How many loads are under way at a time in each loop, counted in the PTX that ships. A load takes
// 35 cycles on a GPU's chip, 270 from its cache and 700 from its memory, and an item waits at the
// first instruction that needs what it has loaded: a loop whose loads wait one by one takes as long
// as all of them together.

// A loop is an innermost loop of a kernel, and what its instructions are.
type loop struct {
	kernel          string
	global, shared  int // loads
	underWay        int // most loads that are issued before the first use of any of them
	fmas, adds, all int // instructions
}

var (
	loadLine = regexp.MustCompile(`^ld\.(global|shared)\S* \t?\{?([^\[]*?)\}?, \[`)
	register = regexp.MustCompile(`%\w+\d`)
)

// loops finds the innermost loops of a text of PTX: from a label to the last jump back to it.
func loops(text string) (all []loop) {
	const entry = ".visible .entry "
	for _, part := range strings.Split(text, entry)[1:] {
		name, body, _ := strings.Cut(part, "(")
		lines := strings.Split(body, "\n")
		labels := map[string]int{}
		var ranges [][2]int
		for i, line := range lines {
			lines[i] = strings.TrimSpace(line)
			if label, ok := strings.CutSuffix(lines[i], ":"); ok {
				labels[label] = i
			}
			if _, to, ok := strings.Cut(lines[i], "bra"); ok {
				label := strings.Trim(strings.TrimPrefix(to, ".uni"), " \t;")
				if from, known := labels[label]; known { // backwards
					ranges = append(ranges, [2]int{from, i})
				}
			}
		}
		for _, r := range ranges {
			if !slices.ContainsFunc(ranges, func(o [2]int) bool {
				return o != r && r[0] <= o[0] && o[1] <= r[1]
			}) {
				l := counted(lines[r[0] : r[1]+1])
				l.kernel = name
				all = append(all, l)
			}
		}
	}
	return all
}

// counted counts what the lines of a loop are.
func counted(lines []string) (l loop) {
	pending, n := map[string]bool{}, 0
	wait := func() {
		l.underWay = max(l.underWay, n)
		clear(pending)
		n = 0
	}
	for _, line := range lines {
		if line == "" || strings.HasSuffix(line, ":") || strings.HasPrefix(line, "//") {
			continue
		}
		l.all++
		load := loadLine.FindStringSubmatch(line)
		uses := line
		if load != nil {
			uses = line[strings.Index(line, "["):]
		}
		if strings.HasPrefix(line, "bar.") || slices.ContainsFunc(
			register.FindAllString(uses, -1), func(r string) bool { return pending[r] }) {
			wait()
		}
		switch {
		case load != nil:
			n++
			for _, r := range register.FindAllString(load[2], -1) {
				pending[r] = true
			}
			if load[1] == "global" {
				l.global++
			} else {
				l.shared++
			}
		case strings.HasPrefix(line, "fma."):
			l.fmas++
		case strings.HasPrefix(line, "add.rn."):
			l.adds++
		}
	}
	wait()
	return l
}

// A scarcity is how many loops of a kernel have fewer than eight loads under way, how many they
// have at least, and why.
type scarcity struct {
	loops, least int
	why          string
}

// scarce has all of them, in every file or in one. They load from local memory, but for
// read_peak's: few of the numbers are enough for many multiplications, and clang puts each load
// beside the first.
var scarce = map[string]scarcity{
	"chains_few_f32":                 {1, 5, "a vector and four pairs are 8 products"},
	"chains_few_f16":                 {1, 5, "as f32"},
	"chains_few_bf16":                {1, 5, "as f32"},
	"gpt2.ptx integers_many_q8":      {3, 1, "28 vectors are 512 products; activations in turn"},
	"gpt2.ptx integers_many_q4":      {3, 1, "as q8"},
	"gpt2_sm80.ptx integers_many_q8": {3, 1, "6 vectors are a product of matrices; likewise"},
	"gpt2_sm80.ptx integers_many_q4": {3, 1, "as q8"},
	"read_peak":                      {1, 1, "it is the limit to compare with: items are enough"},
}

// TestLoopsHaveLoadsUnderWay demands eight of each loop that loads, but for those that are scarce,
// of which it demands what is listed. -v prints all.
func TestLoopsHaveLoadsUnderWay(t *testing.T) {
	for name, text := range shipped() {
		t.Run(name, func(t *testing.T) {
			t.Logf("%-16s %6s %6s %9s %4s %4s %12s", "kernel", "global", "shared", "under way",
				"fma", "add", "instructions")
			found, eight := map[string]scarcity{}, map[string]int{}
			for _, l := range loops(text) {
				if l.global+l.shared == 0 {
					continue
				}
				t.Logf("%-16s %6d %6d %9d %4d %4d %12d", l.kernel, l.global, l.shared, l.underWay,
					l.fmas, l.adds, l.all)
				if f := found[l.kernel]; l.underWay >= 8 {
					eight[l.kernel]++
				} else if f.loops == 0 {
					found[l.kernel] = scarcity{loops: 1, least: l.underWay}
				} else {
					found[l.kernel] = scarcity{loops: f.loops + 1, least: min(f.least, l.underWay)}
				}
			}
			for kernel, f := range found {
				want, ok := scarce[kernel]
				if !ok {
					want = scarce[name+" "+kernel]
				}
				if f.loops != want.loops || f.least != want.least {
					t.Errorf("%s: %d loops have fewer than 8 loads under way, at least %d, want %d "+
						"and %d", kernel, f.loops, f.least, want.loops, want.least)
				}
			}
			for of, want := range scarce {
				file, kernel, only := strings.Cut(of, " ")
				if !only {
					kernel = of
				}
				if found[kernel].loops == 0 && (!only || file == name) {
					t.Errorf("%s: no loop has fewer than 8 loads under way, want %d", of, want.loops)
				}
			}
			for kernel, least := range map[string]int{ // so many have eight: loops are found
				"layer_norm": 9, "chains_one_f16": 3, "chains_many_f16": 1, "chains_most_f16": 1,
				"dots_one_f32": 2, "dots_one_f16": 2,
				"attend_one_f32": 5, "attend_one_f16": 5, "attend_tile_f16": 4, "store_f16": 1,
				"activate_parts": 1, "quantize": 2, "best_runs": 2, "best_sum": 2, "take_rows": 1,
			} {
				if eight[kernel] < least {
					t.Errorf("%s: %d loops with eight loads under way, want %d", kernel,
						eight[kernel], least)
				}
			}
		})
	}
}

// TestLoadsUnderWayAreCounted has a loop whose loads wait one by one, and one whose loads do not.
func TestLoadsUnderWayAreCounted(t *testing.T) {
	const one = "$L1:\n ld.global.f32 \t%f1, [%rd1];\n add.rn.f32 \t%f3, %f3, %f1;\n" +
		" ld.shared.v2.f32 \t{%f2, %f4}, [%rd1+4];\n fma.rn.f32 \t%f3, %f3, %f4, %f3;\n" +
		" @%p1 bra \t$L1;\n"
	const two = "$L2:\n ld.global.f32 \t%f1, [%rd1];\n ld.global.f32 \t%f2, [%rd1+4];\n" +
		" add.rn.f32 \t%f3, %f1, %f2;\n @%p1 bra \t$L2;\n"
	got := loops(".visible .entry k(\n" + one + two + "}\n")
	want := []loop{
		{kernel: "k", global: 1, shared: 1, underWay: 1, fmas: 1, adds: 1, all: 5},
		{kernel: "k", global: 2, underWay: 2, adds: 1, all: 4},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
