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

// fewer has the kernels with loops that have fewer than eight loads under way, and why.
var fewer = map[string]string{
	"chains_few_":  "a slab in local memory, whose numbers several chains share",
	"chains_many_": "a slab in local memory, whose numbers 16 chains share",
	"attend_one_": "of 16 blocks the exponentials, at most 4 an item, and the merge in their order; " +
		"in f16 dimensions after the last 16, which heads of 64 do not have",
	"attend_tile_": "16 loads are in one block of code, where an assembler can move them together, " +
		"but clang's order has each beside its use",
	"best_":     "runs of a vocabulary, at most 16 an item",
	"integers_": "a tile in local memory, whose numbers several products share",
	"quantize":  "integers are loaded eight by eight, in several conversions' order",
	"take_rows": "once a pass, for few rows",
	"read_peak": "measures what many items read",
}

// TestLoopsHaveLoadsUnderWay demands eight of each loop that loads, but for those of fewer. -v
// prints all.
func TestLoopsHaveLoadsUnderWay(t *testing.T) {
	seen := map[string]int{}
	t.Logf("%-16s %6s %6s %9s %4s %4s %12s", "kernel", "global", "shared", "under way", "fma", "add",
		"instructions")
	for _, l := range loops(kernels) {
		if l.global+l.shared == 0 {
			continue
		}
		t.Logf("%-16s %6d %6d %9d %4d %4d %12d", l.kernel, l.global, l.shared, l.underWay, l.fmas,
			l.adds, l.all)
		exempt := false
		for prefix := range fewer {
			exempt = exempt || strings.HasPrefix(l.kernel, prefix)
		}
		if l.underWay >= 8 {
			seen[l.kernel]++
		} else if !exempt {
			t.Errorf("%s: a loop of %d and %d loads has %d under way, want 8", l.kernel, l.global,
				l.shared, l.underWay)
		}
	}
	for kernel, least := range map[string]int{ // of those, so many have eight
		"layer_norm": 6, "chains_one_f16": 2, "dots_one_f32": 2, "dots_one_f16": 2,
		"attend_one_f32": 4, "attend_one_f16": 3, "store_f16": 1, "activate_parts": 1,
	} {
		if seen[kernel] < least {
			t.Errorf("%s: %d loops with eight loads under way, want %d", kernel, seen[kernel], least)
		}
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
