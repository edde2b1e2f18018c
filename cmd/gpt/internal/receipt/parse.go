package receipt

// Receipts are read strictly: their own keys and no others.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"picogpt/internal/chat"
	"picogpt/internal/strictjson"
)

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
	arithmetic.Optional = true
	fields := []strictjson.Field{
		strictjson.StringField("model", &r.Model),
		r.Formats.Field(),
		arithmetic,
		chat.RulesField(&r.Rules),
		strictjson.IDsField("prompt_ids", &r.PromptIDs),
		strictjson.StringsField("options", &r.Options),
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
			if !has[f.Key] {
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
