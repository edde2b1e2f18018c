package sample

// DRY's breakers as strings: the ids in which one begins, and the ids that follow it.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"picogpt/model"
)

// Limits of breakers, far above what is usual: names, punctuation and line ends.
const (
	MostDRYStrings   = 64
	MostDRYBytes     = 40 // of each
	mostDRYFollowing = 20 // ids of the rest of one
)

// DRYStrings are strings that end a repetition. Several samplers may use it at the same time.
type DRYStrings struct {
	vocabulary Speller
	texts      []string
	rests      map[string][]dryRest // by the prefix of a string with which a token ends

	mu    sync.Mutex
	known map[int][][]int // results of following
}

// A dryRest is the rest of a string after one of its prefixes.
type dryRest struct {
	text string // the rest
	ids  []int  // at most mostDRYFollowing
}

// A Speller turns an id into text, and text into ids. *tokenizer.Tokenizer is one.
type Speller interface {
	Size() int
	Text(id int) (string, error)
	Encode(text string) ([]int, error)
}

// UsualBreakers returns the strings that are breakers in llama.cpp by default.
func UsualBreakers() []string { return []string{"\n", ":", `"`, "*"} }

// CheckDRYStrings returns an error for strings that NewDRYStrings does not accept: more than
// MostDRYStrings, or any of more than MostDRYBytes.
func CheckDRYStrings(texts []string) error {
	if n := len(texts); n > MostDRYStrings {
		return fmt.Errorf("%d strings: want at most %d", n, MostDRYStrings)
	}
	for i, text := range texts {
		if len(text) > MostDRYBytes {
			return fmt.Errorf("string %d: %d bytes, want at most %d", i+1, len(text), MostDRYBytes)
		}
	}
	return nil
}

// NewDRYStrings returns the breakers of some strings. A string begins in each id whose text
// contains it, and in each id whose text ends with a prefix of it, followed by the ids of the rest,
// or by the first 20 of them. It encodes those rests.
func NewDRYStrings(ctx context.Context, v Speller, texts []string) (*DRYStrings, error) {
	if ctx == nil {
		return nil, model.ErrNoContext
	}
	if err := CheckDRYStrings(texts); err != nil {
		return nil, err
	}
	d := &DRYStrings{v, slices.Clone(texts), map[string][]dryRest{}, sync.Mutex{}, map[int][][]int{}}
	for _, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for n := 1; n < len(text); n++ {
			// No text has a rest that the vocabulary cannot write.
			if rest, err := v.Encode(text[n:]); err == nil && firstMissing(v, text[n:]) < 0 {
				rest = rest[:min(mostDRYFollowing, len(rest))]
				d.rests[text[:n]] = append(d.rests[text[:n]], dryRest{text, rest})
			}
		}
	}
	return d, nil
}

// following returns the lists of ids each of which completes a breaker after id. Nil has none.
func (d *DRYStrings) following(id int) [][]int {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all, ok := d.known[id]
	if !ok {
		all = d.find(id)
		d.known[id] = all
	}
	return all
}

func (d *DRYStrings) find(id int) (all [][]int) {
	word, err := d.vocabulary.Text(id)
	if err != nil { // id is a gap of the vocabulary
		return nil
	}
	for _, text := range d.texts {
		if strings.Contains(word, text) {
			all = append(all, []int{})
		}
	}
	for n := 1; n <= min(len(word), MostDRYBytes); n++ {
		for _, rest := range d.rests[word[len(word)-n:]] {
			if !strings.Contains(word, rest.text) {
				all = append(all, rest.ids)
			}
		}
	}
	return all
}

// DRYBreakers returns the sequences of ids in which a string begins, as NewDRYStrings defines them,
// for DRY.Breakers. They are many: Params.DRYStrings takes less time and memory.
func DRYBreakers(v Speller, text string) ([][]int, error) {
	d, err := NewDRYStrings(context.Background(), v, []string{text})
	if err != nil {
		return nil, err
	}
	var all [][]int
	for id := range v.Size() {
		for _, rest := range d.find(id) {
			all = append(all, append([]int{id}, rest...))
		}
	}
	return all, nil
}
