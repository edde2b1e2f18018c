package eval

// What a measurement gives, and its JSON.

import (
	"encoding/json"
	"math"
)

// A Result is a perplexity with everything that is needed to obtain it again. Numbers that do not
// exist are NaN in Go and null in JSON.
type Result struct {
	Protocol   Protocol
	Perplexity float64 // per scored token: exp(NLL)
	NLL        float64 // mean over the scored tokens, in nats
	StdErr     float64 // of Perplexity; NaN where the protocol defines none

	Documents int
	Tokens    int // of the text
	Scored    int // as the protocol counts them
	Words     int // of the original text, or 0 where it is not known
	Bytes     int

	// Of the whole text: exp(total/Words), exp(total/Bytes), total/(Bytes·ln 2). The total is
	// NLL·Tokens: tokens that the protocol does not score count as its mean.
	WordPerplexity, BytePerplexity, BitsPerByte float64

	Window, Stride int
	BOS            string // "none", or the id and where it stands
	SHA256         string // of the original bytes, in hexadecimal
	Model          string // for the caller to fill in
	DType          string // the number format of the model's linear layers
	CacheDType     string // and of its keys and values; in JSON where it is not f32
	Partial        bool   // not all windows were done
}

// MarshalJSON writes one object. Its keys are in the order of the struct below.
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
	return json.Marshal(struct {
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
	}{
		r.Protocol, finite(r.Perplexity), finite(r.NLL), finite(r.StdErr),
		r.Documents, r.Tokens, r.Scored, known(r.Words), known(r.Bytes),
		finite(r.WordPerplexity), finite(r.BytePerplexity), finite(r.BitsPerByte),
		r.Window, r.Stride, r.BOS, hash(r.SHA256), r.Model, r.DType,
		cache, r.Partial,
	})
}

// finite is a number, or nil for what JSON has no number for.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func hash(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
