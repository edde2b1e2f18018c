package batch

// Contexts that panic, wait, contradict themselves or are nil affect their own callers only.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"

	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/model"
)

// A hostile is a context of which one method misbehaves, from its call number after on.
type hostile struct {
	context.Context
	method string
	after  int32
	harm   func() error
	calls  atomic.Int32
}

func (h *hostile) does(method string) (error, bool) {
	if h.method == method && h.calls.Add(1) > h.after {
		return h.harm(), true
	}
	return nil, false
}

func (h *hostile) Err() error {
	if err, did := h.does("Err"); did {
		return err
	}
	return h.Context.Err()
}

func (h *hostile) Done() <-chan struct{} {
	h.does("Done")
	return h.Context.Done()
}

func (h *hostile) Value(key any) any {
	h.does("Value")
	return h.Context.Value(key)
}

// foreign is a context that package context has not made.
type foreign struct {
	context.Context
	done chan struct{}
}

func (f foreign) Done() <-chan struct{} { return f.done }
func (f foreign) Err() error            { return nil } // even when Done is closed
func (f foreign) Value(any) any         { return nil }

func callsOf(b *Batcher, ctx context.Context) map[string]iter.Seq2[decode.Token, error] {
	o := decode.Options{MaxTokens: 15}
	return map[string]iter.Seq2[decode.Token, error]{
		"Generate": b.Generate(ctx, []int{1}, o),
		"Samples":  b.Samples(ctx, []int{1}, 3, o),
		"Run":      b.Run(ctx, Request{Prompt: []int{1}, Options: o}),
		"Continue": func(yield func(decode.Token, error) bool) {
			s := b.model.NewSession()
			defer s.Release()
			b.Continue(ctx, s, []int{1}, o)(yield)
		},
	}
}

func TestANilContextIsAnErrorOfItsCaller(t *testing.T) {
	b := newBatcher(t, tiny(t, fixture.Options{}), Options{})
	for name, tokens := range callsOf(b, nil) { //nolint:staticcheck
		if n, err := count(tokens); n != 0 || err != model.ErrNoContext {
			t.Errorf("%s: %d tokens, error %v", name, n, err)
		}
	}
}

func TestAHostileContextIsItsCallersAlone(t *testing.T) {
	m := tiny(t, fixture.Options{})
	b := New(m, Options{MaxStreams: 3})
	var callers, bystanders sync.WaitGroup
	gone := make(chan struct{})
	harms := map[string]func() error{
		"panics":      func() error { panic("a hostile context") },
		"waits":       func() error { <-gone; return nil },
		"asks":        func() error { b.Stats(); return errors.New("asked") },
		"never stops": func() error { return nil },
	}
	closed := make(chan struct{})
	close(closed)
	for harm, do := range harms {
		for _, method := range []string{"Err", "Done", "Value"} {
			for after := range int32(6) {
				cancelled, cancel := context.WithCancel(context.Background())
				for _, within := range []context.Context{
					cancelled, foreign{done: make(chan struct{})}, foreign{done: closed},
				} {
					ctx := &hostile{Context: within, method: method, after: after, harm: do}
					for _, tokens := range callsOf(b, ctx) {
						callers.Go(func() {
							defer func() {
								if p := recover(); p != nil && p != "a hostile context" {
									t.Errorf("%s %s after %d: panic %v", method, harm, after, p)
								}
							}()
							count(tokens)
						})
					}
				}
				cancel()
			}
		}
		for range 10 {
			bystanders.Go(func() {
				n, err := count(b.Generate(context.Background(), []int{1}, decode.Options{MaxTokens: 15}))
				if n != 15 || err != nil {
					t.Errorf("beside contexts of others: %d tokens, %v", n, err)
				}
			})
		}
	}
	bystanders.Wait() // those that wait
	close(gone)
	callers.Wait()
	b.Close()
	if n := m.CacheBytes(); n != 0 {
		t.Errorf("%d bytes of cache stay", n)
	}
}

// The caller of a context whose Err panics gets the panic, wherever Err is called.
func TestAPanicOfAContextComesToItsCaller(t *testing.T) {
	b := newBatcher(t, tiny(t, fixture.Options{}), Options{})
	for after := range int32(10) {
		within, cancel := context.WithCancel(context.Background())
		ctx := &hostile{Context: within, method: "Err", after: after,
			harm: func() error { panic(fmt.Sprint("a trap after ", after)) }}
		func() {
			defer func() {
				if p := recover(); p != fmt.Sprint("a trap after ", after) {
					t.Errorf("panic %v after %d calls", p, after)
				}
			}()
			count(b.Generate(ctx, []int{1}, decode.Options{MaxTokens: 15}))
		}()
		cancel()
	}
}
