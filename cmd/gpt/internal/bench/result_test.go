package bench

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// Lines have 80 columns at most, with numbers as large as they become.
func TestBenchmarksFitTheTerminal(t *testing.T) {
	r := &Result{Model: "random gpt2-medium", DType: "bf16", Cache: "f16", Kernel: "avx2vnni",
		Threads: 128, Rounds: 100}
	r.Limits = Limits{ReadGBps: 12345.6, FMAGFlops: 123456, IntegerGOps: 123456}
	r.Decode = Decode{MSPerToken: 12345.67, Ratio: 1.23, GBPerToken: 12.345}
	r.Prefill = Prefill{Tokens: 1024, MS: 123456, Ratio: 0.99, GFlops: 12345}
	r.Batch = []Batch{{Sessions: 1000, TokensPerSec: 12345, Ratio: 1.23, Binds: Multiplying,
		Speedup: 123.4}}
	r.Context.At = [2]int{50, 1000}
	r.Context.MSAt50, r.Context.MSAt900, r.Context.Ratio = 12345.67, 12345.67, 12.34
	r.Rows.At, r.Rows.Rows = 500, []int{1, 2, 4, 8, 16}
	r.Rows.MS, r.Rows.Ratio = make([]float64, 5), []float64{1, 1.23, 4.56, 7.89, 12.34}
	r.Choosing.GreedyMS, r.Choosing.TopKMS, r.Choosing.TopPMS = 12.345, 12.345, 12.345
	r.Start.IDsMS, r.Start.TextMS, r.RSSMB, r.MappedMB = 123456, 123456, 12345, 12345

	a := &Attention{Width: 512, Kernel: "avx2vnni", Threads: 128, Rounds: 100, FMAGFlops: 12345}
	point := AttentionPoint{Tokens: 1 << 18, MS: 1234567.89, GFlops: 12345, Ratio: 10.23,
		PeakMB: 123456}
	a.Series = []AttentionSeries{{Name: "single head of 512, causal", Exponent: 1.98,
		Points: []AttentionPoint{point}}}
	point.Name, point.MS = "multi-head 32×1000×256, 4 heads", 9999.994
	a.Workloads = []AttentionPoint{point}

	for name, text := range map[string]string{
		"gpt bench":           printed(t, r.Print),
		"gpt bench attention": printed(t, a.Print),
	} {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s: a line of %d columns: %s", name, n, line)
			}
		}
		if strings.Count(text, "\n") < 4 {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// printed is what print writes.
func printed(t *testing.T, print func(io.Writer) error) string {
	t.Helper()
	var b strings.Builder
	if err := print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
