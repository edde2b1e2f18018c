package automaton

// What making the first state of a machine leaves behind.

import (
	"context"
	"testing"
)

// double returns the network of rules of which each calls the next one twice, and the last one
// reads a letter or nothing: a text may begin in 2^n ways.
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
	for _, n := range []int{60, 120} {
		work := NewMeter(context.Background(), nil, nil, 0)
		m, err := NewMachine("test", double(n, work), work)
		if err != nil {
			t.Fatal(err)
		}
		if used[n] = work.Used; m.First == Dead || !m.First.Accepts {
			t.Errorf("%d: the empty text is refused", n)
		}
		if cap(m.todo)+cap(m.calls) > maxSeen {
			t.Error("the lists of the places that were seen are held")
		}
	}
	if used[120] < 3*used[60] {
		t.Errorf("%d steps, then %d: want more than three times as many", used[60], used[120])
	}
	work := NewMeter(context.Background(), nil, nil, 0)
	if _, err := NewMachine("test", double(1000, work), work); err == nil {
		t.Error("a network that can begin in too many places has a machine")
	}
}

// TestAStepOfAnAmbiguousTextTakesTheSame: of s ::= "a" s s | "a" s | "a", however long the text is,
// and though states are forgotten.
func TestAStepOfAnAmbiguousTextTakesTheSame(t *testing.T) {
	work := NewMeter(context.Background(), nil, nil, 0)
	net := NewNetwork(100, work)
	s := net.Split()
	net.Rule("s", s)
	end := net.End()
	net.Lead(s, net.Read(SetOf('a'), net.Split(net.Call(s, net.Call(s, end)), net.Call(s, end), end)))
	m, err := NewMachine("test", net, work)
	if err != nil {
		t.Fatal(err)
	}
	state := m.First
	for n := 1; n <= 20000; n++ {
		m.Begin()
		if state = m.Step(state, m.Alpha.Of('a')); m.Err != nil || !state.Accepts || m.Work > 60 {
			t.Fatalf("character %d: %d steps, %v", n, m.Work, m.Err)
		}
	}
}
