package decode_test

// The texts of the table of bits, and their baselines.

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// A subject is a text: what a checkpoint in some format writes after a prompt.
type subject struct {
	name          string
	shape         fixture.Options // Vocab 0: the demo
	format, cache string          // of weights, keys and values
	prompt        []int
	options       decode.Options
	edits         []model.Edit
	healed        bool
	form          string // a regular expression

	config, file []byte
	rows         [][]float32 // the baseline's logits after each of ids, as far as the context goes
	ids          []int
	tokens       []decode.Token
}

// spelled is a vocabulary: 13 letters, an end of text without bytes, 26 times two letters, and the
// other bytes.
type spelled [][]byte

func spelling() (s spelled) {
	for i := range 13 {
		s = append(s, []byte{byte('a' + i)})
	}
	s = append(s, nil)
	for i := range 26 {
		s = append(s, []byte{byte('a' + i%13), byte('a' + i*5%13)})
	}
	for b := range 256 {
		if b < 'a' || b >= 'a'+13 {
			s = append(s, []byte{byte(b)})
		}
	}
	return s
}

func (s spelled) NewDecoder([]int) tokenizer.Decoder { return s }
func (s spelled) Size() int                          { return len(s) }
func (s spelled) Push(id int) (string, error)        { return string(s[id]), nil }
func (spelled) Flush() string                        { return "" }
func (s spelled) Fork() tokenizer.Decoder            { return s }

// add is an edit of the stream after the first block, from a position on.
func add(width, from int) []model.Edit {
	values := make([]float32, width)
	values[3], values[width-1] = 2, -3
	return []model.Edit{{At: model.Point{Kind: model.ResidPost, Layer: 0}, Head: model.AllHeads,
		Op: model.Add, Values: values, From: from}}
}

// subjects are the texts of the table: shapes, formats, and kinds of options.
func subjects() []*subject {
	r := rand.New(rand.NewPCG(7, 7))
	random := func(n, vocab int) (ids []int) {
		for range n {
			ids = append(ids, r.IntN(vocab))
		}
		return ids
	}
	tiny := fixture.Options{Vocab: 29} // with a context of 23
	small := fixture.Options{Seed: 1, Vocab: 53, Positions: 200}
	headed := fixture.Options{Seed: 4, Vocab: 67, Positions: 200, Embd: 33, Head: 1, Layer: 2,
		DType: weights.BF16}
	wide := fixture.Options{Seed: 2, Vocab: 301, Positions: 160, Embd: 72, Inner: 150, Layer: 2,
		DType: weights.F16}
	panels := fixture.Options{Seed: 3, Vocab: 130, Positions: 160, Embd: 96, Head: 2, Inner: 290,
		Layer: 2, Untied: true}
	spelt := fixture.Options{Seed: 5, Vocab: 283, Positions: 160, Config: map[string]any{
		"eos_token_id": 13, "bos_token_id": 13}}
	greedy := func(n int) decode.Options {
		return decode.Options{MaxTokens: n, Top: 2, EndOfText: []int{}}
	}
	const form = "(abcabc[a-d]{2}dddabc){1,4}"
	drawn, guided, healed, formed := greedy(20), greedy(40), greedy(12), greedy(25)
	drawn.Params = sample.Params{Temperature: 1.3, TopP: 0.95, RepeatPenalty: 1.2, RepeatLastN: 30,
		Seed: 11}
	guided.Guidance = &sample.Guidance{Scale: 2, Negative: random(5, 29)}
	guided.Overflow, guided.Temperature, guided.Seed = decode.OverflowSlide, 1, 6
	healed.Vocabulary, healed.Ban, healed.Stop = spelling(), []string{"cc", "bd"}, []string{"aaa"}
	formed.Vocabulary, formed.EndOfText = spelling(), []int{13}
	formed.Temperature, formed.Seed, formed.OpenMass = 1.1, 3, true
	mixed := formed
	mixed.Overflow, mixed.RepeatPenalty = decode.OverflowTruncate, 1.1
	once := random(60, 40)
	var all []*subject
	for _, name := range slices.Sorted(maps.Keys(ways())) {
		all = append(all, &subject{name: name, shape: tiny, prompt: random(12, 29),
			options: ways()[name]})
	}
	all = append(all, []*subject{
		{name: "f32", shape: small, prompt: random(120, 53), options: greedy(14)},
		{name: "f16, wide", shape: wide, prompt: random(70, 301), options: greedy(6)},
		{name: "bf16, one head", shape: headed, prompt: random(62, 67), options: greedy(6)},
		{name: "q8, two panels", shape: panels, format: "q8", prompt: random(66, 130),
			options: greedy(6)},
		{name: "q4, cache in f16", shape: panels, format: "q4", cache: "f16",
			prompt: random(75, 130), options: greedy(6)},
		{name: "q8, cache in q8", shape: panels, format: "q8", cache: "q8",
			prompt: random(75, 130), options: greedy(6)},
		{name: "drawn, cache in q8", shape: wide, cache: "q8", prompt: random(70, 301), options: drawn},
		{name: "drawn", shape: small, cache: "f16", prompt: random(50, 53), options: drawn},
		{name: "guided", shape: tiny, prompt: random(9, 29), options: guided},
		{name: "steered", shape: wide, prompt: random(68, 301), options: greedy(6),
			edits: add(72, 0)},
		{name: "healed, banned, stopped", shape: spelt, options: healed, healed: true,
			prompt: append(slices.Concat(once, once), 2, 0)},
		{name: "of a form", shape: spelt, prompt: random(70, 40), options: formed, form: form},
		{name: "of a form, healed, steered at its end", shape: spelt, options: mixed, healed: true,
			prompt: append(random(66, 40), 1, 0), form: form, edits: add(15, 66)},
	}...)
	if len(kernels.Variants()) > 1 { // pure Go alone would take seconds
		all = append(all, &subject{name: "the demo", prompt: random(30, 50257),
			options: greedy(4)})
	}
	return all
}

// A lab has the models and texts of the table.
type lab struct {
	t      *testing.T
	texts  []*subject
	values [axes][]string
	models map[string]*model.Model
	used   map[string]int
}

func newLab(t *testing.T) *lab {
	l := &lab{t: t, texts: subjects(), models: map[string]*model.Model{}, used: map[string]int{}}
	for _, s := range l.texts {
		if s.config, s.file = demo.Config(), demo.Weights(); s.shape.Vocab > 0 {
			s.config, s.file = fixture.Checkpoint(s.shape)
		}
		if s.healed {
			s.options.Healing = decode.NewHealing(spelling(), s.prompt, 1)
			s.prompt = s.options.Healing.Prompt
		}
		if s.form != "" {
			v, err := constrain.NewVocabulary(spelling(),
				constrain.VocabularyOptions{Ends: []int{13}})
			if err != nil {
				t.Fatal(err)
			}
			c, err := constrain.Regex(v, s.form)
			if err != nil {
				t.Fatal(err)
			}
			if s.options.Constraint, err = c.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.values = valuesOf(l.texts)
	return l
}

// record computes a text's baseline: its tokens by Generate, and the rows of logits one by one.
func (l *lab) record(s *subject) error {
	o := model.Options{Kernel: "go", Threads: 1}
	if s.shape.Vocab == 0 {
		o.Kernel = kernels.Variants()[0]
	}
	m := l.model(s, o)
	options := s.options.Unforced()
	options.Edits = s.edits
	tokens, err := listed(decode.Generate(l.t.Context(), m.NewSession(), s.prompt, options), 0)
	if err != nil {
		return err
	}
	s.tokens, s.ids = tokens, append(slices.Clone(s.prompt), ids(tokens)...)
	session := m.NewSession()
	for _, id := range s.ids[:min(len(s.ids), m.Config().Positions)] {
		in := model.Input{Session: session, Tokens: []int{id}, Trace: model.Editing(s.edits)}
		if err := m.Eval(l.t.Context(), in); err != nil {
			return err
		}
		s.rows = append(s.rows, slices.Clone(session.Logits()))
	}
	return nil
}

// model returns a model of a text's checkpoint.
func (l *lab) model(s *subject, o model.Options) *model.Model {
	o.Format, o.CacheFormat = cmp.Or(o.Format, s.format), s.cache
	key := fmt.Sprint(s.shape, o.Kernel, o.Threads, len(o.Edits), o.Format, o.CacheFormat)
	if l.models[key] == nil {
		o.Digest = func() (string, error) { return fmt.Sprint(s.shape), nil }
		l.models[key] = testmodel.New(l.t, s.config, s.file, o)
	}
	return l.models[key]
}

// possible reports whether a cell has no values that cannot be together.
func (l *lab) possible(w way) bool {
	for axis, is := range w {
		if !l.fits(&w, value{axis, is}) {
			return false
		}
	}
	return true
}

// checkUse fails if what was to be shown did not occur.
func (l *lab) checkUse(t *testing.T) {
	for _, what := range []string{"guessed 1", "guessed 2", "guessed 3", "prefix", "compared"} {
		if t.Logf("%s: %d", what, l.used[what]); l.used[what] == 0 {
			t.Errorf("%s: never", what)
		}
	}
}
