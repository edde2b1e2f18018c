package turns

// What a shelf lends, and what it drops.

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// events are what happens to the things of a shelf, in order.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) add(what, name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, what+" "+name)
}

func (e *events) take() (all []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all, e.all = e.all, nil
	return all
}

// shelfOf returns a shelf of things a, b, c, … of 10 bytes, with room for so many.
func shelfOf(n, room int) (*Shelf[string], *events) {
	seen, items := &events{}, []Item[string](nil)
	for i := range n {
		name := string(rune('a' + i))
		items = append(items, Item[string]{Name: name, Bytes: 10,
			Make: func(context.Context) (string, error) { seen.add("make", name); return name, nil },
			Drop: func(thing string) { seen.add("drop", thing) }})
	}
	return NewShelf(int64(10*room), items), seen
}

func TestTheLeastRecentlyUsedThingIsDropped(t *testing.T) {
	s, seen := shelfOf(4, 2)
	take := func(i int) func() {
		t.Helper()
		thing, back, err := s.Take(t.Context(), "x", i)
		if err != nil || thing != s.items[i].Name {
			t.Fatalf("thing %q, error %v", thing, err)
		}
		return back
	}
	a, b := take(0), take(1)
	a()
	b()
	take(0)() // b is now the least recently used
	c := take(2)
	take(3)() // c is lent
	c()
	want := []string{"make a", "make b", "drop b", "make c", "drop a", "make d"}
	if got := seen.take(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if made := s.Made(); !slices.Equal(made, []string{"c", "d"}) || s.Bytes() != 20 {
		t.Errorf("%v, %d bytes", made, s.Bytes())
	}
	if s.Find("c") != 2 || s.Find("z") != -1 {
		t.Error("Find")
	}
}

// A thing for which there is no room is waited for, in turns: whoever asks later for what is there
// waits behind it, so that it comes.
func TestWhoeverWaitsForRoomComesToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := shelfOf(2, 1)
		var order events
		_, back, err := s.Take(t.Context(), "first", 0)
		if err != nil {
			t.Fatal(err)
		}
		ask := func(client string, i int) {
			go func() {
				thing, back, err := s.Take(context.Background(), client, i)
				if err != nil {
					t.Error(err)
					return
				}
				order.add(client, thing)
				back()
			}()
			synctest.Wait()
		}
		ask("second", 1)
		ask("third", 0) // which is there, and lent
		ask("third", 0)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			if _, _, err := s.Take(ctx, "gone", 0); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if got := order.take(); got != nil {
			t.Fatalf("%v before there was room", got)
		}
		back()
		synctest.Wait()
		if got, want := order.take(), []string{"second b", "third a", "third a"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

// One who leaves while it waits for room leaves the others what is there.
func TestWhoeverLeavesWaitsNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := shelfOf(2, 1)
		_, back, _ := s.Take(t.Context(), "x", 0)
		defer back()
		ctx, cancel := context.WithCancel(t.Context())
		go s.Take(ctx, "y", 1)
		synctest.Wait()
		cancel()
		synctest.Wait()
		_, again, err := s.Take(t.Context(), "z", 0)
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}

func TestAThingThatCannotBeMadeTakesNoRoom(t *testing.T) {
	s, seen := shelfOf(2, 1)
	good := s.items[1].Make
	for _, bad := range []func(context.Context) (string, error){
		func(context.Context) (string, error) { return "", errors.New("no") },
		func(context.Context) (string, error) { panic("no") },
	} {
		s.items[1].Make = bad
		func() {
			defer func() { _ = recover() }()
			if _, _, err := s.Take(t.Context(), "x", 1); err == nil || err.Error() != "no" {
				t.Errorf("error %v", err)
			}
		}()
		if s.Bytes() != 0 || len(s.Made()) != 0 {
			t.Errorf("%d bytes of %v", s.Bytes(), s.Made())
		}
	}
	s.items[1].Make = good
	if _, back, err := s.Take(t.Context(), "x", 1); err != nil || fmt.Sprint(seen.take()) != "[make b]" {
		t.Error(err)
	} else {
		back()
	}
}

// A thing that cannot be made, as its Check knows, costs nobody what is there, and waits for nothing.
func TestAThingIsCheckedBeforeOthersMakeRoom(t *testing.T) {
	s, seen := shelfOf(3, 1)
	for i, wrong := range []error{nil, errors.New("no"), nil} {
		s.items[i].Check = func(context.Context) error { seen.add("check", s.items[i].Name); return wrong }
	}
	_, back, _ := s.Take(t.Context(), "x", 0)
	for range 2 { // it is lent, then nobody has it
		if _, _, err := s.Take(t.Context(), "y", 1); err == nil || err.Error() != "no" {
			t.Errorf("error %v", err)
		}
		if back != nil {
			back()
			back = nil
		}
	}
	for _, i := range []int{0, 2} {
		_, back, _ := s.Take(t.Context(), "x", i)
		back()
	}
	want := []string{"check a", "make a", "check b", "check b", "check c", "drop a", "make c"}
	if got := seen.take(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Many clients take things for which there is no room together: never are there more than fit, and
// never is one dropped that somebody has.
func TestAShelfHoldsItsBound(t *testing.T) {
	const things, room = 7, 3
	var there atomic.Int64
	var lent [things]atomic.Int64
	var items []Item[int]
	for i := range things {
		items = append(items, Item[int]{Bytes: 10, Make: func(context.Context) (int, error) {
			if n := there.Add(10); n > 10*room {
				t.Errorf("%d bytes are there", n)
			}
			return i, nil
		}, Drop: func(i int) {
			if there.Add(-10); lent[i].Load() != 0 {
				t.Errorf("%d is dropped while it is lent", i)
			}
		}})
	}
	s := NewShelf(10*room+9, items)
	var running sync.WaitGroup
	for c := range 16 {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 1))
			for range 300 {
				i := rng.IntN(things)
				thing, back, err := s.Take(t.Context(), fmt.Sprint(c%5), i)
				if err != nil || thing != i {
					t.Errorf("thing %d for %d, error %v", thing, i, err)
					return
				}
				lent[i].Add(1)
				lent[i].Add(-1)
				back()
			}
		})
	}
	running.Wait()
}

// Close waits for a thing that is being made; nothing else is made after it, and what there is ends
// once nobody has it.
func TestAClosedShelfMakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, seen := shelfOf(3, 3)
		_, lent, _ := s.Take(t.Context(), "x", 2)
		_, back, _ := s.Take(t.Context(), "x", 1)
		back()
		begun, end := make(chan struct{}), make(chan struct{})
		s.items[0].Make = func(context.Context) (string, error) {
			close(begun)
			<-end
			return "a", nil
		}
		go func() {
			_, back, _ := s.Take(context.Background(), "x", 0)
			back()
		}()
		<-begun
		closed := false
		go func() {
			s.Close()
			closed = true
		}()
		if synctest.Wait(); closed {
			t.Error("Close did not wait")
		}
		close(end)
		if synctest.Wait(); !closed {
			t.Error("Close waits for ever")
		}
		if _, _, err := s.Take(t.Context(), "x", 1); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		lent()
		got := seen.take()
		slices.Sort(got)
		if want := []string{"drop a", "drop b", "drop c", "make b", "make c"}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
