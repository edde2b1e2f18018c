package batch

// The context of a Batcher's caller. Its methods may be any code: they may panic, wait, or call the
// Batcher. They are therefore called in the caller's goroutine, or by package context for it, and
// never by the Batcher's goroutine, on which all texts depend.

import (
	"context"
	"fmt"

	"picogpt/model"
)

// An ending is why a caller's context ended: an error, or a panic of one of its methods.
type ending struct {
	err      error
	panicked any
}

// A callerContext is a caller's context whose methods do not panic, once the first calls have not.
type callerContext struct {
	context.Context
	done  <-chan struct{}
	ended *ending // before the call; nil: it had not
}

// watch calls a context's methods for the first time, in the caller's goroutine.
func watch(ctx context.Context) (w callerContext, err error) {
	if ctx == nil {
		return w, model.ErrNoContext
	}
	w = callerContext{Context: ctx, done: ctx.Done()}
	if err := ctx.Err(); err != nil {
		w.ended = &ending{err: err}
	}
	return w, nil
}

func (w callerContext) Done() <-chan struct{} { return w.done }

// Err returns the error that package context asks for when Done is closed. It is never nil.
func (w callerContext) Err() error { return w.ending().err }

func (w callerContext) Value(key any) any {
	defer func() { _ = recover() }()
	return w.Context.Value(key)
}

// ending returns why a context has ended.
func (w callerContext) ending() (e *ending) {
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

// cancelled makes the Batcher's goroutine end a request, unless it is told to already.
func (b *Batcher) cancelled(r *request, e *ending) {
	if r.ended.CompareAndSwap(nil, e) {
		b.kick()
	}
}
