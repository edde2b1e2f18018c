package constrain

// Parts: texts that are made of several forms, with free text between them.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/grammar"
	"picogpt/constrain/internal/schema"
	"picogpt/internal/quote"
)

// A Part is a piece of text: a Literal, Free, Pattern, Rules, Schema, Sequence, OneOf, Repeat, Tag or
// Tags. [Compose] makes a constraint of it.
type Part interface {
	// node adds nodes that read the part and then continue at to, and returns the first. Free text
	// in it has none of the strings without.
	node(b *builder, to int32, without []string) int32
}

// A Literal is exactly this text.
type Literal string

// Free is any text in which none of some strings occurs; nor, within a [Tag], the ends of the
// nearest one around it.
type Free struct{ Without []string }

// A Pattern is what a regular expression matches, as in [Regex].
type Pattern string

// Rules are what rule root of a grammar matches, as in [Grammar].
type Rules string

// A Schema is JSON that a schema accepts, as in [JSONSchema].
type Schema struct {
	Text    []byte
	Options SchemaOptions
}

// A Sequence is one part after another.
type Sequence []Part

// OneOf is one of several parts.
type OneOf []Part

// A Repeat is a part from Min to Max times, any number of times if Max is -1, with Between, which may
// be nil, between each two.
type Repeat struct {
	Part     Part
	Min, Max int
	Between  Part
}

// A Tag is a part with a beginning and one of some ends around it, or no end.
type Tag struct {
	Begin string
	Part  Part
	Ends  []string
}

// Tags are free text with tags in it. Where one of Triggers is complete, a tag follows whose Begin
// begins with it; after its end the text is free again. So no trigger occurs outside a tag. Each tag
// has one trigger, and no trigger is within another one except at its end. The free text has none of
// the strings Without.
type Tags struct {
	Triggers       []string
	Tags           []Tag
	Without        []string
	AtLeastOne     bool // the text begins with a tag
	StopAfterFirst bool // the text ends with the first tag
}

// Compose returns the constraint of texts that are a part.
func Compose(v *Vocabulary, p Part) (*Constraint, error) {
	return Compiler{Vocabulary: v}.Compose(context.Background(), p)
}

// Compose is the function Compose under a context.
func (c Compiler) Compose(ctx context.Context, p Part) (*Constraint, error) {
	b := c.builder(ctx, 0)
	root := b.n.Split()
	b.n.Rule("text", root)
	b.n.Lead(root, b.node(p, b.n.End(), nil))
	return b.constraint("text", b.n)
}

// mostDeep bounds parts in parts.
const mostDeep = 100

// A builder makes the network of parts.
type builder struct {
	c     Compiler
	m     *automaton.Meter
	n     *automaton.Network
	inner []grammar.Inner
	notes []string
	depth int
	err   error // the first; nodes that are added after it count for nothing

	schemas map[string]int // the numbers of those in inner, by their texts and options
}

func (c Compiler) builder(ctx context.Context, bytes int) *builder {
	m := c.meter(ctx, bytes)
	return &builder{c: c, m: m, n: automaton.NewNetwork(automaton.MaxNodes, m), schemas: map[string]int{}}
}

// fail keeps an error, if it is the first.
func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// constraint returns the constraint of a network whose forms are those of the builder.
func (b *builder) constraint(what string, n *automaton.Network) (*Constraint, error) {
	if b.err != nil {
		return nil, b.err
	}
	f, err := grammar.New(what, b.c.Vocabulary.ids, n, b.inner, b.m)
	if err != nil {
		return nil, b.m.Named(what, err)
	}
	return &Constraint{b.c.Vocabulary, f, b.notes}, nil
}

func (b *builder) node(p Part, to int32, without []string) int32 {
	b.depth++
	defer func() { b.depth-- }()
	if b.depth > mostDeep {
		b.fail(fmt.Errorf("more than %d parts in parts", mostDeep))
	}
	if p == nil {
		b.fail(fmt.Errorf("a part is nil"))
	}
	if b.fail(b.m.Named("text", b.m.Charge(64))); b.err != nil {
		return to
	}
	node := p.node(b, to, without)
	b.fail(b.n.Check("text"))
	return node
}

// named is node for a part that has a name in errors.
func (b *builder) named(name string, p Part, to int32, without []string) int32 {
	before := b.err
	to = b.node(p, to, without)
	if before == nil && b.err != nil {
		b.err = fmt.Errorf("%s: %w", name, b.err)
	}
	return to
}

// read says that the form has a text more, which is read as characters.
func (b *builder) read(text string) error {
	b.m.More(len(text))
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s is not valid UTF-8", quote.Short(text, 60))
	}
	return nil
}

func (p Literal) node(b *builder, to int32, _ []string) int32 {
	if err := b.read(string(p)); err != nil {
		b.fail(err)
		return to
	}
	for i := len(p); i > 0 && !b.n.Full(); {
		r, size := utf8.DecodeLastRuneInString(string(p[:i]))
		i -= size
		to = b.n.Read(automaton.SetOf(r), to)
	}
	return to
}

// words adds words that begin at a split, each of which continues at its node.
func (b *builder) words(root int32, words []string, to []int32) error {
	for _, w := range words {
		if err := b.read(w); err != nil {
			return err
		}
	}
	b.n.Words(root, words, to)
	return b.n.Check("text")
}

func (p Free) node(b *builder, to int32, without []string) int32 {
	root := b.n.Split()
	b.free(root, nil, nil, append(slices.Clone(p.Without), without...), to)
	return root
}

// free adds free text until one of some words, each with its goal, and without some strings.
func (b *builder) free(root int32, words []string, goals []int32, without []string, to int32) {
	slices.Sort(without)
	for _, w := range slices.Compact(without) {
		words, goals = append(words, w), append(goals, -1)
	}
	for _, w := range words {
		b.m.More(len(w))
	}
	if b.n.BeginsForm(to) {
		b.note("a schema follows free text: where its JSON may have begun in more than 64 ways, 64 of them " +
			"are followed")
	}
	b.fail(b.n.Until(root, words, goals, to))
}

func (p Pattern) node(b *builder, to int32, _ []string) int32 {
	b.m.More(len(p))
	what, n := b.regex(string(p))
	return b.add(what, n, to)
}

// regex returns the network of a regex, and what it is in errors.
func (b *builder) regex(re string) (what string, n *automaton.Network) {
	what = "regex " + quote.Short(re, 60)
	n, err := automaton.Regex(what, re, b.m)
	b.fail(b.m.Named(what, err))
	return what, n
}

// add adds another network.
func (b *builder) add(what string, n *automaton.Network, to int32) int32 {
	if b.err != nil {
		return to
	}
	to = b.n.Add(what, n, to)
	b.fail(b.m.Failed())
	return to
}

func (p Rules) node(b *builder, to int32, _ []string) int32 {
	b.m.More(len(p))
	return b.add("grammar", b.rules(string(p)), to)
}

// rules returns the network of a grammar.
func (b *builder) rules(text string) *automaton.Network {
	n, err := grammar.GBNF(b.c.Vocabulary.ids, text, b.m, func(text string) (int, error) {
		return b.schema([]byte(text), b.c.Schemas)
	})
	b.fail(err)
	return n
}

func (p Schema) node(b *builder, to int32, _ []string) int32 {
	b.m.More(len(p.Text))
	form, err := b.schema(p.Text, p.Options)
	b.fail(err)
	return b.n.Form(form, to)
}

// schema compiles a schema and returns its number.
func (b *builder) schema(text []byte, o SchemaOptions) (int, error) {
	refs := o.Refs
	o.Refs = nil
	key := fmt.Sprintf("%p%+v%s", refs, o, text)
	o.Refs = refs
	if known, ok := b.schemas[key]; ok { // equal schemas are one form
		return known, b.m.Charge(len(text))
	}
	f, notes, err := schema.Compile(b.c.Vocabulary.strings, text, schema.Options(o), b.m)
	if err != nil {
		return 0, err
	}
	b.note(notes...)
	b.schemas[key] = len(b.inner)
	b.inner = append(b.inner, f)
	return len(b.inner) - 1, nil
}

// note adds notes, each once.
func (b *builder) note(notes ...string) {
	for _, note := range notes {
		if !slices.Contains(b.notes, note) {
			b.notes = append(b.notes, note)
		}
	}
}

func (p Sequence) node(b *builder, to int32, without []string) int32 {
	for i, part := range slices.Backward(p) {
		to = b.named(strconv.Itoa(i+1), part, to, without)
	}
	return to
}

func (p OneOf) node(b *builder, to int32, without []string) int32 {
	if len(p) == 0 {
		b.fail(fmt.Errorf("one of no parts: want at least one"))
	}
	split := b.n.Split()
	for i, part := range p {
		b.n.Lead(split, b.named(strconv.Itoa(i+1), part, to, without))
	}
	return split
}

func (p Repeat) node(b *builder, to int32, without []string) int32 {
	const most = grammar.MostRepeats
	if p.Min < 0 || p.Max < -1 || p.Max >= 0 && p.Max < p.Min || max(p.Min, p.Max) > most {
		b.fail(fmt.Errorf("from %d to %d times: want from 0 to %d, the smaller number first, or -1 "+
			"for any number", p.Min, p.Max, most))
		return to
	}
	// The part, and what comes before others, are rules: they are compiled once.
	one, more := b.n.Split(), b.n.Split()
	for _, r := range []int32{one, more} {
		b.n.Rule(strconv.Itoa(int(r)), r)
	}
	end := b.n.End()
	b.n.Lead(one, b.node(p.Part, end, without))
	first := b.n.Call(one, end)
	if p.Between != nil {
		first = b.node(p.Between, first, without)
	}
	b.n.Lead(more, first)
	after, times := to, p.Max // after so many
	if times < 0 {
		times, after = max(p.Min, 1), b.n.Split(to)
		b.n.Lead(after, b.n.Call(more, after))
	}
	for i := times; i > 0 && !b.n.Full(); i-- {
		rule := more
		if i == 1 {
			rule = one
		}
		if after = b.n.Call(rule, after); i <= p.Min {
			continue
		}
		after = b.n.Split(after, to)
	}
	return after
}

func (p Tag) node(b *builder, to int32, without []string) int32 {
	return b.node(Literal(p.Begin), p.inside(b, to), nil)
}

// inside is node without the beginning.
func (p Tag) inside(b *builder, to int32) int32 {
	name := "tag " + quote.Short(p.Begin, 40)
	if len(p.Ends) > 0 {
		ends := b.n.Split()
		if err := b.words(ends, p.Ends, slices.Repeat([]int32{to}, len(p.Ends))); err != nil {
			b.fail(fmt.Errorf("%s: %w", name, err))
		}
		to = ends
	}
	without := slices.DeleteFunc(slices.Clone(p.Ends), func(e string) bool { return e == "" })
	return b.named(name, p.Part, to, without)
}

func (p Tags) node(b *builder, to int32, without []string) int32 {
	if len(p.Triggers) == 0 || len(p.Tags) == 0 {
		b.fail(fmt.Errorf("tags: want at least one trigger and one tag, found %d and %d",
			len(p.Triggers), len(p.Tags)))
	}
	root, first, goals := b.n.Split(), b.n.Split(), make([]int32, len(p.Triggers))
	at := map[string]int{}
	for i, t := range p.Triggers {
		if _, is := at[t]; is {
			b.fail(fmt.Errorf("trigger %s comes twice", quote.Short(t, 40)))
		}
		at[t], goals[i] = i, b.n.Split()
	}
	after := root
	if p.StopAfterFirst {
		after = to
	}
	var begins []string // of all tags
	var insides []int32
	rests := make([][]string, len(p.Triggers)) // of those of each trigger, after it
	tos := make([][]int32, len(p.Triggers))
	for _, tag := range p.Tags {
		inside, found := tag.inside(b, after), false
		for n := 0; n <= len(tag.Begin) && b.err == nil; n++ {
			i, is := at[tag.Begin[:n]]
			if b.fail(b.m.Named("tags", b.m.Charge(1+n/8))); !is {
				continue
			}
			if found {
				b.fail(fmt.Errorf("tag %s begins with two triggers, of which %s is the longer",
					quote.Short(tag.Begin, 40), quote.Short(tag.Begin[:n], 40)))
			}
			rests[i], tos[i], found = append(rests[i], tag.Begin[n:]), append(tos[i], inside), true
		}
		if !found {
			b.fail(fmt.Errorf("tag %s begins with no trigger", quote.Short(tag.Begin, 40)))
		}
		begins, insides = append(begins, tag.Begin), append(insides, inside)
	}
	for i, rest := range rests {
		if len(rest) == 0 {
			b.fail(fmt.Errorf("trigger %s: no tag begins with it", quote.Short(p.Triggers[i], 40)))
		}
		if err := b.words(goals[i], rest, tos[i]); err != nil {
			b.fail(fmt.Errorf("trigger %s: %w", quote.Short(p.Triggers[i], 40), err))
		}
	}
	b.free(root, slices.Clone(p.Triggers), goals, append(slices.Clone(p.Without), without...), to)
	if p.AtLeastOne {
		b.fail(b.words(first, begins, insides))
		return first
	}
	return root
}
