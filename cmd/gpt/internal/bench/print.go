package bench

// Results for people.

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
)

// Print prints rows of three columns, of which the last is wrapped.
func (r *Result) Print(w io.Writer) error {
	f, rows, left, middle := fmt.Sprintf, [][3]string{}, 0, 0
	row := func(what, figure, beside string) {
		rows = append(rows, [3]string{what, figure, beside})
		left = max(left, utf8.RuneCountInString(what))
		middle = max(middle, utf8.RuneCountInString(figure))
	}
	d, p, b, c := r.Decode, r.Prefill, r.Batch, r.Context
	row("memory read", f("%.1f GB/s", r.Limits.ReadGBps), "limit of decoding")
	row("multiply and add", f("%.0f GFLOP/s", r.Limits.FMAGFlops), "limit of prompts")
	row("decode", f("%.2f ms a token", d.MSPerToken),
		f("%.2f of the limit (%.3f GB a token), %.0f tokens/s", d.Ratio, d.GBPerToken,
			1e3/d.MSPerToken))
	row(f("prompt of %d", p.Tokens), f("%.0f ms", p.MS),
		f("%.2f of the limit (%.0f GFLOP/s), %.0f tokens/s", p.Ratio, p.GFlops,
			float64(p.Tokens)/p.MS*1e3))
	row(f("%d sessions", b.Sessions), f("%.0f tokens/s", b.TokensPerSec),
		f("%.1f × one session", b.Speedup))
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
