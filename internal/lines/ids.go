package lines

// Scores of ids, where a checkpoint has no tokenizer.

import (
	"strconv"
	"strings"

	"picogpt/tokenizer"
)

// IDs is an eval.Tokenizer for checkpoints without a tokenizer, whose requests give ids. The text
// of a token is Before and its number; if Before is "", it is empty.
type IDs struct {
	Before  string
	Missing error // the error for a text
}

// Encode returns Missing: a text has no ids.
func (t IDs) Encode(string) ([]int, error) { return nil, t.Missing }

// EncodeSpans returns Missing.
func (t IDs) EncodeSpans(string) ([]int, []tokenizer.Span, error) { return nil, nil, t.Missing }

// DecodeSpans concatenates the texts of ids.
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

// Text returns the text of an id.
func (t IDs) Text(id int) (string, error) {
	if t.Before == "" {
		return "", nil
	}
	return t.Before + strconv.Itoa(id), nil
}
