package textio

// Ids as users write them, and as they are written.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// ParseIDs reads ids as a JSON array, or separated by commas or space.
func ParseIDs(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	var words []string
	if strings.HasPrefix(s, "[") {
		var values []json.RawMessage
		if err := json.Unmarshal([]byte(s), &values); err != nil {
			return nil, fmt.Errorf("want a JSON array of ids: %w", err)
		}
		for _, v := range values {
			words = append(words, string(bytes.TrimSpace(v)))
		}
	} else if strings.Contains(s, ",") {
		words = strings.Split(s, ",")
	} else {
		words = strings.Fields(s)
	}
	ids := make([]int, len(words))
	for i, w := range words {
		id, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil {
			return nil, fmt.Errorf("id %d of %d is %s: want a whole number",
				i+1, len(words), quote.Short(w, 40))
		}
		ids[i] = id
	}
	return ids, nil
}

// WriteIDs writes the ids of a text as they become certain, as one JSON array: for GPT-2's kind
// of vocabulary in memory that does not grow with the text.
func WriteIDs(w io.Writer, t *tokenizer.Tokenizer, text io.Reader) error {
	e := t.NewEncoder(math.MaxInt) // every id
	part, out, n := make([]byte, 64<<10), []byte("["), 0
	add := func(ids []int) {
		for _, id := range ids {
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(id), 10)
		}
	}
	for {
		read, end := text.Read(part)
		if end != nil && end != io.EOF {
			return end
		}
		if _, err := e.Write(part[:read]); err != nil {
			return err
		}
		add(e.Take())
		if end == io.EOF {
			break
		}
		if len(out) >= len(part) {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	ids, _, err := e.End()
	if err != nil {
		return err
	}
	add(ids)
	_, err = w.Write(append(out, "]\n"...))
	return err
}
