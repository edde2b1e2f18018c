package batch

// The context of a Batcher's caller. Its methods may be anybody's code: they may panic, wait, or call
// the Batcher. So they are called in the caller's goroutine, or by package context for it, and
// never by the goroutine that writes everybody's texts.

import (
	"context"
	"fmt"

	"picogpt/model"
)

// An ending is why a request ends before its texts do, where that is its caller's doing.
type ending struct {
	err      error
	panicked any // by the context
}

// A watched is a caller's context that does not panic.
type watched struct {
	context.Context
	done  <-chan struct{}
	found *ending // when it was first looked at
}

// watch looks at a context for the first time, in the caller's goroutine.
func watch(ctx context.Context) (w watched, err error) {
	if ctx == nil {
		return w, model.ErrNoContext
	}
	w = watched{Context: ctx, done: ctx.Done()}
	if err := ctx.Err(); err != nil {
		w.found = &ending{err: err}
	}
	return w, nil
}

func (w watched) Done() <-chan struct{} { return w.done }

// Err is what package context asks for when Done is closed: it is never nil.
func (w watched) Err() error { return w.ending().err }

func (w watched) Value(key any) any {
	defer func() { _ = recover() }()
	return w.Context.Value(key)
}

// ending returns why a context has ended.
func (w watched) ending() (e *ending) {
	defer func() {
		if p := recover(); p != nil {
			e = &ending{fmt.Errorf("panic: %v", p), p}
		}
	}()
	if err := w.Context.Err(); err != nil {
		return &ending{err: err}
	}
	return &ending{err: context.Canceled}
}

// cancelled makes the Batcher's goroutine end a request, unless something already does.
func (b *Batcher) cancelled(r *request, e *ending) {
	if r.ended.CompareAndSwap(nil, e) {
		b.kick()
	}
}
