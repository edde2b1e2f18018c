package turns

// Shelves: things that are made at first use, and kept within a bound of bytes.

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// An Item is a thing of a Shelf: how it is made, and what ends it. Check says whether it can be made,
// before others are dropped for it; nil: it can.
type Item[T any] struct {
	Name  string
	Bytes int64
	Check func(context.Context) error
	Make  func(context.Context) (T, error)
	Drop  func(T)

	thing T
	made  bool
	lent  int   // how many have it
	used  int64 // the clock when it was given back last
}

// A Shelf lends things. One that is not there is made by the first who asks for it; where its bytes
// are more than there is room for, those that nobody has are dropped before, the least recently
// used first. If that is not enough, it waits for what others have, and whoever comes after it
// waits too, so that it comes to its turn. Clients have turns.
type Shelf[T any] struct {
	most  int64
	items []Item[T]
	turns *Turns

	mu      sync.Mutex // guards what follows, and the fields of items below Drop
	bytes   int64
	clock   int64
	waiting bool          // somebody waits for room
	closed  bool          // nothing is made any more
	freed   chan struct{} // closed when a thing is given back
}

// NewShelf returns a shelf of things that take at most so many bytes together. Each takes no more.
func NewShelf[T any](most int64, items []Item[T]) *Shelf[T] {
	return &Shelf[T]{most: most, items: items, turns: New(), freed: make(chan struct{})}
}

// Take returns a thing for a client, who calls back when it is no longer used.
func (s *Shelf[T]) Take(
	ctx context.Context, client string, i int,
) (thing T, back func(), err error) {
	if !s.lend(i, false) {
		turn, err := s.turns.Enter(ctx, client, 0)
		if err != nil {
			return thing, nil, err
		}
		defer s.turns.Leave(turn)
		defer s.wait(false)
		made := s.lend(i, true)
		if check := s.items[i].Check; check != nil && !made {
			err = check(ctx)
		}
		for ; err == nil && !made; made = s.lend(i, true) {
			err = s.make(ctx, i)
		}
		if err != nil {
			return thing, nil, err
		}
	}
	return s.items[i].thing, func() { s.back(i) }, nil
}

// wait says whether the one who has the turn waits for room.
func (s *Shelf[T]) wait(waits bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = waits
}

// lend lends a thing that is there, to one whose turn it is or where nobody waits.
func (s *Shelf[T]) lend(i int, turn bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.items[i].made || s.waiting && !turn {
		return false
	}
	s.items[i].lent++
	return true
}

func (s *Shelf[T]) back(i int) {
	s.mu.Lock()
	s.clock++
	s.items[i].lent--
	s.items[i].used = s.clock
	close(s.freed)
	s.freed = make(chan struct{})
	closed := s.closed
	s.mu.Unlock()
	if closed {
		s.drop(i)
	}
}

// make makes a thing if there is room, or does a part of what makes room. The caller has the turn.
func (s *Shelf[T]) make(ctx context.Context, i int) (err error) {
	s.mu.Lock()
	it, freed := &s.items[i], s.freed
	if s.closed {
		s.mu.Unlock()
		return context.Canceled
	}
	if s.bytes+it.Bytes > s.most {
		idle := s.idle()
		s.mu.Unlock()
		if idle >= 0 {
			s.drop(idle)
			runtime.GC() // now, before another is made in its place
			return nil
		}
		s.wait(true)
		select {
		case <-freed:
		case <-ctx.Done():
			err = ctx.Err()
		}
		return err
	}
	s.bytes += it.Bytes
	s.mu.Unlock()
	made, thing := false, it.thing
	defer func() { // also after a panic
		s.mu.Lock()
		defer s.mu.Unlock()
		if it.thing, it.made = thing, made; !made {
			s.bytes -= it.Bytes
		}
	}()
	thing, err = it.Make(ctx)
	made = err == nil
	return err
}

// idle returns the least recently used thing that nobody has, -1 if there is none.
func (s *Shelf[T]) idle() int {
	found := -1
	for i := range s.items {
		it := &s.items[i]
		if it.made && it.lent == 0 && (found < 0 || it.used < s.items[found].used) {
			found = i
		}
	}
	return found
}

// drop ends a thing that nobody has.
func (s *Shelf[T]) drop(i int) {
	var none T
	s.mu.Lock()
	it := &s.items[i]
	thing := it.thing
	if it.made && it.lent == 0 {
		it.thing, it.made = none, false
		s.mu.Unlock()
		it.Drop(thing)
		s.mu.Lock()
		s.bytes -= it.Bytes
	}
	s.mu.Unlock()
}

// Close waits for what is being made, lets nothing else be made, and drops what nobody has; what is
// lent is dropped when it is given back. The contexts of those who wait must have ended.
func (s *Shelf[T]) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if turn, err := s.turns.Enter(context.Background(), "", 0); err == nil {
		s.turns.Leave(turn)
	}
	for i := range s.items {
		s.drop(i)
	}
}

// Made returns the things that are there.
func (s *Shelf[T]) Made() (all []T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.items {
		if s.items[i].made {
			all = append(all, s.items[i].thing)
		}
	}
	return all
}

// Bytes returns how many bytes the things that are there take.
func (s *Shelf[T]) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Find returns the index of a name, -1 if there is none.
func (s *Shelf[T]) Find(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.IndexFunc(s.items, func(it Item[T]) bool { return it.Name == name })
}
