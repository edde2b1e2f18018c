package scorelines

// Scores of ids, where a checkpoint has no tokenizer.

import (
	"strconv"
	"strings"

	"picogpt/tokenizer"
)

// IDs is an eval.Tokenizer that stands in where a checkpoint has none and ids are given. A token's
// text is Before and its number; without Before, nothing.
type IDs struct {
	Before  string
	Missing error // why a text has no ids
}

// Encode has no ids for a text.
func (t IDs) Encode(string) ([]int, error) { return nil, t.Missing }

// EncodeSpans has none either.
func (t IDs) EncodeSpans(string) ([]int, []tokenizer.Span, error) { return nil, nil, t.Missing }

// DecodeSpans puts the texts of ids together.
func (t IDs) DecodeSpans(ids []int) (string, []tokenizer.Span, error) {
	var text strings.Builder
	spans := make([]tokenizer.Span, len(ids))
	for i, id := range ids {
		token, _ := t.Text(id)
		spans[i] = tokenizer.Span{Start: text.Len(), End: text.Len() + len(token)}
		text.WriteString(token)
	}
	return text.String(), spans, nil
}

// Text is the text of an id.
func (t IDs) Text(id int) (string, error) {
	if t.Before == "" {
		return "", nil
	}
	return t.Before + strconv.Itoa(id), nil
}
