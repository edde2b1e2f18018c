package constrain

// Forms: what a text can be held to, compiled for a vocabulary.

import (
	"context"
	"fmt"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/grammar"
	"picogpt/constrain/internal/schema"
	"picogpt/constrain/internal/trie"
)

// A Vocabulary holds the bytes of a model's ids, arranged for masks. It is immutable, and any
// number of constraints may use it concurrently.
type Vocabulary struct {
	ids     *trie.Trie
	strings *schema.Vocabulary // what all schemas have in common
	ends    []int              // the ids that end a text
}

// VocabularyOptions are what a vocabulary has besides bytes.
type VocabularyOptions struct {
	// Ends are the ids that end a text. They are open exactly where a text may end. If they have
	// bytes, these do not count: an ASCII character that no other id stands for does not occur in
	// texts of a regex, a choice or a grammar; a text of JSON that needs it ends with an error.
	// Text.EndWith can set others.
	Ends []int

	// Names are ids that a grammar can name as <name>, with the brackets: special tokens, which
	// have no bytes.
	Names map[string]int
}

// NewVocabulary returns a vocabulary. tokens[id] holds the bytes of an id: nil or empty for ids
// without bytes, such as end of text and unused ids; such ids are never open, unless they are Ends.
// An error names the first byte of UTF-8 that no single id stands for: without byte-level ids or
// byte fallback, a constraint could demand text that no ids can write.
func NewVocabulary(tokens [][]byte, o VocabularyOptions) (*Vocabulary, error) {
	ids, err := trie.New(tokens, o.Ends, o.Names)
	if err != nil {
		return nil, err
	}
	return &Vocabulary{ids, &schema.Vocabulary{Trie: ids}, o.Ends}, nil
}

// A Tokenizer has tokens with bytes, and special ones with names. *tokenizer.Tokenizer implements
// it.
type Tokenizer interface {
	Bytes() ([][]byte, error)
	Special() []int
	Text(id int) (string, error)
}

// VocabularyOf returns the vocabulary of a tokenizer. ends are the ids that end a text; ids that
// the tokenizer does not have are ignored. Grammars can name its special tokens by their texts.
func VocabularyOf(t Tokenizer, ends []int) (*Vocabulary, error) {
	tokens, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	o := VocabularyOptions{Names: map[string]int{}}
	for _, id := range ends {
		if id < len(tokens) {
			o.Ends = append(o.Ends, id)
		}
	}
	for _, id := range t.Special() {
		if name, err := t.Text(id); err == nil {
			o.Names[name] = id
		}
	}
	return NewVocabulary(tokens, o)
}

// Size returns the largest id plus one.
func (v *Vocabulary) Size() int { return v.ids.Size }

// Words returns the length of a mask in words of 64 ids.
func (v *Vocabulary) Words() int { return v.ids.Words() }

// Bytes returns the bytes of an id, which the caller must not change. It returns nil for ids
// without bytes and for ids outside the vocabulary.
func (v *Vocabulary) Bytes(id int) []byte {
	if id < 0 || id >= v.ids.Size {
		return nil
	}
	return v.ids.Bytes[id]
}

// SchemaOptions decide what a schema leaves open about the text of JSON.
type SchemaOptions struct {
	// Space is the white space between the parts of the text. 0 means at most one space after each
	// colon and each comma. NoSpace means none. n above 0 means up to n spaces, tabs and newlines
	// wherever JSON allows them, except at the beginning and the end of the text.
	Space int

	// Comma and Colon, if they are not empty, are exactly what stands between the parts of the
	// text, instead of Space: each with the white space after it, such as ", " and ": ", which
	// Python's json.dumps writes. With Indent each item and each property begins a line, with as many
	// indents as containers are open.
	Comma, Colon, Indent string

	// Closed is for texts that are made: an object has no other names than those that properties,
	// required or dependentRequired of its schemas have, together with those of $ref, allOf and the
	// branches of anyOf, oneOf and if that hold; nor does JSON Schema ask for others. It does
	// nothing where none of them names properties, or one has additionalProperties,
	// patternProperties or unevaluatedProperties, nor to objects that enum and const list, nor to
	// what not, if and the other branches of oneOf mean. Where no object has such names only, the
	// object stays open. [Constraint.Notes] says both. A form that judges texts wants it false.
	Closed bool

	// AnyOrder lets the names of properties come in any order. Otherwise those that a schema
	// has come first, in its order. A form that judges texts of others wants it true.
	AnyOrder bool

	// Strict refuses schemas of which [Constraint.Notes] would say that something restricts
	// nothing, or that an object stays open.
	Strict bool

	// OpenAPI follows what OpenAPI 3.0 adds: with nullable a type may be null too, and a
	// discriminator says which branch an object is of. JSON Schema ignores both.
	OpenAPI bool

	// Earlier reads every draft as 2020-12, for texts that earlier versions made: what stands
	// beside $ref restricts in drafts 3 to 7 too, as do keywords that are newer than the draft.
	Earlier bool

	// Refs are other schemas, by the URIs with which $ref names them.
	Refs map[string][]byte
}

// NoSpace is the SchemaOptions.Space of text without white space.
const NoSpace = -1

// A WorkError says that compiling a form takes too much work.
type WorkError struct {
	Steps int // the bound
	Bytes int // of the form
}

func (e *WorkError) Error() string {
	return fmt.Sprintf("it takes more than %d steps to compile, which is the bound for %d bytes",
		e.Steps, e.Bytes)
}

// JSONSchema returns the constraint that a text is JSON that a schema accepts, in the draft that
// its $schema says. The package comment lists the supported keywords; others that restrict are
// errors.
func JSONSchema(v *Vocabulary, text []byte, o SchemaOptions) (*Constraint, error) {
	return Compiler{Vocabulary: v}.JSONSchema(context.Background(), text, o)
}

// Regex returns the constraint of a regular expression in RE2's syntax, which the whole text must
// match. Characters are those of UTF-8; . is any character except a line end.
func Regex(v *Vocabulary, re string) (*Constraint, error) {
	return Compiler{Vocabulary: v}.Regex(context.Background(), re)
}

// Grammar returns the constraint that a text matches rule root of a grammar in llama.cpp's GBNF. Its
// rules also read %json SCHEMA, JSON that a schema accepts, and %regex /RE/, where \/ is a slash. A
// rule may call itself anywhere, at its beginning too, and a | may end a line or begin one.
func Grammar(v *Vocabulary, text string) (*Constraint, error) {
	return Compiler{Vocabulary: v}.Grammar(context.Background(), text)
}

// Choice returns the constraint that a text is one of some strings. If one string is the beginning
// of another, the text may end after the shorter one or continue.
func Choice(v *Vocabulary, choices ...string) (*Constraint, error) {
	return Compiler{Vocabulary: v}.Choice(context.Background(), choices...)
}

// A Compiler compiles constraints for a vocabulary. Its bounds of work grow with the bytes of a
// form and are the same on every machine. The functions JSONSchema, Regex, Grammar and Choice use a
// Compiler without Pause. It may compile any number of forms concurrently.
type Compiler struct {
	Vocabulary *Vocabulary

	// Schemas are for the schemas in grammars and in structural tags.
	Schemas SchemaOptions

	// Pause, if not nil, is called after about each 100 µs of work. It may block while other
	// goroutines compute. If it returns an error, compiling ends with that error. Without Pause,
	// the context is checked at these points.
	Pause func(context.Context) error

	// Aside, if not nil, is called to run work that may take milliseconds and cannot pause: the
	// parsing of a long regex. It may block before and after the work. If it returns an error,
	// compiling ends with that error.
	Aside func(ctx context.Context, work func()) error
}

// meter returns what counts the work of compiling a form of so many bytes.
func (c Compiler) meter(ctx context.Context, bytes int) *automaton.Meter {
	m := automaton.NewMeter(ctx, c.Pause, c.Aside, bytes)
	m.Exceeded = func(most, bytes int) error { return &WorkError{most, bytes} }
	return m
}

// JSONSchema is the function JSONSchema under a context.
func (c Compiler) JSONSchema(
	ctx context.Context, text []byte, o SchemaOptions,
) (*Constraint, error) {
	m := c.meter(ctx, len(text))
	f, notes, err := schema.Compile(c.Vocabulary.strings, text, schema.Options(o), m)
	if err != nil {
		return nil, err
	}
	return &Constraint{c.Vocabulary, f, notes}, nil
}

// Regex is the function Regex under a context.
func (c Compiler) Regex(ctx context.Context, re string) (*Constraint, error) {
	b := c.builder(ctx, len(re))
	return b.constraint(b.regex(re))
}

// Grammar is the function Grammar under a context.
func (c Compiler) Grammar(ctx context.Context, text string) (*Constraint, error) {
	b := c.builder(ctx, len(text))
	return b.constraint("grammar", b.rules(text))
}

// Choice is the function Choice under a context.
func (c Compiler) Choice(ctx context.Context, choices ...string) (*Constraint, error) {
	bytes := 0
	for _, s := range choices {
		bytes += len(s)
	}
	b := c.builder(ctx, bytes)
	n, err := grammar.Choice(choices, b.m)
	b.fail(err)
	return b.constraint("choices", n)
}
