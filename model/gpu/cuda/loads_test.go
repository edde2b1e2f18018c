package cuda

// How many loads are under way at a time in each loop, counted in the PTX that ships. A load takes
// 35 cycles on a GPU's chip, 270 from its cache and 700 from its memory, and an item waits at the
// first instruction that needs what it has loaded: a loop whose loads wait one by one takes as long
// as all of them together.

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

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

// scarce has all of them, in every file or in one. They load from local memory, but for read_peak's:
// few of the numbers are enough for many multiplications, and clang puts each load beside the first.
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
