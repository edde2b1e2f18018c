package constrain

// Compiler: forms compiled where others wait for the same processor.

import "context"

// A Compiler makes constraints for a vocabulary, within bounds of work that grow with the bytes of
// a form and are the same on every machine. JSONSchema, Regex, Grammar and Choice are those of a
// Compiler without a Pause. Any number of forms may be compiled at once.
type Compiler struct {
	Vocabulary *Vocabulary

	// Pause, if it is not nil, is called again and again, after some 100 µs of work each: it may
	// wait while others compute. Its error ends the work, and is returned. Without a Pause the
	// context is asked.
	Pause func(context.Context) error

	// Aside, if it is not nil, calls work that may take milliseconds and cannot pause: the parsing
	// of a long regex. It may wait before and after. Its error ends the work, and is returned.
	Aside func(ctx context.Context, work func()) error
}

func (c Compiler) meter(ctx context.Context, bytes int) *meter {
	m := newMeter(ctx, c.Pause, bytes)
	m.beside = c.Aside
	return m
}

// JSONSchema is the function of this name.
func (c Compiler) JSONSchema(
	ctx context.Context, text []byte, o SchemaOptions,
) (*Constraint, error) {
	return jsonSchema(c.Vocabulary, text, o, c.meter(ctx, len(text)))
}

// Regex is the function of this name.
func (c Compiler) Regex(ctx context.Context, re string) (*Constraint, error) {
	return regex(c.Vocabulary, re, c.meter(ctx, len(re)))
}

// Grammar is the function of this name.
func (c Compiler) Grammar(ctx context.Context, text string) (*Constraint, error) {
	return grammar(c.Vocabulary, text, c.meter(ctx, len(text)))
}

// Choice is the function of this name.
func (c Compiler) Choice(ctx context.Context, choices ...string) (*Constraint, error) {
	bytes := 0
	for _, s := range choices {
		bytes += len(s)
	}
	return choice(c.Vocabulary, choices, c.meter(ctx, bytes))
}
