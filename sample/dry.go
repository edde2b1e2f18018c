package sample

// DRY, "don't repeat yourself" (text-generation-webui's pull request 5677, llama.cpp's 9702): an id
// that would continue a repetition of the newest tokens is penalised by the repetition's length.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"picogpt/internal/option"
	"picogpt/kernels"
	"picogpt/model"
)

// DRY penalises an id that would repeat what followed the newest tokens when they occurred before:
// its logit loses Multiplier·Base^(length - AllowedLength), where length is that of the repetition,
// if it is at least AllowedLength. The zero value is off; 0.8, 1.75 and 2 are usual.
type DRY struct {
	Multiplier    float64 // 0 means off
	Base          float64 // below 1 means off
	AllowedLength int     // 0 or more
	LastN         int     // how many of the newest tokens count; 0 means all

	// Breakers are sequences of ids that end a repetition: it does not extend back beyond one. A
	// breaker of a single id is never penalised itself. Params.DRYStrings adds others.
	Breakers [][]int
}

var dryStep = step{
	name: "dry", kind: ofContext, do: (*Sampler).applyDRY, table: dryTable,
	on: func(p *Params) bool { return p.DRY.Multiplier != 0 && p.DRY.Base >= 1 },
}

func dryTable(p *Params) []option.Option {
	d, with := &p.DRY, []string{"dry-multiplier"}
	return []option.Option{{
		Name: "DRY multiplier", Value: &d.Multiplier, Default: "0",
		Want: "0 (off) or a finite number above it",
		Idle: func() string {
			if d.Base < 1 {
				return "--dry-base is below 1"
			}
			return ""
		},
		Flag: option.Flag{Name: "dry-multiplier", Holder: "X", Group: option.Repetition,
			Help: "DRY: what a token loses that would continue a repetition; 0.8 is usual, 0 is off"},
		Field: option.Field{Name: "dry_multiplier", Range: option.Range{To: option.MostNumber}},
		Setting: option.Setting{Group: "Repetition", Label: "DRY", Max: 10, Step: 0.05, Slider: 2,
			Help: "Taken from tokens that would repeat a longer sequence. 0 is off."},
	}, {
		Name: "DRY base", Value: &d.Base, Want: "0 or a finite number above it", Default: "1.75",
		With: with,
		Flag: option.Flag{Name: "dry-base", Holder: "B", Group: option.Repetition,
			Help: "and how that grows with each token more of the repetition"},
		Field: option.Field{Name: "dry_base", Range: option.Range{To: option.MostNumber}},
		Setting: option.Setting{Group: "Repetition", Label: "DRY, base",
			Min: 1, Max: 10, Step: 0.05, Slider: 4,
			Help: "How much more it takes for each token that the sequence is longer."},
	}, {
		Name: "DRY allowed length", Value: &d.AllowedLength, Want: "0 or more", Default: "2",
		With: with,
		Flag: option.Flag{Name: "dry-allowed-length", Holder: "N", Group: option.Repetition,
			Help: "shorter repetitions lose nothing"},
		Field: option.Field{Name: "dry_allowed_length", Range: option.Range{To: option.Most}},
		Setting: option.Setting{Group: "Repetition", Label: "DRY, allowed length",
			Max: 100, Step: 1, Slider: 10, Help: "Sequences up to so many tokens may repeat."},
	}, {
		Name: "DRY window", Value: &d.LastN, Want: "0 (the whole context) or more", Default: "-1",
		With: with,
		Settle: func() { // a user writes -1 for all of the context, and 0 for none of it
			if d.LastN == 0 {
				d.Multiplier = min(0, d.Multiplier)
			}
			d.LastN = max(0, d.LastN)
		},
		Flag: option.Flag{Name: "dry-last-n", Holder: "N", Group: option.Repetition,
			Others: "dry-penalty-last-n", Range: option.Range{From: -1},
			Want: "-1 (all), 0 (off) or more",
			Help: "how many of the last tokens DRY looks at; -1 is all, 0 is off"},
		Field: option.Field{Name: "dry_penalty_last_n",
			Range: option.Range{From: -1, To: option.Most}},
	}, {
		Name: "DRY breakers", Value: &p.DRYBreakers, With: with, Text: true,
		Check: func() string {
			if err := CheckDRYStrings(p.DRYBreakers); err != nil {
				return ": " + err.Error()
			}
			return ""
		},
		Flag: option.Flag{Name: "dry-breaker", Holder: "S", Group: option.Repetition, None: true,
			Others: "dry-sequence-breaker dry-sequence-breakers",
			Help: "no repetition goes beyond this string of at most 40 bytes; the flag may be " +
				`repeated; default: a newline, :, " and *; none is no string`},
		Field: option.Field{Name: "dry_sequence_breakers", Most: MostDRYStrings,
			Bytes: MostDRYBytes},
	}}
}

// dryBreakers returns the rest of each breaker, by its first id.
func dryBreakers(all [][]int) map[int][][]int {
	byHead := map[int][][]int{}
	for _, b := range all {
		if len(b) > 0 {
			byHead[b[0]] = append(byHead[b[0]], b[1:])
		}
	}
	return byHead
}

// applyDRY takes DRY's penalties from the scores.
func (s *Sampler) applyDRY() {
	d := &s.params.DRY
	w := newest(s.context, d.LastN)
	n := len(w)
	if n <= d.AllowedLength {
		return
	}
	limit := s.sinceBreaker(w)
	if limit < d.AllowedLength {
		return
	}
	s.divide()
	lengths := s.zeroCounts() // by id: 1 + the longest repetition that it would continue
	s.repeats = repeats(s.repeats, w)
	for i := 1; i < n; i++ {
		id, length := w[n-i], min(s.repeats[i], limit)
		if length >= d.AllowedLength && 0 <= id && id < len(lengths) {
			lengths[id] = max(lengths[id], int32(length+1))
		}
	}
	s.spend(w, func(id int, x float64, n int32) float64 {
		if s.breaks(id) {
			return x
		}
		return x - d.penalty(int(n)-1)
	})
}

// breaks reports whether an id is a breaker by itself.
func (s *Sampler) breaks(id int) bool {
	isEmpty := func(ids []int) bool { return len(ids) == 0 }
	return slices.ContainsFunc(s.breakers[id], isEmpty) ||
		slices.ContainsFunc(s.params.DRYStrings.following(id), isEmpty)
}

// penalty returns what an id loses that would continue a repetition of that length. It is bounded
// by the range of float32, as in llama.cpp.
func (d *DRY) penalty(length int) float64 {
	const logOfMost = 88.7228391
	exponent := float64(length - d.AllowedLength)
	if d.Base > 1.000001 {
		exponent = min(exponent, math.Floor(logOfMost/kernels.Log64(d.Base)))
	}
	return float64(d.Multiplier * power(d.Base, exponent))
}

// repeats returns z[i], for each i of [len(w)]: the length of the common suffix of w and of w
// without its last i tokens. It is the Z-algorithm, from the end, in z's memory.
func repeats(z []int, w []int) []int {
	n := len(w)
	z = resized(z, n)
	z[0] = n
	left, right := 0, 0
	for i := 1; i < n; i++ {
		same := 0
		if i < right {
			same = min(right-i, z[i-left])
		}
		for i+same < n && w[n-1-same] == w[n-1-i-same] {
			same++
		}
		if z[i] = same; i+same > right {
			left, right = i, i+same
		}
	}
	return z
}

// sinceBreaker returns how many tokens follow the newest breaker.
func (s *Sampler) sinceBreaker(w []int) int {
	n := len(w)
	for i := range n {
		longest, id := -1, w[n-1-i]
		for _, rests := range [][][]int{s.breakers[id], s.params.DRYStrings.following(id)} {
			for _, rest := range rests {
				if len(rest) <= i && len(rest) > longest &&
					slices.Equal(w[n-i:n-i+len(rest)], rest) {
					longest = len(rest)
				}
			}
		}
		if longest >= 0 {
			return i - longest
		}
	}
	return n
}

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
