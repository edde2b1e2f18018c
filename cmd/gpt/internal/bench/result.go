// Package bench measures a machine and the engine on it in one run: the read bandwidth and the FMA
// peak that the engine's own workers reach, and how near to them it decodes and prefills.
package bench

// Results of a run, and their text for people.

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
)

// A Result is one run. Times are medians over rounds; each ratio is the median over rounds of what
// was reached against the limit measured in the same round, since shared machines drift.
type Result struct {
	Model   string  `json:"model"`
	Layers  int     `json:"layers"`
	Width   int     `json:"width"`
	DType   string  `json:"dtype"`
	Cache   string  `json:"cache_dtype"`
	Threads int     `json:"threads"`
	Kernel  string  `json:"kernel"`
	Rounds  int     `json:"rounds"`
	Limits  Limits  `json:"limits"`
	Decode  Decode  `json:"decode"`
	Prefill Prefill `json:"prefill"`
	Batch   []Batch `json:"batch"`
	Context Context `json:"context"`
	Rows    Rows    `json:"rows"`
	Start   Start   `json:"start"`

	Choosing Choosing `json:"choosing"`

	// resident memory beyond mapped files, with one session of prompt and generated tokens
	RSSMB          float64 `json:"rss_mb"`
	MappedMB       float64 `json:"mapped_mb"`        // resident pages of mapped files
	AllocsPerToken float64 `json:"allocs_per_token"` // median
}

// Limits are what the machine does with nothing else to do.
type Limits struct {
	ReadGBps float64 `json:"read_gbps"` // 10⁹ bytes read from memory a second
	// 10⁹ float32 operations a second, two to each fused multiply-add
	FMAGFlops float64 `json:"fma_gflops"`
	// in Q8 and Q4 10⁹ operations on integers a second, two to each product, of the leaf in use
	IntegerGOps float64 `json:"integer_gops,omitempty"`
}

// Decode is one session, a token at a time from its beginning: Context says what a longer past
// costs.
type Decode struct {
	MSPerToken float64 `json:"ms_per_token"`
	GBPerToken float64 `json:"gb_per_token"` // weights read
	Ratio      float64 `json:"ratio"`        // of the read bandwidth
}

// Prefill is a prompt in one Eval, with the logits of its last position.
type Prefill struct {
	Tokens int     `json:"tokens"`
	MS     float64 `json:"ms"`
	// the operations that are done, over the time: 2·T·12·L·d² + 2·L·d·T·(T+1) + 2·V·d, without
	// what the processor saves in the last layer, 2·(T-1)·10·d² + 2·d·T·(T-1)
	GFlops float64 `json:"gflops"`
	// of the FMA peak; in Q8 and Q4 weights count beside the peak of integers
	Ratio float64 `json:"ratio"`
}

// Batch is several sessions, a token of each in one Eval, from their beginning too.
type Batch struct {
	Sessions     int     `json:"sessions"`
	TokensPerSec float64 `json:"tokens_per_s"`
	// of the limit: the weights are read once, and multiplied with a row of each session
	Ratio   float64 `json:"ratio"`
	Binds   string  `json:"binds"`   // what takes longer: Memory or Multiplying
	Speedup float64 `json:"speedup"` // against one session
}

const (
	Memory      = "memory"
	Multiplying = "multiplying"
)

// Context is decoding early and late. Models with less context are measured at At[1] = n_positions
// less a few.
type Context struct {
	At      [2]int  `json:"at"`
	MSAt50  float64 `json:"ms_at_50"`
	MSAt900 float64 `json:"ms_at_900"`
	Ratio   float64 `json:"ratio"`
}

// Rows are several rows of one session in one Eval, with logits for each, after At tokens. The
// lists have an entry for each number of rows that the context holds, beginning with 1.
type Rows struct {
	At    int       `json:"at"`
	Rows  []int     `json:"rows"`
	MS    []float64 `json:"ms"`
	Ratio []float64 `json:"ratio"` // to one row
}

// Choosing is a token from logits of the vocabulary, on one thread.
type Choosing struct {
	GreedyMS float64 `json:"greedy_ms"`
	TopKMS   float64 `json:"top_k_ms"` // top-k 40 with every other filter
	TopPMS   float64 `json:"top_p_ms"` // top-p alone
}

// Start is a process of its own, from exec to its first token, the file being in the page cache.
type Start struct {
	IDsMS  float64 `json:"ids_ms"`
	TextMS float64 `json:"text_ms,omitempty"` // a prompt of text: the tokenizer too
}

// Print prints rows of three columns, of which the last is wrapped.
func (r *Result) Print(w io.Writer) error {
	f, rows, left, middle := fmt.Sprintf, [][3]string{}, 0, 0
	row := func(what, figure, beside string) {
		rows = append(rows, [3]string{what, figure, beside})
		left = max(left, utf8.RuneCountInString(what))
		middle = max(middle, utf8.RuneCountInString(figure))
	}
	d, p, c := r.Decode, r.Prefill, r.Context
	row("memory read", f("%.1f GB/s", r.Limits.ReadGBps), "limit of decoding")
	if r.Limits.IntegerGOps > 0 {
		row("multiply integers", f("%.0f GOP/s", r.Limits.IntegerGOps), "limit of prompts")
		row("multiply and add", f("%.0f GFLOP/s", r.Limits.FMAGFlops), "limit of their attention")
	} else {
		row("multiply and add", f("%.0f GFLOP/s", r.Limits.FMAGFlops), "limit of prompts")
	}
	row("decode", f("%.2f ms a token", d.MSPerToken),
		f("%.2f of the limit (%.3f GB a token), %.0f tokens/s", d.Ratio, d.GBPerToken,
			1e3/d.MSPerToken))
	row(f("prompt of %d", p.Tokens), f("%.0f ms", p.MS),
		f("%.2f of the limit (%.0f GFLOP/s), %.0f tokens/s", p.Ratio, p.GFlops,
			float64(p.Tokens)/p.MS*1e3))
	for _, b := range r.Batch {
		row(f("%d sessions", b.Sessions), f("%.0f tokens/s", b.TokensPerSec),
			f("%.2f of the limit (%s binds), %.1f × one session", b.Ratio, b.Binds, b.Speedup))
	}
	row(f("decode at %d, at %d", c.At[0], c.At[1]), f("%.2f ms, %.2f ms", c.MSAt50, c.MSAt900),
		f("%.2f ×", c.Ratio))
	at, times := r.Rows, ""
	for i, n := range at.Rows[1:] {
		times += f(", %d: %.2f ×", n, at.Ratio[i+1])
	}
	row("rows", f("%.2f ms for 1", at.MS[0]), f("at %d, with logits for each%s", at.At, times))
	row("choosing a token", f("%.3f ms greedy", r.Choosing.GreedyMS),
		f("%.3f ms top-k 40 and all filters, %.3f ms top-p", r.Choosing.TopKMS, r.Choosing.TopPMS))
	start := "no tokenizer for text"
	if r.Start.TextMS > 0 {
		start = f("%.0f ms with a prompt of text", r.Start.TextMS)
	}
	row("exec to first token", f("%.0f ms", r.Start.IDsMS), start)
	row("memory", f("%.0f MB", r.RSSMB), f("beyond %.0f MB of mapped file", r.MappedMB))
	row("allocations a token", f("%.0f", r.AllocsPerToken), "")

	out := &cli.Page{Width: printColumns}
	out.Wrap("", 0, f("%s (%d layers of width %d), %s, kernels %s, %d threads, medians of %d rounds",
		r.Model, r.Layers, r.Width, show.Formats(r.DType, r.Cache), r.Kernel, r.Threads, r.Rounds))
	out.WriteString("\n")
	number := regexp.MustCompile("([0-9]) ") // which stays beside its unit
	for _, row := range rows {
		first := f("%-*s  %-*s  ", left, row[0], middle, row[1])
		out.Wrap(first, left+middle+4, number.ReplaceAllString(row[2], "$1\x00"))
	}
	_, err := io.WriteString(w, strings.ReplaceAll(out.String(), "\x00", " "))
	return err
}

// printColumns is how long the lines of a result are at most.
const printColumns = 80
