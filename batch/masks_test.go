package batch

// Slow masks delay only their own text.

import (
	"context"
	"errors"
	"iter"
	"math"
	"runtime"
	"slices"
	"testing"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/sample"
)

// A slow is a constraint whose masks take until the test releases them.
type slow struct {
	let   <-chan struct{}
	error error
	panic any
	quick bool // one that is found at once
}

func (c *slow) Mask(open []uint64) error {
	<-c.let
	if c.panic != nil {
		panic(c.panic)
	}
	for i := range open {
		open[i] = math.MaxUint64
	}
	open[0] &^= 0xf
	return c.error
}

func (c *slow) MaskWithin(open []uint64, _ int) (bool, error) {
	if !c.quick {
		clear(open)
		return false, nil
	}
	return true, c.Mask(open)
}

func (c *slow) Busy() bool              { return false }
func (c *slow) Accept(int) error        { c.quick = !c.quick; return nil }
func (c *slow) Rewind(int) error        { return nil }
func (c *slow) Fork() constrain.Matcher { f := *c; return &f }

func gather(tokens iter.Seq2[decode.Token, error]) (all []decode.Token, err error) {
	for t, err := range tokens {
		if err != nil {
			return all, err
		}
		all = append(all, t)
	}
	return all, nil
}

// TestALongMaskHoldsUpNobodyElse: while the masks of one text are being found, all tokens of
// another come; then come those of the first, as Generate gives them.
func TestALongMaskHoldsUpNobodyElse(t *testing.T) {
	m := tiny(t, fixture.Options{})
	at := func() chan struct{} { c := make(chan struct{}); close(c); return c }()
	ctx, o := context.Background(), decode.Options{MaxTokens: 9, Params: sample.Params{Temperature: 1,
		Seed: 3}}
	for _, x := range []struct {
		slow slow
		n    int // samples
	}{
		{slow{}, 1}, {slow{}, 3}, {slow{error: errors.New("too much")}, 1}, {slow{panic: "a trap"}, 1},
	} {
		free, end := make(chan struct{}), make(chan []int)
		b := newBatcher(t, m, Options{})
		form := x.slow
		form.let = free
		run := func(let <-chan struct{}, text func(o decode.Options) ([]decode.Token, error)) (ids []int, err error) {
			o, form := o, form
			form.let = let
			o.Constraint = &form
			tokens, err := text(o)
			for _, tok := range tokens {
				ids = append(ids, tok.ID)
			}
			slices.Sort(ids) // samples come in any order
			return ids, err
		}
		go func() {
			defer func() {
				if p := recover(); p != form.panic {
					t.Errorf("recovered %v, want %v", p, form.panic)
				}
				close(end)
			}()
			ids, err := run(free, func(o decode.Options) ([]decode.Token, error) {
				return gather(b.Samples(ctx, []int{1, 2, 3}, x.n, o))
			})
			if !errors.Is(err, form.error) {
				t.Errorf("error %v, want %v", err, form.error)
			}
			end <- ids
		}()
		for range 3 {
			if n, err := count(b.Generate(ctx, []int{4, 5}, o)); n != o.MaxTokens || err != nil {
				t.Errorf("beside a long mask: %d tokens, %v", n, err)
			}
		}
		select {
		case <-end:
			t.Error("the text with the long mask ended before its mask was found")
		default:
		}
		close(free)
		got := <-end
		if form.error != nil || form.panic != nil {
			continue
		}
		want, err := run(at, func(o decode.Options) ([]decode.Token, error) {
			return gather(decode.Samples(ctx, m.NewSession(), []int{1, 2, 3}, x.n, o))
		})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d samples: %v, want %v (%v)", x.n, got, want, err)
		}
	}
}

// TestCloseWaitsForAMask: no goroutine is left when a mask is being found.
func TestCloseWaitsForAMask(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := New(m, Options{})
	free, end := make(chan struct{}), make(chan error)
	for range 3 {
		go func() {
			_, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 5,
				Constraint: &slow{let: free}}))
			end <- err
		}()
	}
	if _, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 5})); err != nil {
		t.Error(err)
	}
	go close(free)
	b.Close()
	for range 3 {
		if err := <-end; err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	}
}

// TestTextsWithLongMasksGiveTheirSlots to clients that have fewer, and continue after them.
func TestTextsWithLongMasksGiveTheirSlots(t *testing.T) {
	m, ctx := tiny(t, fixture.Options{}), context.Background()
	b := newBatcher(t, m, Options{MaxStreams: 2})
	free, ends := make(chan struct{}), make(chan []int)
	o := decode.Options{MaxTokens: 9, Params: sample.Params{Temperature: 1, Seed: 3}}
	text := func(let <-chan struct{}, prompt []int, run func([]int, decode.Options) iter.Seq2[decode.Token, error],
	) (ids []int) {
		o := o
		o.Constraint = &slow{let: let}
		tokens, err := gather(run(prompt, o))
		if err != nil {
			t.Error(err)
		}
		for _, tok := range tokens {
			ids = append(ids, tok.ID)
		}
		return ids
	}
	const held = 5 // two have slots, and the others wait
	for i := range held {
		go func() {
			ids := text(free, []int{1, 2, i}, func(p []int, o decode.Options) iter.Seq2[decode.Token, error] {
				return b.Run(ctx, Request{Prompt: p, Options: o, Client: "a"})
			})
			ends <- append([]int{i}, ids...)
		}()
	}
	for range 4 {
		for b.Stats().Running < 2 {
			runtime.Gosched()
		}
		if n, err := count(b.Run(ctx, Request{Prompt: []int{4, 5}, Options: o, Client: "b"})); err != nil ||
			n != o.MaxTokens {
			t.Errorf("of a client without a slot: %d tokens, %v", n, err)
		}
	}
	close(free)
	for range held {
		got := <-ends
		want := text(free, []int{1, 2, got[0]}, func(p []int, o decode.Options) iter.Seq2[decode.Token, error] {
			return decode.Generate(ctx, m.NewSession(), p, o)
		})
		if !slices.Equal(got[1:], want) {
			t.Errorf("text %d: %v, want %v", got[0], got[1:], want)
		}
	}
}

// A dictated is a constraint that leaves one id, and says so.
type dictated struct{ id int }

func (c *dictated) Mask(open []uint64) error {
	clear(open)
	open[0] = 1 << c.id
	return nil
}

func (c *dictated) Accept(int) error        { return nil }
func (c *dictated) Rewind(int) error        { return nil }
func (c *dictated) Fork() constrain.Matcher { return c }
func (c *dictated) Forced(int) []byte       { return []byte("abcd") }
func (c *dictated) Prefixes([]byte) iter.Seq2[int, int] {
	return func(yield func(id, n int) bool) { yield(c.id, 1) }
}

// TestWhatIsAheadOfATextIsOfItsContext: where guesses were evaluated, its session holds more tokens
// than its context has.
func TestWhatIsAheadOfATextIsOfItsContext(t *testing.T) {
	m := tiny(t, fixture.Options{})
	st, err := decode.NewStream(m.NewSession(), []int{3, 1}, decode.Options{Constraint: &dictated{7}})
	if err != nil {
		t.Fatal(err)
	}
	text, beyond := &task{Stream: st}, 0
	for st.GuessForced(); !st.Done(); {
		rows := st.Pending().Rows
		if rows == 1 {
			rows += st.DraftForced(1)
		}
		if in, ok := st.Input(rows); ok {
			if err := m.Eval(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
		if held := st.Pending().Held; held > len(st.Context()) {
			beyond++
		}
		if got, want := text.ahead(), st.Context(); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		if _, _, err := st.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if beyond == 0 {
		t.Error("no session holds more than its context")
	}
}
