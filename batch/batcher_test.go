package batch

// Many callers, one batch: the same tokens as alone, no caller delayed, nothing left behind.

import (
	"context"
	"fmt"
	"iter"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

func newBatcher(t testing.TB, m *model.Model, o Options) *Batcher {
	b := New(m, o)
	t.Cleanup(func() { b.Close() })
	return b
}

// A prompt that is not cut takes one step, in which its neighbour has a token or two. The number of
// steps of a cut prompt depends on the speed of the machine: here about 80.
func TestALongPromptIsCutWhileItsNeighbourGoesOn(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 2})
	b := newBatcher(t, m, Options{MaxDelay: time.Nanosecond})
	o := decode.Options{Overflow: decode.OverflowSlide, EndOfText: []int{}}
	first := make(chan bool)
	begun, during := false, 0
	for range b.Generate(context.Background(), []int{1}, o) {
		if !begun {
			begun = true
			go func() {
				count(b.Generate(context.Background(), make([]int, 200), decode.Options{MaxTokens: 1}))
				close(first)
			}()
		}
		if b.Stats().Running == 2 {
			during++
		}
		select {
		case <-first:
			if during < 6 {
				t.Errorf("the neighbour had %d tokens while a prompt of 200 was read, want more",
					during)
			}
			return
		default:
		}
	}
}

func TestACallerWhoTakesNothingHoldsUpNobody(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{MaxStreams: 1, MaxDelay: 100 * time.Microsecond})
	o := decode.Options{Overflow: decode.OverflowSlide, EndOfText: []int{}, MaxTokens: 100,
		Params: sample.Params{Temperature: 1}}
	want := ids(collect(t, m.NewSession(), []int{1}, o))
	for _, tokens := range []iter.Seq2[decode.Token, error]{
		b.Generate(context.Background(), []int{1}, o),
		b.Continue(context.Background(), m.NewSession(), []int{1}, o),
		b.Samples(context.Background(), []int{1}, 1, o),
	} {
		var got []int
		for tok, err := range tokens {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, tok.ID); len(got)%30 != 1 {
				continue
			}
			n, err := count(b.Generate(context.Background(), []int{2}, decode.Options{MaxTokens: 20}))
			if n != 20 || err != nil {
				t.Errorf("%d tokens, %v beside a caller who takes nothing", n, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the slow caller has %v, alone %v", got, want)
		}
	}
}

func TestAnErrorIsItsRequestsAlone(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{})
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	calls := map[string]func() iter.Seq2[decode.Token, error]{
		"token 1: id 29, want 0 to 28": func() iter.Seq2[decode.Token, error] {
			return b.Generate(context.Background(), []int{1, 29}, decode.Options{})
		},
		"id 28: no bytes": func() iter.Seq2[decode.Token, error] {
			o := decode.Options{Vocabulary: forgetful{Letters: 29, ID: 28}, Overflow: decode.OverflowSlide,
				Params: sample.Params{Temperature: 9}}
			return b.Samples(context.Background(), []int{1}, 5, o)
		},
		"context canceled": func() iter.Seq2[decode.Token, error] {
			return b.Generate(cancelled, []int{1}, decode.Options{})
		},
		"top-k -1": func() iter.Seq2[decode.Token, error] {
			return b.Generate(context.Background(), []int{1}, decode.Options{Params: sample.Params{TopK: -1}})
		},
	}
	var group sync.WaitGroup
	for want, call := range calls {
		for range 20 {
			group.Go(func() {
				if _, err := count(call()); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %s", err, want)
				}
			})
			group.Go(func() {
				n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 15}))
				if n != 15 || err != nil {
					t.Errorf("beside errors of others: %d tokens, %v", n, err)
				}
			})
		}
	}
	group.Wait()
}

// fragile is a vocabulary that panics.
type fragile struct{ letters }

func (v fragile) NewDecoder([]int) tokenizer.Decoder { return v }
func (v fragile) Fork() tokenizer.Decoder            { return v }
func (v fragile) Push(id int) (string, error)        { panic(fmt.Sprint("no word for ", id)) }

func TestAPanicIsItsCallersAlone(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{})
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			defer func() {
				if p, _ := recover().(string); !strings.HasPrefix(p, "no word for") {
					t.Errorf("recovered %q", p)
				}
			}()
			count(b.Generate(context.Background(), []int{1}, decode.Options{Vocabulary: fragile{29}}))
		})
		group.Go(func() {
			n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 15}))
			if n != 15 || err != nil {
				t.Errorf("beside panics of others: %d tokens, %v", n, err)
			}
		})
	}
	group.Wait()
}

// A trap is a constraint that panics in one of its methods, at some token.
type trap struct {
	where string
	left  int // tokens before it
}

func (c *trap) at(where string) {
	if c.where == where && c.left <= 0 {
		panic("a trap in " + where)
	}
}

func (c *trap) Mask(open []uint64) error {
	c.at("Mask")
	for i := range open {
		open[i] = math.MaxUint64
	}
	return nil
}

func (c *trap) Accept(int) error        { c.at("Accept"); c.left--; return nil }
func (c *trap) Rewind(n int) error      { c.at("Rewind"); c.left += n; return nil }
func (c *trap) Fork() constrain.Matcher { c.at("Fork"); f := *c; f.left -= c.forks(); return &f }

// forks makes the second fork panic: the first is made in the caller's goroutine.
func (c *trap) forks() int {
	if c.where == "Fork" {
		return 1
	}
	return 0
}

func TestAPanicOfAConstraintIsItsCallersAlone(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{PrefixBytes: 1 << 20})
	var group sync.WaitGroup
	for range 5 {
		for where, left := range map[string]int{"Mask": 0, "Accept": 3, "Rewind": 3, "Fork": 1} {
			for _, left := range []int{left, left + 1} {
				o := decode.Options{Constraint: &trap{where, left}, Vocabulary: letters(29),
					Params: sample.Params{Temperature: 1}}
				if where == "Rewind" {
					o.Ban = []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}
				}
				if where == "Fork" && left > 1 {
					continue // it is only forked twice
				}
				group.Go(func() {
					defer func() {
						if p := recover(); p != "a trap in "+where {
							t.Errorf("recovered %v, want a trap in %s", p, where)
						}
					}()
					count(b.Samples(context.Background(), []int{1, 2, 3}, 3, o))
				})
			}
		}
		group.Go(func() {
			n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 15}))
			if n != 15 || err != nil {
				t.Errorf("beside panics of others: %d tokens, %v", n, err)
			}
		})
	}
	group.Wait()
	b.Close()
	if n := m.CacheBytes(); n != 0 {
		t.Errorf("%d bytes of cache stay", n)
	}
}

func TestCloseEndsAllAndLeavesNoGoroutine(t *testing.T) {
	m := tiny(t, fixture.Options{})
	before := runtime.NumGoroutine()
	b := New(m, Options{MaxStreams: 4})
	var group, begun sync.WaitGroup
	sessions := make([]*model.Session, 12)
	for i := range sessions {
		sessions[i] = m.NewSession()
		begun.Add(1)
		group.Go(func() {
			once := sync.OnceFunc(begun.Done)
			var y yielded
			if i >= 4 {
				once()
			}
			o := decode.Options{Overflow: decode.OverflowSlide, EndOfText: []int{}}
			for tok, err := range b.Continue(context.Background(), sessions[i], []int{i}, o) {
				if once(); err != nil {
					y.Err = err
				} else {
					y.IDs = append(y.IDs, tok.ID)
				}
			}
			if y.Err != ErrClosed {
				t.Errorf("error %v, want %v", y.Err, ErrClosed)
			}
			checkHeld(t, sessions[i], []int{i}, y)
		})
	}
	time.Sleep(time.Millisecond)
	b.Close()
	b.Close() // harmless
	group.Wait()
	n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{}))
	if n > 0 || err != ErrClosed {
		t.Errorf("after Close: %d tokens, %v", n, err)
	}
	checkGoroutines(t, before)
}

func TestAnIdleBatcherHasNoGoroutine(t *testing.T) {
	m := tiny(t, fixture.Options{})
	before := runtime.NumGoroutine()
	b := New(m, Options{})
	for range 3 {
		n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 4}))
		if n != 4 {
			t.Errorf("%d tokens, %v", n, err)
		}
		checkGoroutines(t, before)
	}
}

// checkGoroutines fails if more goroutines stay than there were.
func checkGoroutines(t *testing.T, before int) {
	t.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestAClosedModelEndsTheBatch(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := newBatcher(t, m, Options{})
	m.Close()
	n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{}))
	if err != model.ErrClosed {
		t.Errorf("%d tokens, %v; want %v", n, err, model.ErrClosed)
	}
}

func TestATokenInABatchAllocatesNothing(t *testing.T) {
	m := testmodel.Demo(t, model.Options{Threads: 2})
	b := newBatcher(t, m, Options{})
	o := decode.Options{EndOfText: []int{}, Params: sample.Params{Temperature: 0.8, TopK: 40}}
	pull, stop := iter.Pull2(b.Generate(context.Background(), []int{7454}, o))
	defer stop()
	for range 40 {
		pull()
	}
	// Pages of the cache grow now and then: AllocsPerRun rounds their part of a token down to 0.
	if n := testing.AllocsPerRun(100, func() { pull() }); n != 0 {
		t.Errorf("%v allocations a token, want 0", n)
	}
}
