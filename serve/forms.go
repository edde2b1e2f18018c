package serve

// Compiled forms: they are compiled in turns, and cached.

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"

	"picogpt/constrain"
)

// Limits of the cache of compiled forms. A form grows with the texts that use it, so the sum is
// computed again for each new form.
const (
	keptForms     = 64
	keptFormBytes = 64 << 20
	mostKeptBytes = keptFormBytes / 4 // of one form; a larger one is compiled each time
)

// forms compiles forms and caches them, separately for each tenant: the time that a form takes
// tells nobody which forms other tenants used. It also caches the errors of refused forms.
type forms struct {
	vocabulary func() (*constrain.Vocabulary, error)
	turns      *turns

	mu    sync.Mutex
	known map[formKey]*list.Element // of *aForm
	order *list.List                // the newest first
}

type formKey [sha256.Size]byte

type aForm struct {
	key        formKey
	client     string // the client that sent it
	constraint *constrain.Constraint
	err        error
}

// bytes returns the memory that a form takes now.
func (f *aForm) bytes() int {
	if f.constraint == nil {
		return 1 << 10
	}
	return f.constraint.Bytes()
}

func newForms(v vocabulary, ends []int) *forms {
	return &forms{
		vocabulary: sync.OnceValues(func() (*constrain.Vocabulary, error) {
			return constrain.VocabularyOf(v, ends)
		}),
		turns: newTurns(), order: list.New(), known: map[formKey]*list.Element{},
	}
}

// matcher returns the constraint of a form; nil if there is no form.
func (c *forms) matcher(ctx context.Context, v *visit, f *form) (constrain.Matcher, error) {
	if len(f.fields) == 0 {
		return nil, nil
	}
	constraint, err := c.compiled(ctx, v, f)
	if err == nil {
		var text *constrain.Text
		if text, err = constraint.Start(); err == nil {
			v.formNotes(constraint.Notes())
			return text, nil
		}
	}
	if errors.Is(err, ctx.Err()) && ctx.Err() != nil {
		return nil, err
	}
	return nil, fieldf(f.fields[0], "%v", err)
}

func (c *forms) compiled(ctx context.Context, v *visit, f *form) (*constrain.Constraint, error) {
	key := f.key(v.tenant)
	if found := c.find(key); found != nil {
		return found.constraint, found.err
	}
	t, err := c.turns.enter(ctx, v.client.id, f.bytes())
	if err != nil {
		return nil, err
	}
	defer c.turns.leave(t)
	if found := c.find(key); found != nil { // compiled by the previous turn
		return found.constraint, found.err
	}
	vocabulary, err := c.vocabulary()
	if err != nil {
		return nil, err
	}
	made, err := f.compile(ctx, constrain.Compiler{Vocabulary: vocabulary,
		Pause: func(ctx context.Context) error { return c.turns.pause(ctx, t) },
		Aside: func(ctx context.Context, f func()) error { return c.turns.aside(ctx, t, f) }})
	if ctx.Err() == nil {
		c.add(&aForm{key, v.client.id, made, err})
	}
	return made, err
}

func (c *forms) find(key formKey) *aForm {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.known[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*aForm)
}

// add adds a form to the cache, and removes others until the cache is within its limits.
func (c *forms) add(made *aForm) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.known[made.key]; ok || made.bytes() > mostKeptBytes {
		return
	}
	c.known[made.key] = c.order.PushFront(made)
	for c.shrink() {
	}
}

// shrink removes one form if the cache is over its limits: one that has grown too large, or the
// least recently used one of the client that has the most. It reports whether it removed one.
func (c *forms) shrink() bool {
	held, total, most := map[string]int{}, 0, ""
	for e := c.order.Front(); e != nil; e = e.Next() {
		f := e.Value.(*aForm)
		n := f.bytes()
		if n > mostKeptBytes {
			c.drop(e)
			return true
		}
		total += n
		if held[f.client] += n + 1<<10; held[f.client] > held[most] {
			most = f.client
		}
	}
	if total <= keptFormBytes && c.order.Len() <= keptForms {
		return false
	}
	for e := c.order.Back(); e != nil; e = e.Prev() {
		if e.Value.(*aForm).client == most {
			c.drop(e)
			return true
		}
	}
	return false
}

func (c *forms) drop(e *list.Element) { delete(c.known, c.order.Remove(e).(*aForm).key) }

// key returns the key of a form in the cache. Tenants have different keys.
func (f *form) key(tenant string) formKey {
	b, _ := json.Marshal([]any{tenant, f.schema, f.open, f.regex, f.grammar, f.choice}) // strings have JSON
	return sha256.Sum256(b)
}

// bytes returns the length of a form's source.
func (f *form) bytes() (n int) {
	for _, text := range []*string{f.schema, f.regex, f.grammar} {
		if text != nil {
			n += len(*text)
		}
	}
	for _, text := range f.choice {
		n += len(text)
	}
	return n
}

func (f *form) compile(
	ctx context.Context, c constrain.Compiler,
) (*constrain.Constraint, error) {
	switch {
	case f.schema != nil:
		return c.JSONSchema(ctx, []byte(*f.schema), constrain.SchemaOptions{Closed: !f.open})
	case f.regex != nil:
		return c.Regex(ctx, *f.regex)
	case f.grammar != nil:
		return c.Grammar(ctx, *f.grammar)
	}
	return c.Choice(ctx, f.choice...)
}
