package bench

import (
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

	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if n := utf8.RuneCountInString(line); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	if strings.Count(b.String(), "\n") < 4 {
		t.Errorf("%q", b.String())
	}
}
