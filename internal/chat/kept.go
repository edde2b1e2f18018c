package chat

// What a text that is kept in a file says of the program that made it: number formats, and rules.

import (
	"fmt"
	"slices"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Rules is the version of what options mean. It rises where the same options come to other tokens. By
// version 0 a JSON object may have any names, logit_bias is multiplied by guidance, a biased sequence
// needs a longer context, and the ids that end a text are those of config.json.
const Rules = 1

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
		return fmt.Errorf("formats: cache %s: want f32 or f16", quote.Short(f.Cache, 40))
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
	f := strictjson.NaturalField("rules", to)
	f.Optional = true
	return f
}
