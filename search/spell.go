package search

// All ways to spell some texts with the tokens of a vocabulary.

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
)

// A place is a beginning of some texts, as bytes: a node of their trie.
type place struct {
	next  map[byte]*place
	text  int // the index of the text that is these bytes; -1: none
	steps []step
	known bool // steps are made
}

// A step is a token that leads from one place to another.
type step struct {
	id int
	to *place
}

func newPlace() *place { return &place{next: map[byte]*place{}, text: -1} }

// add adds a text, and returns its place.
func (p *place) add(text []byte, index int) *place {
	for _, b := range text {
		if p.next[b] == nil {
			p.next[b] = newPlace()
		}
		p = p.next[b]
	}
	p.text = index
	return p
}

// A speller knows the tokens that can be a part of some texts.
type speller struct {
	tokens [][]byte // sorted, with
	ids    []int    // their ids
}

// newSpeller returns a speller of texts. tokens are the bytes of each id, of which those in ends
// are no part of a text.
func newSpeller(tokens [][]byte, ends []int, texts [][]byte) *speller {
	var pairs [1 << 16]bool // of bytes that follow each other: few tokens have only such
	var single [1 << 8]bool
	for _, t := range texts {
		for i, b := range t {
			if single[b] = true; i > 0 {
				pairs[int(t[i-1])<<8|int(b)] = true
			}
		}
	}
	s := &speller{}
	for id, t := range tokens {
		fits := len(t) > 0 && single[t[0]] && !slices.Contains(ends, id)
		for i := 1; fits && i < len(t); i++ {
			fits = pairs[int(t[i-1])<<8|int(t[i])]
		}
		if fits {
			s.ids = append(s.ids, id)
		}
	}
	slices.SortFunc(s.ids, func(a, b int) int {
		return cmp.Or(bytes.Compare(tokens[a], tokens[b]), a-b)
	})
	for _, id := range s.ids {
		s.tokens = append(s.tokens, tokens[id])
	}
	return s
}

// steps returns the tokens that may follow at a place and from which a text can still be spelled.
func (s *speller) steps(p *place) []step {
	if p.known {
		return p.steps
	}
	p.known = true
	s.walk(p, 0, len(s.ids), 0, func(id int, to *place) {
		if to.text >= 0 || len(s.steps(to)) > 0 {
			p.steps = append(p.steps, step{id, to})
		}
	})
	return p.steps
}

// walk calls found for each token of s.tokens[lo:hi], which have their first depth bytes in common,
// that the trie has from p on.
func (s *speller) walk(p *place, lo, hi, depth int, found func(id int, to *place)) {
	for lo < hi && len(s.tokens[lo]) == depth {
		found(s.ids[lo], p)
		lo++
	}
	if lo == hi {
		return
	}
	for b := range 256 {
		to := p.next[byte(b)]
		if to == nil {
			continue
		}
		from := lo + sort.Search(hi-lo, func(i int) bool { return s.tokens[lo+i][depth] >= byte(b) })
		end := lo + sort.Search(hi-lo, func(i int) bool { return s.tokens[lo+i][depth] > byte(b) })
		if from < end {
			s.walk(to, from, end, depth+1, found)
		}
	}
}

// reach returns the places that tokens lead to.
func (s *speller) reach(start *place) map[*place]bool {
	reached, ahead := map[*place]bool{start: true}, []*place{start}
	for len(ahead) > 0 {
		p := ahead[len(ahead)-1]
		ahead = ahead[:len(ahead)-1]
		for _, step := range s.steps(p) {
			if !reached[step.to] {
				reached[step.to] = true
				ahead = append(ahead, step.to)
			}
		}
	}
	return reached
}

func join(tokens [][]byte, ids []int) (all []byte) {
	for _, id := range ids {
		if id < len(tokens) {
			all = append(all, tokens[id]...)
		}
	}
	return all
}
