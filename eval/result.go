package eval

// Results of a measurement: their JSON, their text for people, and what a test expects of them.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"picogpt/internal/strictjson"
	"picogpt/model"
)

// A Result is a perplexity with everything that is needed to obtain it again. Missing numbers are
// NaN in Go and null in JSON.
type Result struct {
	Protocol   Protocol
	Perplexity float64 // per scored token: exp(NLL)
	NLL        float64 // mean over the scored tokens, in nats
	StdErr     float64 // of Perplexity; NaN if the protocol does not define it

	Documents int
	Tokens    int // of the text
	Scored    int // as the protocol counts them
	Words     int // of the original text; 0 if not known
	Bytes     int

	// For the whole text: exp(total/Words), exp(total/Bytes), total/(Bytes·ln 2). The total is
	// NLL·Tokens: a token that the protocol does not score counts as the mean.
	WordPerplexity, BytePerplexity, BitsPerByte float64

	Window, Stride int
	BOS            string // "none", or the id and its position
	SHA256         string // of the original bytes, in hexadecimal
	Model          string // set by the caller
	DType          string // the number format of the model's linear layers
	CacheDType     string // and of its keys and values; in JSON only if it is not f32
	Partial        bool   // an error ended the measurement before the last window
}

// resultJSON is a Result as JSON, with the keys in their order.
type resultJSON struct {
	Protocol       Protocol `json:"protocol"`
	Perplexity     *float64 `json:"perplexity"`
	NLL            *float64 `json:"nll"`
	StdErr         *float64 `json:"stderr"`
	Documents      int      `json:"documents"`
	Tokens         int      `json:"tokens"`
	Scored         int      `json:"scored"`
	Words          *int     `json:"words"`
	Bytes          *int     `json:"bytes"`
	WordPerplexity *float64 `json:"word_perplexity"`
	BytePerplexity *float64 `json:"byte_perplexity"`
	BitsPerByte    *float64 `json:"bits_per_byte"`
	Window         int      `json:"window"`
	Stride         int      `json:"stride"`
	BOS            string   `json:"bos"`
	SHA256         *string  `json:"sha256"`
	Model          string   `json:"model"`
	DType          string   `json:"dtype"`
	CacheDType     string   `json:"cache_dtype,omitempty"`
	Partial        bool     `json:"partial"`
}

// MarshalJSON writes a Result as one object.
func (r Result) MarshalJSON() ([]byte, error) {
	known := func(n int) *int {
		if r.Bytes == 0 {
			return nil
		}
		return &n
	}
	cache := r.CacheDType
	if cache == "f32" {
		cache = ""
	}
	return json.Marshal(resultJSON{
		r.Protocol, finite(r.Perplexity), finite(r.NLL), finite(r.StdErr),
		r.Documents, r.Tokens, r.Scored, known(r.Words), known(r.Bytes),
		finite(r.WordPerplexity), finite(r.BytePerplexity), finite(r.BitsPerByte),
		r.Window, r.Stride, r.BOS, hash(r.SHA256), r.Model, r.DType,
		cache, r.Partial,
	})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Result) UnmarshalJSON(b []byte) error {
	var j resultJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*r = Result{
		Protocol: j.Protocol, Perplexity: number(j.Perplexity), NLL: number(j.NLL),
		StdErr: number(j.StdErr), Documents: j.Documents, Tokens: j.Tokens, Scored: j.Scored,
		Words: value(j.Words), Bytes: value(j.Bytes), WordPerplexity: number(j.WordPerplexity),
		BytePerplexity: number(j.BytePerplexity), BitsPerByte: number(j.BitsPerByte),
		Window: j.Window, Stride: j.Stride, BOS: j.BOS, SHA256: value(j.SHA256), Model: j.Model,
		DType: j.DType, CacheDType: cmp.Or(j.CacheDType, "f32"), Partial: j.Partial,
	}
	return nil
}

// number returns the value of a pointer that finite returned, NaN for nil.
func number(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// value returns the value of a pointer, or the zero value for nil.
func value[T any](x *T) (v T) {
	if x != nil {
		v = *x
	}
	return v
}

// String returns the result as text for people, on several lines. Numbers have all their digits,
// because the result is the same everywhere.
func (r Result) String() string { return r.Digits(-1) }

// Digits is String with n significant digits for each measured number; −1 means all digits.
func (r Result) Digits(n int) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-16s "+format+"\n", append([]any{name}, args...)...)
	}
	digits := func(x float64) string { return strconv.FormatFloat(x, 'g', n, 64) }
	if r.Partial {
		line("partial", "the text was not measured to its end")
	}
	line("protocol", "%s: window %d, stride %d, BOS %s", r.Protocol, r.Window, r.Stride, r.BOS)
	formats := r.DType
	if r.CacheDType != "" && r.CacheDType != "f32" {
		formats += ", cache " + r.CacheDType
	}
	line("model", "%s, %s", r.Model, formats)
	line("tokens", "%d, %d of them scored", r.Tokens, r.Scored)
	if r.Bytes > 0 {
		documents := ""
		if r.Documents > 1 {
			documents = fmt.Sprintf(" in %d documents", r.Documents)
		}
		line("text", "%d words, %d bytes%s", r.Words, r.Bytes, documents)
	}
	if r.SHA256 != "" {
		line("SHA-256", "%s", r.SHA256)
	}
	line("nll", "%s nats per token", digits(r.NLL))
	stderr := ""
	if !math.IsNaN(r.StdErr) {
		stderr = " ± " + digits(r.StdErr)
	}
	line("perplexity", "%s%s per token", digits(r.Perplexity), stderr)
	if r.Bytes > 0 {
		line("", "%s per word", digits(r.WordPerplexity))
		line("", "%s per byte", digits(r.BytePerplexity))
		line("bits per byte", "%s", digits(r.BitsPerByte))
	}
	return b.String()
}

// finite returns a pointer to a number, or nil if JSON has no number for it.
func finite(x float64) *float64 { return strictjson.Number(x) }

func hash(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// An Expectation is a wanted perplexity.
type Expectation struct {
	Perplexity float64
	Tolerance  float64 // the largest accepted difference
}

// ParseExpectation reads a perplexity as gpt perplexity prints it. The tolerance is half a unit of
// the last digit: "20.0222" is 20.0222 ± 0.00005.
func ParseExpectation(s string) (Expectation, error) {
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(s), "e")
	whole, decimals, _ := strings.Cut(mantissa, ".")
	power, err := strconv.Atoi(exponent)
	if !scaled {
		power, err = 0, nil
	}
	x, bad := strconv.ParseFloat(s, 64)
	digits := whole + decimals
	if err != nil || bad != nil || digits == "" || strings.Trim(digits, "0123456789") != "" ||
		x <= 0 {
		return Expectation{},
			fmt.Errorf("%q: want a perplexity as it is printed, 20.0222 for example", s)
	}
	half, err := strconv.ParseFloat("5e"+strconv.Itoa(power-len(decimals)-1), 64)
	return Expectation{x, half}, err
}

// Check returns an error with both numbers if the perplexity is not the wanted one.
func (e Expectation) Check(perplexity float64) error {
	if perplexity == e.Perplexity || math.Abs(perplexity-e.Perplexity) <= e.Tolerance {
		return nil
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	return fmt.Errorf("perplexity per token: %s, want %s ± %s",
		number(perplexity), number(e.Perplexity), number(e.Tolerance))
}

// TB has the methods of testing.TB that ExpectPerplexity needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ExpectPerplexity measures a text, and fails the test unless the perplexity is the wanted one,
// which ParseExpectation reads. If the text cannot be measured, the test ends.
//
//	func TestPerplexity(t *testing.T) {
//		text, _ := eval.NewText(eval.HF, tok, story)
//		eval.ExpectPerplexity(t, m, text, eval.Options{Stride: 128}, "20.0222")
//	}
func ExpectPerplexity(t TB, m *model.Model, text Text, o Options, want string) Result {
	t.Helper()
	e, err := ParseExpectation(want)
	if err != nil {
		t.Fatalf("%v", err)
	}
	r, err := Measure(context.Background(), m, text, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := e.Check(r.Perplexity); err != nil {
		t.Errorf("%v", err)
	}
	return r
}
