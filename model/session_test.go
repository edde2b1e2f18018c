package model_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
)

// Sessions under random operations, compared with a replay of their tokens; and their memory.

// A world is sessions of one model, the tokens that each must hold, and another model that replays
// them.
type world struct {
	t        *testing.T
	r        *rand.Rand
	m        *model.Model
	replays  *model.Model
	known    map[string][]float32 // logits by tokens
	sessions []*model.Session
	tokens   [][]int
	haveLast []bool // whether the session must have logits
}

// after returns the logits after some tokens.
func (w *world) after(ids []int) []float32 {
	key := fmt.Sprint(ids)
	if w.known[key] == nil {
		w.known[key] = slices.Clone(eval(w.t, w.replays.NewSession(), ids...))
	}
	return w.known[key]
}

func (w *world) check(what string) {
	w.t.Helper()
	for i, s := range w.sessions {
		if !slices.Equal(s.Tokens(), w.tokens[i]) || s.Len() != len(w.tokens[i]) {
			w.t.Fatalf("%s: session %d holds %v, want %v", what, i, s.Tokens(), w.tokens[i])
		}
		if (s.Logits() != nil) != w.haveLast[i] {
			w.t.Fatalf("%s: session %d has logits: %v, want %v", what, i, s.Logits() != nil,
				w.haveLast[i])
		}
		if w.haveLast[i] {
			sameBits(w.t, fmt.Sprintf("%s: session %d", what, i), s.Logits(), w.after(w.tokens[i]))
		}
	}
}

// Ways in which an Eval of the test may go.
const (
	goesWell = iota
	isCancelled
	cancelledInVisit
	panicsInVisit
	exitsInVisit
	entersAgain
	isWrong
	ways
)

// step evaluates a random batch in a random way.
func (w *world) step() {
	var batch []model.Input
	var members []int
	for _, i := range w.r.Perm(len(w.sessions))[:1+w.r.IntN(min(3, len(w.sessions)))] {
		room := w.m.Config().Positions - w.sessions[i].Len()
		if room == 0 {
			continue
		}
		in := model.Input{Session: w.sessions[i],
			Tokens:   tokens(w.r, 1+w.r.IntN(min(room, 40)), w.m.Config().VocabSize),
			NoLogits: w.r.IntN(3) == 0}
		batch, members = append(batch, in), append(members, i)
	}
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	way := w.r.IntN(ways)
	at := &batch[w.r.IntN(len(batch))]
	var visited atomic.Int32
	at.VisitFrom = w.r.IntN(len(at.Tokens))
	at.Visit = func(r model.Row) {
		visited.Add(1)
		switch way {
		case cancelledInVisit:
			cancel()
		case panicsInVisit:
			panic("a visitor's own")
		case exitsInVisit:
			runtime.Goexit()
		case entersAgain:
			w.enter()
		}
	}
	switch way {
	case isCancelled:
		cancel()
	case isWrong:
		at.Tokens = append(slices.Clone(at.Tokens), w.m.Config().VocabSize)
	}
	used := w.m.CacheBytes()
	err := w.eval(ctx, way, batch)
	if err != nil {
		if used != w.m.CacheBytes() {
			w.t.Fatalf("%d bytes of cache after %v, %d before", w.m.CacheBytes(), err, used)
		}
		return
	}
	if way == isCancelled || way == isWrong || way == panicsInVisit || way == exitsInVisit {
		w.t.Fatalf("no error in way %d", way)
	}
	for k, i := range members {
		w.tokens[i] = append(slices.Clone(w.tokens[i]), batch[k].Tokens...)
		w.haveLast[i] = !batch[k].NoLogits
	}
}

var errPanicked, errExited = errors.New("a panic of Eval"), errors.New("no return of Eval")

// eval calls Eval and turns a panic, or a goroutine that ended, into an error.
func (w *world) eval(ctx context.Context, way int, batch []model.Input) (err error) {
	done := make(chan error, 1)
	go func() {
		err := errExited
		defer func() {
			if p := recover(); p != nil {
				if err = errPanicked; way != panicsInVisit && way != exitsInVisit {
					err = fmt.Errorf("panic: %v", p)
					w.t.Error(err)
				}
			}
			done <- err
		}()
		err = w.m.Eval(ctx, batch...)
	}()
	err = <-done
	var in *model.InputError
	switch {
	case err == nil, errors.Is(err, errPanicked), errors.Is(err, errExited) && way == exitsInVisit:
	case errors.Is(err, context.Canceled) && (way == isCancelled || way == cancelledInVisit):
	case errors.Is(err, model.ErrCacheFull) && errors.As(err, &in):
	case errors.As(err, &in) && way == isWrong:
	default:
		w.t.Fatalf("way %d: error %v", way, err)
	}
	return err
}

// enter calls methods inside a Visit that would wait for the end of its Eval.
func (w *world) enter() {
	s := w.m.NewSession()
	if err := w.m.Eval(context.Background(),
		model.Input{Session: s, Tokens: []int{1}}); !errors.Is(err, model.ErrInVisit) {
		w.t.Errorf("Eval inside Visit: error %v", err)
	}
	if err := w.m.Close(); !errors.Is(err, model.ErrInVisit) {
		w.t.Errorf("Close inside Visit: error %v", err)
	}
	if err := w.m.Save(context.Background(), filepath.Join(w.t.TempDir(), "x")); !errors.Is(err,
		model.ErrInVisit) {
		w.t.Errorf("Save inside Visit: error %v", err)
	}
}

// change does something to a session that computes nothing.
func (w *world) change() {
	i := w.r.IntN(len(w.sessions))
	s, n := w.sessions[i], w.r.IntN(w.sessions[i].Len()+1)
	whole := n == s.Len()
	switch w.r.IntN(4) {
	case 0:
		w.sessions, w.tokens = append(w.sessions, s.Fork(n)),
			append(w.tokens, slices.Clone(w.tokens[i][:n]))
		w.haveLast = append(w.haveLast, whole && w.haveLast[i])
	case 1:
		s.Truncate(n)
		w.tokens[i], w.haveLast[i] = w.tokens[i][:n], whole && w.haveLast[i]
	case 2:
		s.Release()
		w.tokens[i], w.haveLast[i] = nil, false
	case 3:
		j := w.r.IntN(len(w.sessions))
		if s.Take(w.sessions[j]); i != j {
			w.tokens[i], w.haveLast[i] = w.tokens[j], w.haveLast[j]
			w.tokens[j], w.haveLast[j] = nil, false
		}
	}
}

func TestSessionsHoldWhatAReplayGives(t *testing.T) {
	cases.NotShort(t)
	o := fixture.Options{Seed: 7, Positions: 150, Layer: 2}
	config, file := fixture.Checkpoint(o)
	for seed := range uint64(cases.Sized(2, 100)) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := &world{
				t: t, r: rand.New(rand.NewPCG(seed, 1)), known: map[string][]float32{},
				m: testmodel.New(t, config, file,
					model.Options{Threads: 1 + int(seed)%3, CacheBytes: 12 * 2 * 4 * 2 * 15 * 64}),
				replays: testmodel.New(t, config, file, model.Options{Threads: 1, Kernel: "go"}),
			}
			w.sessions, w.tokens, w.haveLast = []*model.Session{w.m.NewSession()}, [][]int{nil},
				[]bool{false}
			for n := range 150 {
				if w.r.IntN(3) == 0 {
					w.change()
				} else {
					w.step()
				}
				w.check(fmt.Sprint("operation ", n))
				if len(w.sessions) > 6 {
					w.sessions[0].Release()
					w.sessions, w.tokens, w.haveLast = w.sessions[1:], w.tokens[1:], w.haveLast[1:]
				}
			}
			for _, s := range w.sessions {
				s.Release()
			}
			if n := w.m.CacheBytes(); n != 0 {
				t.Errorf("%d bytes of cache when all is released", n)
			}
		})
	}
}

func TestAForgottenSessionGivesItsMemoryBack(t *testing.T) {
	m := small(t, model.Options{})
	var sessions []*model.Session
	for range 5 {
		sessions = append(sessions, m.NewSession().Fork(0))
		eval(t, sessions[len(sessions)-1], 1, 2, 3)
	}
	if m.CacheBytes() == 0 {
		t.Error("five sessions take no memory")
	}
	runtime.KeepAlive(sessions)
	sessions = nil
	collectUntil(t, func() bool { return m.CacheBytes() == 0 },
		func() string { return fmt.Sprintf("%d bytes of cache, all forgotten", m.CacheBytes()) })
}

func TestAFullCacheLeavesSessionsAsTheyWere(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300})
	// three pages
	m := testmodel.New(t, config, file, model.Options{CacheBytes: 3 * 2 * 4 * 3 * 15 * 64})
	a, b := m.NewSession(), m.NewSession()
	eval(t, a, 1, 2, 3)
	before := slices.Clone(a.Logits())
	err := m.Eval(context.Background(), model.Input{Session: a, Tokens: []int{4}},
		model.Input{Session: b, Tokens: make([]int, 200)})
	var in *model.InputError
	if !errors.Is(err, model.ErrCacheFull) || !errors.As(err, &in) || in.Input != 1 {
		t.Fatalf("error %v, want ErrCacheFull of input 1", err)
	}
	if a.Len() != 3 || b.Len() != 0 {
		t.Errorf("%d and %d tokens, want 3 and 0", a.Len(), b.Len())
	}
	sameBits(t, "the other session", a.Logits(), before)
	a.Release()
	eval(t, b, make([]int, 190)...)
}

// TestSessionBytesAreEnoughAndNeeded: with so many bytes a session comes to n tokens in steps of
// any size, and with one byte less not in all.
func TestSessionBytesAreEnoughAndNeeded(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Positions: 300})
	for _, format := range model.CacheFormats() {
		with := func(limit int64) *model.Model {
			return testmodel.New(t, config, file, model.Options{Threads: 1, CacheFormat: format,
				CacheBytes: limit})
		}
		free := with(0)
		for _, n := range []int{1, 8, 9, 17, 33, 64, 65, 73, 97, 129, 200, 256, 300} {
			bytes := free.SessionBytes(n)
			grow := func(m *model.Model, first, step int) error { // a first step, then equal ones
				s := m.NewSession()
				defer s.Release()
				for next := first; s.Len() < n; next = step {
					in := model.Input{Session: s, Tokens: make([]int, min(next, n-s.Len())), NoLogits: true}
					if err := m.Eval(context.Background(), in); err != nil {
						return err
					}
				}
				return nil
			}
			enough := with(bytes)
			for _, step := range []int{1, 7, 33, 50, 300} {
				if err := grow(enough, step, step); err != nil {
					t.Errorf("%s: %d tokens in steps of %d, %d bytes: %v", format, n, step, bytes, err)
				}
			}
			less, needed := with(bytes-1), false
			for first := 1; first <= n && !needed; first++ {
				needed = errors.Is(grow(less, first, 1), model.ErrCacheFull) ||
					errors.Is(grow(less, first, n), model.ErrCacheFull)
			}
			if !needed {
				t.Errorf("%s: %d bytes are enough for %d tokens in all steps", format, bytes-1, n)
			}
		}
	}
}
