package constrain

// Compiler: compiling forms while other work waits for the same processor.

import "context"

// A Compiler compiles constraints for a vocabulary. Its bounds of work grow with the bytes of a
// form and are the same on every machine. The functions JSONSchema, Regex, Grammar and Choice use a
// Compiler without Pause. It may compile any number of forms concurrently.
type Compiler struct {
	Vocabulary *Vocabulary

	// Pause, if not nil, is called after about each 100 µs of work. It may block while other
	// goroutines compute. If it returns an error, compiling ends with that error. Without Pause,
	// the context is checked at these points.
	Pause func(context.Context) error

	// Aside, if not nil, is called to run work that may take milliseconds and cannot pause: the
	// parsing of a long regex. It may block before and after the work. If it returns an error,
	// compiling ends with that error.
	Aside func(ctx context.Context, work func()) error
}

func (c Compiler) meter(ctx context.Context, bytes int) *meter {
	m := newMeter(ctx, c.Pause, bytes)
	m.beside = c.Aside
	return m
}

// JSONSchema is the function JSONSchema under a context.
func (c Compiler) JSONSchema(
	ctx context.Context, text []byte, o SchemaOptions,
) (*Constraint, error) {
	return jsonSchema(c.Vocabulary, text, o, c.meter(ctx, len(text)))
}

// Regex is the function Regex under a context.
func (c Compiler) Regex(ctx context.Context, re string) (*Constraint, error) {
	return regex(c.Vocabulary, re, c.meter(ctx, len(re)))
}

// Grammar is the function Grammar under a context.
func (c Compiler) Grammar(ctx context.Context, text string) (*Constraint, error) {
	return grammar(c.Vocabulary, text, c.meter(ctx, len(text)))
}

// Choice is the function Choice under a context.
func (c Compiler) Choice(ctx context.Context, choices ...string) (*Constraint, error) {
	bytes := 0
	for _, s := range choices {
		bytes += len(s)
	}
	return choice(c.Vocabulary, choices, c.meter(ctx, bytes))
}
