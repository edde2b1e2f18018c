package chat

// Saved conversations: ids and options, from which a conversation goes on with the same bits, as a
// line of JSON, and as the note of a session's file.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"picogpt/decode"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// A Saved is a conversation as one JSON object.
type Saved struct {
	Model    string            `json:"model"` // the digest
	Formats  Formats           `json:"formats"`
	Rules    int               `json:"rules,omitempty"` // what the options mean; 0 in older ones
	Template string            `json:"template"`
	Jinja    bool              `json:"jinja,omitempty"` // the template is in it; older ones do not say
	System   string            `json:"system,omitempty"`
	Clock    string            `json:"clock,omitempty"` // that the template tells
	Options  []string          `json:"options"`         // of the program that saves
	Files    map[string]string `json:"files,omitempty"`
	Seed     uint64            `json:"seed"` // of the next answer
	Turns    []Turn            `json:"turns"`
	Digest   *string           `json:"digest,omitempty"` // of all that; nil in older ones
}

// Saved returns the conversation without the program's own fields.
func (c *Chat) Saved(digest string) *Saved {
	s := &Saved{
		Model: digest, Formats: FormatsOf(c.Session.Model()), Template: c.Template.Source,
		Options: []string{}, Turns: append([]Turn{}, c.Turns...),
	}
	s.Jinja = c.Template.Whole()
	if s.System = c.System; !c.Clock.IsZero() {
		s.Clock = c.Clock.Format(time.RFC3339)
	}
	for i := range s.Turns { // the ids are what counts
		s.Turns[i].Text = strings.ToValidUTF8(s.Turns[i].Text, "\uFFFD")
	}
	return s
}

// content is what the digest of a saved conversation is of.
func (s Saved) content() Saved {
	s.Digest = nil
	return s
}

// Line returns the conversation as a line of JSON, with its digest.
func (s *Saved) Line() (line []byte, err error) {
	for _, text := range append(slices.Clone(s.Options), s.Template, s.System) {
		if !utf8.ValidString(text) {
			return nil, fmt.Errorf("%s: want UTF-8", quote.Short(text, 40))
		}
	}
	if s.Digest, err = strictjson.Digest(s.content()); err != nil {
		return nil, err
	}
	return strictjson.Line(s)
}

// Check returns an error if the conversation was changed since it was saved, or if no conversation
// with that vocabulary could have a turn of it.
func (s *Saved) Check(vocabulary int) error {
	for i := range s.Turns {
		if err := s.Turns[i].check(vocabulary); err != nil {
			return fmt.Errorf("turn %d: %w", i, err)
		}
	}
	return strictjson.CheckDigest(s.content(), s.Digest)
}

// Parse reads an object with the keys of a saved conversation, and no others.
func Parse(text string) (s *Saved, err error) {
	s = &Saved{}
	turns := strictjson.ListField("turns", "an array of turns", &s.Turns, readTurn)
	return s, strictjson.ParseFields(text, []strictjson.Field{
		strictjson.StringField("model", &s.Model),
		s.Formats.Field(),
		RulesField(&s.Rules),
		strictjson.StringField("template", &s.Template),
		{Key: "jinja", Want: "true or false", Optional: true, Read: func(r *strictjson.Reader) error {
			s.Jinja, err = r.Bool()
			return err
		}},
		optional(strictjson.StringField("system", &s.System)),
		optional(strictjson.StringField("clock", &s.Clock)),
		strictjson.StringsField("options", &s.Options),
		strictjson.TextsField("files", &s.Files),
		strictjson.SeedField("seed", &s.Seed),
		turns,
		strictjson.OptionalStringField("digest", &s.Digest),
	})
}

func optional(f strictjson.Field) strictjson.Field {
	f.Optional = true
	return f
}

// readTurn reads an object with the keys of a turn, and no others.
func readTurn(r *strictjson.Reader, t *Turn) error {
	return strictjson.ReadFields(r, []strictjson.Field{
		strictjson.StringField("text", &t.Text),
		optional(strictjson.NaturalField("cut", &t.Cut)),
		strictjson.IDsField("prompt_ids", &t.PromptIDs),
		strictjson.StringsField("options", &t.Options),
		strictjson.SeedField("seed", &t.Seed),
		strictjson.IDsField("ids", &t.IDs),
		strictjson.NaturalField("dropped", &t.Dropped),
		strictjson.StringField("finish_reason", &t.FinishReason),
	})
}

// check refuses a turn that no chat could have.
func (t *Turn) check(vocabulary int) error {
	for _, id := range slices.Concat(t.PromptIDs, t.IDs) {
		if id >= vocabulary {
			return fmt.Errorf("id %d, want 0 to %d", id, vocabulary-1)
		}
	}
	reasons := []string{decode.FinishStop, decode.FinishEndOfText, decode.FinishLength,
		Interrupted, ""}
	if !slices.Contains(reasons, t.FinishReason) {
		return fmt.Errorf("finish_reason: %s, want that of an answer, such as %s",
			quote.Short(t.FinishReason, 40), reasons[0])
	}
	return nil
}

// Align removes from the session what is not the conversation's.
func (c *Chat) Align() { c.Session.Truncate(c.Session.Matches(c.IDs())) }

// Save writes the conversation and what the model has computed of it.
func (c *Chat) Save(ctx context.Context, w io.Writer) error {
	digest, err := c.Session.Model().Digest(ctx)
	if err != nil {
		return err
	}
	note, err := c.Saved(digest).Line()
	if err != nil {
		return err
	}
	c.Align()
	return c.Session.SaveWith(ctx, w, note)
}

// ErrOther says that a conversation is another model's, whose ids may mean another text.
var ErrOther = errors.New("a conversation with another model")

// Resume continues the conversation of a snapshot: its note, or the tokens of one without a note.
// It returns the note's fields, nil without one. The session takes what was restored. A note of
// another model is continued if its lines have the same ids here.
func (c *Chat) Resume(
	ctx context.Context, file *model.Snapshot, restored *model.Session,
) (*Saved, error) {
	m := c.Session.Model()
	digest, err := m.Digest(ctx)
	if err != nil {
		return nil, err
	}
	switch own := file.Model == digest; {
	case len(file.Note) == 0 && own:
		return nil, c.resumeTokens(file.Tokens, restored)
	case len(file.Note) == 0:
		return nil, ErrOther
	}
	s, err := Parse(string(file.Note))
	if err == nil {
		if err = s.Check(m.Config().VocabSize); err != nil && file.Model != digest {
			return nil, ErrOther // of another vocabulary
		}
	}
	if err != nil {
		return nil, fmt.Errorf("want a conversation: %w", err)
	}
	resumed := &Chat{Session: c.Session, Tokenizer: c.Tokenizer, Template: c.Template}
	if err := resumed.Take(s); err != nil {
		return nil, err
	}
	if file.Model != digest && !resumed.hasOwnIDs() {
		return nil, ErrOther
	}
	*c = *resumed
	c.Session.Take(restored)
	return s, nil
}

// Take makes a saved conversation this one, but for its options, or changes nothing. Its template is
// given the tokens of the one before it.
func (c *Chat) Take(s *Saved) error {
	template, err := New(s.Template, s.Jinja, c.Tokenizer)
	if err != nil {
		return fmt.Errorf("template: %w", err)
	}
	var clock time.Time
	if s.Clock != "" {
		if clock, err = time.Parse(time.RFC3339, s.Clock); err != nil {
			return fmt.Errorf("clock: %s: want a time such as %s", quote.Short(s.Clock, 40), time.RFC3339)
		}
	}
	template.Know(c.Template.Tokens, c.Session.Model().Config().EndTokens())
	c.Template, c.System, c.Clock, c.Turns = template, s.System, clock, s.Turns
	return nil
}

// hasOwnIDs reports whether the lines of all turns have their ids with this tokenizer.
func (c *Chat) hasOwnIDs() bool {
	for i, t := range c.Turns {
		before := *c
		before.Turns = c.Turns[:i]
		again := Turn{Text: t.Text}
		if err := before.read(&again); err != nil || again.Cut != t.Cut ||
			!slices.Equal(again.PromptIDs, t.PromptIDs) {
			return false
		}
	}
	return true
}

// resumeTokens begins the conversation with tokens.
func (c *Chat) resumeTokens(ids []int, restored *model.Session) error {
	for i, id := range ids {
		if size := c.Session.Model().Config().VocabSize; id < 0 || id >= size {
			return fmt.Errorf("token %d: id %d, want 0 to %d", i, id, size-1)
		}
	}
	c.Turns = nil
	if len(ids) > 0 {
		c.Begin(ids)
	}
	c.Session.Take(restored)
	return nil
}

// Restore replaces the conversation by one that Save wrote to a file of that size. With a
// *model.RestoreError the conversation is there, and what could not be restored is computed with
// the next answer; with another error nothing has changed.
func (c *Chat) Restore(ctx context.Context, r io.ReaderAt, size int64) error {
	file, err := model.ReadSnapshot(r, size)
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	restored, part := c.Session.Model().Restore(ctx, r, size)
	if restored == nil {
		return part
	}
	if _, err := c.Resume(ctx, file, restored); err != nil {
		restored.Release()
		return fmt.Errorf("snapshot: %w", err)
	}
	return part
}

// What a text that is kept in a file says of the program that made it: number formats, and rules.

// Rules is the version of what options mean. It rises where the same options come to other tokens. By
// version 0 a JSON object may have any names, logit_bias is multiplied by guidance, a biased sequence
// needs a longer context, and the ids that end a text are those of config.json. By version 1 the
// text of a form may be cut.
const Rules = 2

// Formats are the number formats of a model.
type Formats struct {
	Weights string `json:"weights"`
	Cache   string `json:"cache"`
}

// FormatsOf returns the formats of a model.
func FormatsOf(m *model.Model) Formats { return Formats{m.Format(), m.CacheFormat()} }

// Check returns an error if a format is none that exists.
func (f Formats) Check() error {
	if f.Weights == "auto" || !slices.Contains(model.Formats(), f.Weights) {
		return fmt.Errorf("formats: weights %s: want a number format", quote.Short(f.Weights, 40))
	}
	if !slices.Contains(model.CacheFormats(), f.Cache) {
		return fmt.Errorf("formats: cache %s: want one of %s", quote.Short(f.Cache, 40),
			strings.Join(model.CacheFormats(), ", "))
	}
	return nil
}

// Field reads the formats, strictly.
func (f *Formats) Field() strictjson.Field {
	read := func(r *strictjson.Reader) error {
		return strictjson.ReadFields(r, []strictjson.Field{
			strictjson.StringField("weights", &f.Weights),
			strictjson.StringField("cache", &f.Cache),
		})
	}
	return strictjson.Field{Key: "formats", Want: "an object", Read: read}
}

// CheckRules returns an error if a newer program wrote rules, which this one does not know.
func CheckRules(rules int) error {
	if rules > Rules {
		return fmt.Errorf("rules: version %d, this program knows versions up to %d", rules, Rules)
	}
	return nil
}

// RulesField reads the version of the rules; without it they are 0.
func RulesField(to *int) strictjson.Field {
	return optional(strictjson.NaturalField("rules", to))
}
