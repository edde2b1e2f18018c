// Package toys has vocabularies and constraints for tests, small enough to see through.
package toys

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/constrain"
	"picogpt/tokenizer"
)

// Letters is a vocabulary of so many ids: 0 is "a", 1 is "b" and so on.
type Letters int

func (l Letters) Size() int { return int(l) }

func (l Letters) NewDecoder([]int) tokenizer.Decoder { return l }

func (l Letters) Push(id int) (string, error) {
	if id < 0 || id >= int(l) {
		return "", fmt.Errorf("id %d: want 0 to %d", id, int(l)-1)
	}
	return string(rune('a' + id)), nil
}

func (Letters) Flush() string { return "" }

func (l Letters) Fork() tokenizer.Decoder { return l }

// Forgetful is a vocabulary without the bytes of one id.
type Forgetful struct {
	Letters
	ID int // the one
}

func (v Forgetful) NewDecoder([]int) tokenizer.Decoder { return v }

func (v Forgetful) Fork() tokenizer.Decoder { return v }

func (v Forgetful) Push(id int) (string, error) {
	if id == v.ID {
		return "", fmt.Errorf("id %d: no bytes", id)
	}
	return v.Letters.Push(id)
}

// Words is a vocabulary whose text is not the sum of its tokens: a space stands before each word
// but the text's first, and a word is certain only when the next one has come.
type Words []string

func (w Words) Size() int { return len(w) }

func (w Words) NewDecoder(before []int) tokenizer.Decoder {
	return &wordDecoder{Words: w, begun: len(before) > 0}
}

type wordDecoder struct {
	Words
	begun bool
	held  string
}

func (d *wordDecoder) Push(id int) (string, error) {
	certain := d.Flush()
	if d.held = d.Words[id]; d.begun {
		d.held = " " + d.held
	}
	d.begun = true
	return certain, nil
}

func (d *wordDecoder) Fork() tokenizer.Decoder {
	f := *d
	return &f
}

func (d *wordDecoder) Flush() string {
	held := d.held
	d.held = ""
	return held
}

// Lacking returns GPT-2's vocabulary without the tokens that contain one of some bytes. Their ids
// have no token.
func Lacking(bytes string) (*tokenizer.Tokenizer, error) {
	all, _ := tokenizer.GPT2().Parts()
	gone := map[string]bool{}
	for id, kind := range all.Kinds {
		text, err := tokenizer.GPT2().Text(id)
		if kind == tokenizer.Normal && (err != nil || strings.ContainsAny(text, bytes)) {
			gone[all.Tokens[id]], all.Kinds[id] = true, tokenizer.Unused
		}
	}
	all.Merges = slices.DeleteFunc(all.Merges, func(merge string) bool {
		left, right, _ := strings.Cut(merge, " ")
		return gone[left] || gone[right]
	})
	return tokenizer.FromParts(all)
}

// EndAt is a constraint of a program's own: the last of some tokens ends the text. It is Hugging
// Face's forced_eos_token_id.
type EndAt struct{ End, Left int }

func (e *EndAt) Mask(open []uint64) error {
	for i := range open {
		open[i] = math.MaxUint64
	}
	if e.Left == 1 {
		clear(open)
		open[e.End>>6] |= 1 << (e.End & 63)
	}
	return nil
}

func (e *EndAt) Accept(int) error        { e.Left--; return nil }
func (e *EndAt) Rewind(n int) error      { e.Left += n; return nil }
func (e *EndAt) Fork() constrain.Matcher { f := *e; return &f }
