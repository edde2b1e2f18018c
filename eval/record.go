package eval

// Records: gpt score's output for a text, as JSON.

import (
	"bytes"
	"encoding/json"
	"math"
	"unicode/utf8"
)

// A Record is one line of gpt score's output. Missing numbers are nil, and null in JSON.
type Record struct {
	Line      int             `json:"line"`                      // Scored.Index + 1
	ID        json.RawMessage `json:"id,omitempty"`              // a Tag: string, integer, JSON
	Tokens    []int           `json:"tokens"`                    // ids
	Text      string          `json:"text"`                      // the scored text
	Offsets   [][2]int        `json:"offsets"`                   // where each token is in Text
	LogProbs  []*float64      `json:"logprobs"`                  // natural logarithms
	Ranks     []*int          `json:"ranks"`                     // number of ids with a greater logit
	Entropies []*float64      `json:"entropies"`                 // in nats
	Sum       float64         `json:"sum_logprob"`               // of LogProbs
	Mean      *float64        `json:"mean_logprob"`              // of LogProbs
	Greedy    bool            `json:"greedy"`                    // every token is the greedy choice
	Dropped   int             `json:"context_dropped,omitempty"` // tokens of the context that were left out
	Top       [][]Alternative `json:"top,omitempty"`             // for each token
}

// Record returns s in the form of gpt score's output, with offsets in characters.
func (s *Scored) Record() Record {
	n := len(s.Tokens)
	r := Record{
		Line: s.Index + 1, ID: tagID(s.Tag), Text: s.Text, Offsets: s.Offsets(Chars),
		Sum: s.Sum, Mean: finite(s.Mean), Greedy: s.Greedy, Dropped: s.Dropped,
		Tokens: make([]int, n), LogProbs: make([]*float64, n), Ranks: make([]*int, n),
		Entropies: make([]*float64, n),
	}
	top := make([][]Alternative, n)
	for i := range s.Tokens {
		t := &s.Tokens[i]
		r.Tokens[i] = t.ID
		if t.Rank >= 0 {
			r.LogProbs[i], r.Ranks[i], r.Entropies[i] = finite(t.LogProb), &t.Rank,
				finite(t.Entropy)
		}
		if top[i] = t.Top; t.Top != nil {
			r.Top = top
		}
	}
	return r
}

// MarshalJSON writes the Record of s.
func (s Scored) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(s.Record())
	return b.Bytes(), err
}

// tagID returns the id for a Tag, or nil if the Tag is no id.
func tagID(tag any) json.RawMessage {
	switch tag := tag.(type) {
	case json.RawMessage:
		return tag
	case string, int, int32, int64, uint32, uint64, json.Number:
		b, _ := json.Marshal(tag) // an invalid json.Number gives no id
		return b
	}
	return nil
}

// A Unit is what offsets count.
type Unit string

const (
	Chars Unit = "chars" // code points, as in Python
	UTF16 Unit = "utf16" // as in JavaScript
	Bytes Unit = "bytes" // of UTF-8
)

// Offsets returns where each token is in Text. A character that two tokens share belongs to both.
func (s *Scored) Offsets(u Unit) [][2]int {
	at := make([][2]int, len(s.Tokens))
	if u == Bytes {
		for i, t := range s.Tokens {
			at[i] = [2]int{t.Start, t.End}
		}
		return at
	}
	before := make([]int, len(s.Text)+1) // units before the character that byte i belongs to
	// units up to the end of the character that byte i−1 belongs to
	after := make([]int, len(s.Text)+1)
	n := 0
	for i, r := range s.Text {
		size := 1
		if r > math.MaxUint16 && u == UTF16 {
			size = 2
		}
		_, length := utf8.DecodeRuneInString(s.Text[i:])
		for b := i; b < i+length; b++ {
			before[b], after[b+1] = n, n+size
		}
		n += size
	}
	before[len(s.Text)] = n
	for i, t := range s.Tokens {
		at[i] = [2]int{before[t.Start], max(before[t.Start], after[t.End])}
	}
	return at
}
