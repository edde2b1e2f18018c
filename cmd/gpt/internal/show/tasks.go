package show

// The results of benchmarks.

import (
	"fmt"
	"math"
	"strconv"

	"picogpt/eval"
	"picogpt/internal/strictjson"
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
