// Package receipt records how the texts of a prompt were generated: the options, the ids, and digests
// of the logits before each of them; or what may come next. gpt generate --receipt and gpt next
// --receipt write receipts, and gpt verify makes the same again.
package receipt

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/engine"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Longest is the most bytes of a receipt that is read: the ids of a very long text.
const Longest = 256 << 20

// A Receipt records what came of one prompt: one text, several texts, or what may come next.
type Receipt struct {
	Build      string            `json:"build,omitempty"` // what wrote it, which verify ignores
	Model      string            `json:"model"`           // its digest
	Formats    chat.Formats      `json:"formats"`
	Arithmetic int               `json:"arithmetic,omitempty"` // version; 0 in older files
	Rules      int               `json:"rules,omitempty"`      // 0 in older files
	PromptIDs  []int             `json:"prompt_ids"`
	Options    []string          `json:"options"`                     // flags as given: --temp=0.9
	Saved      []string          `json:"generation_config,omitempty"` // more, which that file gave
	Files      map[string]string `json:"files,omitempty"`
	Edits      []model.Edit      `json:"edits,omitempty"` // of the model, such as steering's
	Seed       uint64            `json:"seed"`
	*Text                        // nil: Texts or Next has what came
	Texts      []Text            `json:"texts,omitempty"`
	Next       *Next             `json:"next,omitempty"`
	Digest     *string           `json:"digest,omitempty"` // nil in files of older versions
}

// A Text is one text that continues the prompt.
type Text struct {
	IDs          []int    `json:"ids"` // without the one that ended the text
	FinishReason string   `json:"finish_reason"`
	Logits       string   `json:"logits"`       // the digest of all rows
	TokenLogits  []string `json:"token_logits"` // the beginning of each row's digest
	Budget       *Budget  `json:"budget,omitempty"`
}

// A Budget is what a text of a form changed to end within --max-tokens, nil if nothing. Kept is the
// product, over the masks that were narrowed, of the probability of what was left, given that of
// what the form leaves: at the temperature and before other samplers. It is none of the text.
type Budget struct {
	Masks int     `json:"masks"`
	Kept  float64 `json:"kept"`
}

// Add counts a token.
func (b *Budget) Add(t decode.Token) *Budget {
	if !t.Narrowed {
		return b
	}
	if b == nil {
		b = &Budget{Kept: 1}
	}
	return &Budget{b.Masks + 1, b.Kept * t.Kept}
}

// All returns the texts of the receipt.
func (r *Receipt) All() []Text {
	if r.Text != nil {
		return []Text{*r.Text}
	}
	return r.Texts
}

// Tokens counts the ids of all texts.
func (r *Receipt) Tokens() (n int) {
	for _, t := range r.All() {
		n += len(t.IDs)
	}
	return n
}

// CheckArithmetic returns an error if this program's bits are others than the receipt's.
func (r *Receipt) CheckArithmetic() error {
	if r.Arithmetic != 0 && r.Arithmetic != engine.Arithmetic {
		return fmt.Errorf("arithmetic: version %d, this program computes version %d", r.Arithmetic,
			engine.Arithmetic)
	}
	return nil
}

// content returns that of which the digest is: what another build must find again.
func (r Receipt) content() Receipt {
	r.Digest, r.Build = nil, ""
	return r
}

// Check returns an error if a receipt was changed since it was written. One without a digest
// passes.
func (r *Receipt) Check() error { return strictjson.CheckDigest(r.content(), r.Digest) }

// Line returns the receipt as a line of JSON, with its digest.
func (r *Receipt) Line() (line []byte, err error) {
	if r.Digest, err = strictjson.Digest(r.content()); err != nil {
		return nil, err
	}
	return strictjson.Line(r)
}

// Receipts are read strictly: their own keys and no others.

// ParseAll reads the receipts of a file: one, or one on each line.
func ParseAll(text string) ([]*Receipt, error) {
	lines := strings.Split(strings.TrimRight(text, "\r\n"), "\n")
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if len(lines) == 1 || !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}") {
			r, err := Parse(text) // a single one may stand on several lines
			return []*Receipt{r}, err
		}
	}
	all := make([]*Receipt, len(lines))
	for i, line := range lines {
		var err error
		if all[i], err = Parse(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return all, nil
}

// Parse reads an object with the keys of a receipt, and no others.
func Parse(text string) (*Receipt, error) {
	r, one, has := &Receipt{}, &Text{}, map[string]bool{}
	arithmetic := strictjson.NaturalField("arithmetic", &r.Arithmetic)
	build := strictjson.StringField("build", &r.Build)
	saved := strictjson.StringsField("generation_config", &r.Saved)
	arithmetic.Optional, saved.Optional, build.Optional = true, true, true
	fields := []strictjson.Field{
		build,
		strictjson.StringField("model", &r.Model),
		r.Formats.Field(),
		arithmetic,
		chat.RulesField(&r.Rules),
		strictjson.IDsField("prompt_ids", &r.PromptIDs),
		strictjson.StringsField("options", &r.Options),
		saved,
		strictjson.TextsField("files", &r.Files),
		editsField(&r.Edits),
		strictjson.SeedField("seed", &r.Seed),
		strictjson.OptionalStringField("digest", &r.Digest),
	}
	texts := strictjson.ListField("texts", "an array of texts", &r.Texts,
		func(r *strictjson.Reader, t *Text) error { return strictjson.ReadFields(r, t.fields()) })
	for _, f := range append(one.fields(), texts, r.nextField()) {
		read := f.Read
		f.Optional, f.Read = true, func(r *strictjson.Reader) error {
			has[f.Key] = true
			return read(r)
		}
		fields = append(fields, f)
	}
	if err := strictjson.ParseFields(text, fields); err != nil {
		return r, err
	}
	switch {
	case !has["texts"] && !has["next"]:
		for _, f := range one.fields() {
			if !has[f.Key] && !f.Optional {
				return r, fmt.Errorf("%s: missing", f.Key)
			}
		}
		r.Text = one
	case len(has) > 1:
		return r, errors.New("want ids, texts or next, found two of them")
	case has["texts"] && len(r.Texts) == 0:
		return r, errors.New("texts: want at least one, found none")
	}
	return r, nil
}

func (t *Text) fields() []strictjson.Field {
	return []strictjson.Field{
		strictjson.IDsField("ids", &t.IDs),
		strictjson.StringField("finish_reason", &t.FinishReason),
		strictjson.StringField("logits", &t.Logits),
		strictjson.StringsField("token_logits", &t.TokenLogits),
		{Key: "budget", Want: "an object", Optional: true, Read: func(r *strictjson.Reader) error {
			t.Budget = &Budget{}
			return strictjson.ReadFields(r, []strictjson.Field{
				strictjson.NaturalField("masks", &t.Budget.Masks), number("kept", &t.Budget.Kept),
			})
		}},
	}
}

// nextField reads what may come next.
func (r *Receipt) nextField() strictjson.Field {
	return strictjson.Field{Key: "next", Want: "an object", Read: func(in *strictjson.Reader) error {
		r.Next = &Next{}
		return strictjson.ReadFields(in, []strictjson.Field{
			strictjson.ListField("candidates", "an array of candidates", &r.Next.Candidates,
				func(in *strictjson.Reader, c *Candidate) error {
					return strictjson.ReadFields(in, []strictjson.Field{
						strictjson.NaturalField("id", &c.ID),
						number("logprob", &c.LogProb), number("prob", &c.Prob),
					})
				}),
			strictjson.StringField("logits", &r.Next.Logits),
		})
	}}
}

// number reads the bits that a float64 was written with.
func number(key string, to *float64) strictjson.Field {
	return strictjson.Field{Key: key, Want: "a number", Read: func(r *strictjson.Reader) error {
		digits, err := r.Number()
		if err == nil {
			*to, err = strconv.ParseFloat(digits, 64)
		}
		return err
	}}
}

// The edits of a model in a receipt, read strictly.

// editsField reads edits that may be missing; then *to stays nil. Whether a model can make them is
// for model.New to say.
func editsField(to *[]model.Edit) strictjson.Field {
	f := strictjson.ListField("edits", "an array of edits", to, readEdit)
	f.Optional = true
	return f
}

// ParseEdits reads a list of edits as receipts have them, and requests of the server.
func ParseEdits(list string) (all []model.Edit, err error) {
	err = strictjson.ParseFields(`{"edits":`+list+`}`, []strictjson.Field{editsField(&all)})
	return all, err
}

func readEdit(r *strictjson.Reader, e *model.Edit) error {
	var op string
	e.Head = model.AllHeads
	at := strictjson.Field{Key: "at", Want: "the name of a point"}
	at.Read = func(r *strictjson.Reader) error {
		name, err := r.String()
		if err == nil {
			e.At, err = model.ParsePoint(name)
		}
		return err
	}
	values := strictjson.ListField("values", "an array of numbers", &e.Values, readFloat)
	values.Optional = true
	fields := []strictjson.Field{at, strictjson.StringField("op", &op), values}
	for _, number := range []struct {
		key string
		to  *int
	}{{"head", &e.Head}, {"from", &e.From}, {"to", &e.To}, {"keys_from", &e.KeysFrom},
		{"keys_to", &e.KeysTo}} {
		f := strictjson.NaturalField(number.key, number.to)
		f.Optional = true
		fields = append(fields, f)
	}
	err := strictjson.ReadFields(r, fields)
	e.Op = model.Op(op)
	return err
}

func readFloat(r *strictjson.Reader, to *float32) error {
	digits, err := r.Number()
	if err != nil {
		return err
	}
	x, err := strconv.ParseFloat(digits, 32)
	*to = float32(x)
	return err
}

// The receipt of what may come next.

// Next is what may come next, as gpt next shows it.
type Next struct {
	Candidates []Candidate `json:"candidates"`
	Logits     string      `json:"logits"` // the digest of the row
}

// A Candidate is a token that may come next.
type Candidate struct {
	ID      int     `json:"id"`
	LogProb float64 `json:"logprob"` // the model's own
	Prob    float64 `json:"prob"`    // after everything that was asked for
}

// FillNext completes the receipt of what may come next after logits [vocabulary], which has the
// model's digest, the prompt, the options, the files and the seed.
func (r *Receipt) FillNext(m *model.Model, logits []float32, all []Candidate) error {
	r.Formats, r.Arithmetic, r.Edits = chat.FormatsOf(m), engine.Arithmetic, m.Edits()
	sum := rowDigest(logits)
	r.Next = &Next{Candidates: all, Logits: hex.EncodeToString(sum[:])}
	return r.checkFiles()
}

// CompareNext returns an error if what may come next differs.
func (r *Receipt) CompareNext(want *Receipt) error {
	found, wanted := r.Next.Candidates, want.Next.Candidates
	for i, c := range found {
		if i >= len(wanted) {
			break
		}
		if c != wanted[i] {
			return fmt.Errorf("candidate %d of %d differs: id %d with probability %v, want id %d with %v",
				i, len(wanted), c.ID, c.Prob, wanted[i].ID, wanted[i].Prob)
		}
	}
	switch {
	case len(found) != len(wanted):
		return fmt.Errorf("candidates differ: %d, want %d", len(found), len(wanted))
	case r.Next.Logits != want.Next.Logits:
		return fmt.Errorf("logits differ: digest %s, want %s", r.Next.Logits,
			quote.Short(want.Next.Logits, 40))
	}
	return nil
}
