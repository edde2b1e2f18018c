package automaton

// Free text: any characters until one of some strings is complete.

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"picogpt/internal/quote"
)

// Until makes a split the beginning of any text. Where one of some strings is complete for the first
// time, the text continues at its goal: of those that end there, that of the longest one, and nowhere
// if one of them has the goal -1. Before that it may also continue at stop.
func (n *Network) Until(root int32, words []string, goals []int32, stop int32) error {
	type state struct {
		next  map[rune]int32
		after int32 // the state of the longest other end of the text that a word begins with
		word  int   // that is complete, or -1
		on    int   // one of those that go on here
		node  int32
	}
	states, order := []state{{next: map[rune]int32{}, word: -1, on: -1, node: root}}, []int32{0}
	ends := make([]int32, len(words))
	for i, w := range words {
		if w == "" || !utf8.ValidString(w) {
			return fmt.Errorf("%s: want text of valid UTF-8 to look for", quote.Short(w, 40))
		}
		at := int32(0)
		for _, r := range w {
			to, ok := states[at].next[r]
			if !ok {
				if to = int32(len(states)); n.Full() {
					return n.Check("free text")
				}
				states = append(states, state{next: map[rune]int32{}, word: -1, on: -1, node: n.Split()})
				states[at].next[r] = to
			}
			if goals[i] >= 0 || states[at].on < 0 {
				states[at].on = i
			}
			at = to
		}
		if states[at].word < 0 || goals[i] < 0 {
			states[at].word = i
		}
		ends[i] = at
	}
	for k := 0; k < len(order); k++ { // the shorter ones first: what follows them is complete
		s := &states[order[k]]
		if s.on >= 0 && s.word >= 0 && goals[s.on] >= 0 {
			return never(words[s.on], words[s.word])
		}
		for _, r := range slices.Sorted(maps.Keys(s.next)) {
			to := s.next[r]
			if order[k] != 0 {
				states[to].after = states[s.after].next[r]
			}
			if w := states[states[to].after].word; states[to].word < 0 || w >= 0 && goals[w] < 0 {
				states[to].word = w
			}
			order = append(order, to)
		}
		if order[k] == 0 {
			continue
		}
		for r, to := range states[s.after].next {
			if _, own := s.next[r]; !own {
				s.next[r] = to
			}
		}
		if err := n.meter.Charge(16 + 16*len(s.next)); err != nil {
			return err
		}
	}
	for i, at := range ends {
		if w := states[at].word; w != i && goals[i] >= 0 {
			return never(words[i], words[w])
		}
	}
	for i := range states {
		s := &states[i]
		if s.word >= 0 || n.Full() {
			continue
		}
		runes := slices.Sorted(maps.Keys(s.next))
		n.Lead(s.node, n.Read(SetOf(runes...).Not(), root))
		for _, r := range runes {
			to := states[s.next[r]]
			if to.word < 0 {
				n.Lead(s.node, n.Read(SetOf(r), to.node))
			} else if goal := goals[to.word]; goal >= 0 {
				n.Lead(s.node, n.Read(SetOf(r), goal))
			}
		}
		n.Lead(s.node, stop)
	}
	return n.Check("free text")
}

func never(word, before string) error {
	return fmt.Errorf("%s is never complete, for %s is complete before or there", quote.Short(word, 40),
		quote.Short(before, 40))
}
