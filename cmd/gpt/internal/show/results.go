package show

// Results: of benchmarks, and of two models on one text.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/eval"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/tokenizer"
)

// A Task is what the results of all benchmarks have.
type Task struct {
	Task     string `json:"task"`
	Examples int    `json:"examples"`
	Skipped  int    `json:"skipped"`
	Model    string `json:"model"`
	DType    string `json:"dtype"`
	Cache    string `json:"cache_dtype,omitempty"` // where it is not f32
	Partial  bool   `json:"partial"`
}

// String is a Task for people, in lines.
func (t Task) String() string {
	s := fmt.Sprintf("%-12s %s, %s\n%-12s %d", "model", t.Model,
		Formats(t.DType, t.Cache), "examples", t.Examples)
	if t.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", t.Skipped)
	}
	if t.Partial {
		s += ", partial: interrupted"
	}
	return s + "\n"
}

// accuracy is an accuracy for people, with its standard error where there is one.
func accuracy(a eval.Accuracy) string {
	if math.IsNaN(a.StdErr) {
		return fmt.Sprintf("%.2f %%", 100*a.Value)
	}
	return fmt.Sprintf("%.2f %% ± %.2f", 100*a.Value, 100*a.StdErr)
}

// Lambada returns the result of LAMBADA as an object, and as a text with so many digits.
func Lambada(t Task, r eval.LambadaResult, digits int) (object any, text string) {
	object = struct {
		Task
		Perplexity *float64 `json:"perplexity"`
		Accuracy   *float64 `json:"accuracy"`
		StdErr     *float64 `json:"accuracy_stderr"`
	}{t, strictjson.Number(r.Perplexity), strictjson.Number(r.Accuracy.Value),
		strictjson.Number(r.Accuracy.StdErr)}
	return object, fmt.Sprintf("%v%-12s %s per last word\n%-12s %s\n", t, "perplexity",
		strconv.FormatFloat(r.Perplexity, 'g', digits, 64), "accuracy", accuracy(r.Accuracy))
}

// Choice returns the result of multiple choice as an object, and as a text.
func Choice(t Task, r eval.ChoiceResult) (object any, text string) {
	object = struct {
		Task
		Sum        *float64 `json:"accuracy_sum"`
		SumStdErr  *float64 `json:"accuracy_sum_stderr"`
		Mean       *float64 `json:"accuracy_mean"`
		MeanStdErr *float64 `json:"accuracy_mean_stderr"`
		Byte       *float64 `json:"accuracy_bytes"`
		ByteStdErr *float64 `json:"accuracy_bytes_stderr"`
	}{t, strictjson.Number(r.BySum.Value), strictjson.Number(r.BySum.StdErr),
		strictjson.Number(r.ByMean.Value), strictjson.Number(r.ByMean.StdErr),
		strictjson.Number(r.ByByte.Value), strictjson.Number(r.ByByte.StdErr)}
	return object, fmt.Sprintf("%v%-12s %s\n%-12s %s\n%-12s %s\n", t, "by sum", accuracy(r.BySum),
		"by mean", accuracy(r.ByMean), "by bytes", accuracy(r.ByByte))
}

// NameDifferences gives the tokens of a comparison of a text their texts.
func NameDifferences(most []eval.Difference, text eval.Text, t *tokenizer.Tokenizer) {
	const before = 12 // tokens
	name := func(id int) string {
		text, _ := t.Text(id) // a row beyond the vocabulary has none
		return text
	}
	for i := range most {
		d := &most[i]
		ids := text.Documents[d.Document].Tokens[max(0, d.Position-before):d.Position]
		d.Before, _ = t.Decode(ids)
		d.Before = strings.ToValidUTF8(d.Before, "\uFFFD")
		d.Text, d.Chosen = name(d.ID), []string{name(d.Choices[0]), name(d.Choices[1])}
	}
}

// Comparison returns a comparison as a text, with so many digits; −1 means all.
func Comparison(c *eval.Comparison, digits int) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-14s "+format+"\n", append([]any{name}, args...)...)
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', digits, 64) }
	if c.A.Partial {
		line("partial", "the text was not compared to its end")
	}
	line("protocol", "%s: window %d, stride %d, BOS %s", c.A.Protocol, c.A.Window, c.A.Stride,
		c.A.BOS)
	line("A", "%s, %s", c.A.Model, Formats(c.A.DType, c.A.CacheDType))
	line("B", "%s, %s", c.B.Model, Formats(c.B.DType, c.B.CacheDType))
	line("tokens", "%d, %d of them compared", c.A.Tokens, c.Compared)
	line("perplexity", "%s of A, %s of B", number(c.A.Perplexity), number(c.B.Perplexity))
	line("KL(A‖B)", "%s nats in the mean", number(c.KL))
	line("", "%s at most for 99 %%, %s for all", number(c.KL99), number(c.KLMax))
	line("first choice", "the same for %.2f %%", 100*c.Agreement)
	line("|Δ ln p|", "%s of the text's tokens, in the mean", number(c.Delta))
	if len(c.Most) > 0 {
		b.WriteString("\n" + differences(c))
	}
	return b.String()
}

// differences is the table of the tokens that differ most, in lines of 80 columns where the tokens
// let it.
func differences(c *eval.Comparison) string {
	const line, least = 80, 9 // columns: of a line, and for the text before a token
	for size := 14; ; size-- {
		rows, width := differenceRows(c, size), 0
		for i := range rows[0] {
			column := 0
			for _, row := range rows {
				column = max(column, terminal.Width(row[i]))
			}
			width += column + len("  ")
		}
		if size > 3 && width+least > line {
			continue
		}
		rows[0] = append(rows[0], "after")
		for i, d := range c.Most {
			rows[i+1] = append(rows[i+1], ending(d.Before, line-width))
		}
		return table(rows, 4)
	}
}

// differenceRows are the cells of the table, with at most so many bytes of each token.
func differenceRows(c *eval.Comparison, size int) [][]string {
	named := func(id int, text string) string {
		if text == "" {
			return strconv.Itoa(id)
		}
		return quote.Short(text, size)
	}
	rows := [][]string{{"at", "KL(A‖B)", "ln p of A", "of B", "token", "A's choice", "B's choice"}}
	for _, d := range c.Most {
		at, texts := strconv.Itoa(d.Position), d.Chosen
		if c.A.Documents > 1 {
			at = fmt.Sprintf("%d:%d", d.Document, d.Position)
		}
		if texts == nil {
			texts = []string{"", ""}
		}
		rows = append(rows, []string{at, fmt.Sprintf("%.4g", d.KL), fmt.Sprintf("%.3f", d.LogProbs[0]),
			fmt.Sprintf("%.3f", d.LogProbs[1]), named(d.ID, d.Text), named(d.Choices[0], texts[0]),
			named(d.Choices[1], texts[1])})
	}
	return rows
}

// ending is the end of a text, in quotes and at most 22 of so many columns.
func ending(text string, columns int) string {
	r, cut := []rune(text), ""
	for n := min(len(r), 20); ; n-- {
		if n < len(r) {
			cut = "…"
		}
		end := cut + strconv.Quote(string(r[len(r)-n:]))
		if n == 0 || terminal.Width(end) <= columns {
			return end
		}
	}
}

// Formats names the number formats of a model and, where it is not the default, of its cache.
func Formats(dtype, cache string) string {
	if cache = NotF32(cache); cache != "" {
		dtype += ", cache " + cache
	}
	return dtype
}

// NotF32 is the format of a cache where results name it: one of f32 is not mentioned.
func NotF32(cache string) string {
	if cache == "f32" {
		return ""
	}
	return cache
}
