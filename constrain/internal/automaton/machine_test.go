package automaton

// What making the first state of a machine leaves behind.

import (
	"context"
	"testing"
)

// double returns the network of rules of which each calls the next one twice, and the last one
// reads a letter or nothing: a text may begin at 2^n places.
func double(n int, m *Meter) *Network {
	net := NewNetwork(MaxNodes, m)
	rules := make([]int32, n+1)
	for i := range rules {
		rules[i] = net.Split()
		net.Rule("", rules[i])
	}
	for i := range n {
		net.Lead(rules[i], net.Call(rules[i+1], net.Call(rules[i+1], net.End())))
	}
	net.Lead(rules[n], net.Read(SetOf('a'), net.End()), net.End())
	return net
}

// TestTheFirstPlacesAreCounted: they are found while the machine is made, in counted steps, and the
// memory of the search is not kept.
func TestTheFirstPlacesAreCounted(t *testing.T) {
	used := map[int]int{}
	for _, n := range []int{11, 12} {
		work := NewMeter(context.Background(), nil, nil, 0)
		m, err := NewMachine("test", double(n, work), work)
		if err != nil {
			t.Fatal(err)
		}
		if used[n] = work.Used; m.First == Dead || !m.First.Accepts {
			t.Errorf("%d: the empty text is refused", n)
		}
		if n == 12 && m.seen != nil {
			t.Error("the map of the places that were seen is held")
		}
	}
	if used[12] < 3*used[11]/2 {
		t.Errorf("%d steps, then %d: want twice as many", used[11], used[12])
	}
	work := NewMeter(context.Background(), nil, nil, 0)
	if _, err := NewMachine("test", double(1000, work), work); err == nil {
		t.Error("a network that can begin in too many places has a machine")
	}
}
