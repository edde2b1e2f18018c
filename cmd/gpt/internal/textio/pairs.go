package textio

// Pairs of texts: a file of them, or templates from which they are made.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"picogpt/internal/quote"
)

// A Pair is a pair as a file has it: texts and tokens, or ids.
type Pair struct {
	Clean     TextOrIDs `json:"clean"`
	Corrupted TextOrIDs `json:"corrupted"`
	Answer    TextOrIDs `json:"answer"`
	Wrong     TextOrIDs `json:"wrong"` // none: the mean of all logits
}

// A pairSpec is templates: pairs whose texts have {slots}, and for the names of slots, with commas
// between those that never get the same word, the words.
type pairSpec struct {
	Pair
	Templates []Pair              `json:"templates"`
	Words     map[string][]string `json:"words"`
}

// A TextOrIDs is a text, ids or one id.
type TextOrIDs struct {
	Text string
	IDs  []int
}

// UnmarshalJSON reads a string, a list of whole numbers, or one.
func (t *TextOrIDs) UnmarshalJSON(b []byte) error {
	one := 0
	switch {
	case json.Unmarshal(b, &t.Text) == nil, json.Unmarshal(b, &t.IDs) == nil:
		return nil
	case json.Unmarshal(b, &one) == nil:
		t.IDs = []int{one}
		return nil
	}
	return errors.New("want a text, or ids")
}

// MostPairs bounds the bytes of a file of pairs; templates make at most 65,536.
const MostPairs = 16 << 20

// ParsePairs returns the pairs of a file: of each JSON object one or, if it has templates, n.
func ParsePairs(text string, n int, seed uint64) (all []Pair, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	for {
		var spec pairSpec
		err := d.Decode(&spec)
		if err == io.EOF && len(all) == 0 {
			return nil, errors.New("no pairs")
		} else if err == io.EOF {
			return all, nil
		}
		made := []Pair{spec.Pair}
		if err == nil && spec.Templates != nil {
			made, err = spec.make(n, seed)
		}
		if err != nil {
			return nil, fmt.Errorf("object %d: %w", len(all)+1, err)
		}
		all = append(all, made...)
	}
}

// make returns n pairs: the templates in turn, with words that are drawn.
func (s *pairSpec) make(n int, seed uint64) (all []Pair, err error) {
	if n < 1 || n > 1<<16 {
		return nil, fmt.Errorf("--count %d: want 1 to %d", n, 1<<16)
	}
	random := rand.NewPCG(seed, 0)
	for i := range n {
		var fill []string
		for _, slots := range slices.Sorted(maps.Keys(s.Words)) {
			left := slices.Clone(s.Words[slots])
			for slot := range strings.SplitSeq(slots, ",") {
				if len(left) == 0 {
					return nil, fmt.Errorf("words of %s: want at least as many as slots", slots)
				}
				k, _ := bits.Mul64(random.Uint64(), uint64(len(left)))
				fill = append(fill, "{"+strings.TrimSpace(slot)+"}", left[k])
				left = slices.Delete(left, int(k), int(k)+1)
			}
		}
		row, r := s.Templates[i%len(s.Templates)], strings.NewReplacer(fill...)
		for _, t := range []*TextOrIDs{&row.Clean, &row.Corrupted, &row.Answer, &row.Wrong} {
			if t.Text = r.Replace(t.Text); strings.ContainsAny(t.Text, "{}") {
				return nil, fmt.Errorf("template %d: a slot without words in %s",
					i%len(s.Templates), quote.Short(t.Text, 40))
			}
		}
		all = append(all, row)
	}
	return all, nil
}
