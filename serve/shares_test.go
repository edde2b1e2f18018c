package serve

// Who makes room for whom.

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
)

// A table is shares whose requests have names: a client's letter and a number.
type table struct {
	*testing.T
	shares shares
	all    map[string]*share
	stages map[string]stage
	ended  string // the names of those that were ended
}

func newTable(t *testing.T, most int64) *table {
	return &table{T: t, shares: newShares(most), all: map[string]*share{}, stages: map[string]stage{}}
}

// take lets a request take n.
func (b *table) take(name string, n int64) bool {
	if b.all[name] == nil {
		b.all[name] = b.shares.hold(name[:1], func() stage { return b.stages[name] },
			func() { b.ended += name + " " })
	}
	return b.all[name].take(n)
}

// check compares the sums with those of the shares.
func (b *table) check() {
	b.Helper()
	sum, of := int64(0), map[string]int64{}
	for name, held := range b.all {
		if !held.lost {
			sum += held.amount
			of[name[:1]] += held.amount
		}
	}
	if sum != b.shares.sum || sum > b.shares.most {
		b.Fatalf("the sum is %d, want %d and at most %d", b.shares.sum, sum, b.shares.most)
	}
	for client, want := range of {
		if got := b.shares.clients[client].sum; got != want {
			b.Fatalf("client %s has %d, want %d", client, got, want)
		}
	}
}

func TestTheClientWithMostMakesRoom(t *testing.T) {
	for _, x := range []struct {
		about  string
		before string           // requests of one each, in a table of 6
		large  map[string]int64 // other amounts
		begun  map[string]stage
		comes  string
		ended  string
		in     bool
	}{
		{"there is room", "a1 a2 b1", nil, nil, "c1", "", true},
		{"one has all", "a1 a2 a3 a4 a5 a6", nil, nil, "b1", "a6 ", true},
		{"one has most", "a1 a2 a3 b1 b2 c1", nil, nil, "d1", "a3 ", true},
		{"the newest of two with as many", "a1 a2 b1 b2 c1 c2", nil, nil, "d1", "c2 ", true},
		{"all have one", "a1 b1 c1 d1 e1 f1", nil, nil, "g1", "", false},
		{"its own", "a1 a2 a3 a4 a5 a6", nil, nil, "a7", "", false},
		{"one with less than another", "a1 a2 a3 a4 a5 b1", nil, nil, "b2", "a5 ", true},
		{"one that would have as much", "a1 a2 a3 b1 b2 c1", nil, nil, "b3", "", false},
		{"one that has begun is kept", "a1 a2 a3 a4 a5 a6", nil,
			map[string]stage{"a6": kept, "a5": kept}, "b1", "a4 ", true},
		{"what waits comes before what has begun in part", "a1 a2 a3 a4 a5 a6", nil,
			map[string]stage{"a6": partly, "a2": partly, "a5": kept}, "b1", "a4 ", true},
		{"in part", "a1 a2", map[string]int64{"a1": 3, "a2": 3},
			map[string]stage{"a1": partly, "a2": partly}, "b1", "a2 ", true},
		{"all have begun", "a1 a2 b1 b2", map[string]int64{"a1": 2, "a2": 2},
			map[string]stage{"a1": kept, "a2": kept}, "c1", "b2 ", true},
		{"nobody can", "a1 a2", map[string]int64{"a1": 3, "a2": 3},
			map[string]stage{"a1": kept, "a2": kept}, "b1", "", false},
		{"several make room", "a1 a2 a3 a4 a5 a6", map[string]int64{"b1": 2}, nil, "b1", "a6 a5 ", true},
		{"none is ended in vain", "a1 a2 a3 a4 a5 a6", map[string]int64{"b1": 4}, nil, "b1", "", false},
	} {
		b := newTable(t, 6)
		amount := func(name string) int64 { return max(1, x.large[name]) }
		for i := 0; i < len(x.before); i += 3 {
			name := x.before[i : i+2]
			b.stages[name] = x.begun[name]
			if !b.take(name, amount(name)) {
				t.Fatalf("%s: no room for %s", x.about, name)
			}
		}
		in := b.take(x.comes, amount(x.comes))
		if b.check(); in != x.in || b.ended != x.ended {
			t.Errorf("%s: in %v, ended %q; want %v, %q", x.about, in, b.ended, x.in, x.ended)
		}
	}
}

// TestAClientWithNothingFindsRoom as long as another has two that can be taken away, whatever came
// before.
func TestAClientWithNothingFindsRoom(t *testing.T) {
	cases.NotShort(t)
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 0))
		b := newTable(t, 1+r.Int64N(12))
		found := 0
		for i := range 200 {
			name := fmt.Sprint(string(rune('a'+r.IntN(4))), r.IntN(9))
			held := b.all[name]
			switch {
			case held != nil && r.IntN(3) == 0:
				held.release()
				delete(b.all, name)
			case held != nil && held.amount > 0 && r.IntN(2) == 0:
				held.give(1)
			default:
				b.stages[name] = stage(r.IntN(3))
				b.take(name, 1+r.Int64N(3))
			}
			b.check()
			must := b.shares.sum < b.shares.most
			for _, h := range b.shares.clients {
				must = must || h.sum >= 2 && h.newest(nil) != nil
			}
			fresh := fmt.Sprint("z", i)
			if got := b.take(fresh, 1); got != must {
				t.Fatalf("seed %d: a client with nothing finds room: %v, want %v", seed, got, must)
			}
			b.check()
			b.all[fresh].release()
			if delete(b.all, fresh); must {
				found++
			}
		}
		if found == 0 {
			t.Errorf("seed %d: nobody found room", seed)
		}
	}
}
