package serve

// Forms, compiled: one at a time, and the newest are kept.

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"picogpt/constrain"
)

// keptForms bounds the memory of compiled forms: each may come to hold some 10 MB of masks.
const keptForms = 16

// forms compiles, and keeps what it has compiled. A form of a client can take seconds to compile:
// others wait for their turn, and texts without a form do not.
type forms struct {
	vocabulary func() (*constrain.Vocabulary, error)
	turn       chan struct{} // holds one

	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element // of aForm
	order *list.List                          // the newest first
}

type aForm struct {
	key        [sha256.Size]byte
	constraint *constrain.Constraint
}

func newForms(v vocabulary, ends []int) *forms {
	return &forms{
		vocabulary: sync.OnceValues(func() (*constrain.Vocabulary, error) {
			return constrain.VocabularyOf(v, ends)
		}),
		turn: make(chan struct{}, 1), order: list.New(),
		known: map[[sha256.Size]byte]*list.Element{},
	}
}

// matcher returns what texts of a form follow; nil without a form.
func (c *forms) matcher(ctx context.Context, f *form) (constrain.Matcher, error) {
	if len(f.fields) == 0 {
		return nil, nil
	}
	constraint, err := c.compiled(ctx, f)
	if err == nil {
		var text *constrain.Text
		if text, err = constraint.Start(); err == nil {
			return text, nil
		}
	}
	if errors.Is(err, ctx.Err()) && ctx.Err() != nil {
		return nil, err
	}
	return nil, fieldf(f.fields[0], "%v", err)
}

func (c *forms) compiled(ctx context.Context, f *form) (*constrain.Constraint, error) {
	key := f.key()
	if found := c.find(key); found != nil {
		return found, nil
	}
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.turn }()
	if found := c.find(key); found != nil { // by the one before
		return found, nil
	}
	v, err := c.vocabulary()
	if err != nil {
		return nil, err
	}
	made, err := f.compile(v)
	if err == nil {
		c.keep(key, made)
	}
	return made, err
}

func (c *forms) find(key [sha256.Size]byte) *constrain.Constraint {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(aForm).constraint
}

func (c *forms) keep(key [sha256.Size]byte, made *constrain.Constraint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[key] = c.order.PushFront(aForm{key, made})
	if c.order.Len() > keptForms {
		oldest := c.order.Remove(c.order.Back()).(aForm)
		delete(c.known, oldest.key)
	}
}

// key tells forms apart.
func (f *form) key() [sha256.Size]byte {
	b, _ := json.Marshal([]any{f.schema, f.regex, f.grammar, f.choice}) // strings have a JSON
	return sha256.Sum256(b)
}

func (f *form) compile(v *constrain.Vocabulary) (*constrain.Constraint, error) {
	switch {
	case f.schema != nil:
		return constrain.JSONSchema(v, []byte(*f.schema), constrain.SchemaOptions{})
	case f.regex != nil:
		return constrain.Regex(v, *f.regex)
	case f.grammar != nil:
		return constrain.Grammar(v, *f.grammar)
	}
	return constrain.Choice(v, f.choice...)
}
