package lines

// Questions of multiple choice.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"

	"picogpt/eval"
	"picogpt/internal/quote"
	"picogpt/internal/rows"
)

// Question is the question of an object. delimiter goes between the context and a choice; nil is a
// space where there is none.
func Question(o rows.Object, delimiter *string) (eval.Question, error) {
	before, errBefore := o.Text("context")
	choices, errChoices := rows.List[string](o, "choices", "strings")
	answer := o.Get("answer")
	if err := cmp.Or(errBefore, errChoices); err != nil {
		return eval.Question{}, err
	}
	if before == nil || len(choices) == 0 || answer == nil || string(answer) == "null" {
		return eval.Question{}, errors.New("want context, choices and answer")
	}
	q := eval.Question{Context: *before, Answer: -1}
	var text string
	if json.Unmarshal(answer, &text) != nil {
		if err := json.Unmarshal(answer, &q.Answer); err != nil {
			return q, fmt.Errorf("answer: want a number or one of the choices, found %s",
				quote.Short(string(answer), 40))
		}
		if q.Answer < 0 || q.Answer >= len(choices) {
			return q, fmt.Errorf("answer: %d, want 0 to %d", q.Answer, len(choices)-1)
		}
	}
	for i, choice := range choices {
		if choice == "" {
			return q, fmt.Errorf("choice %d: empty", i)
		}
		if q.Answer < 0 && choice == text {
			q.Answer = i
		}
		q.Bytes = append(q.Bytes, len(choice))
		q.Choices = append(q.Choices, between(q.Context, choice, delimiter)+choice)
	}
	if q.Answer < 0 {
		return q, fmt.Errorf("answer: %s, want a number or one of the choices", quote.Short(text, 40))
	}
	return q, nil
}

// between is what goes between a context and a choice.
func between(context, choice string, delimiter *string) string {
	if delimiter != nil {
		return *delimiter
	}
	last, _ := utf8.DecodeLastRuneInString(context)
	first, _ := utf8.DecodeRuneInString(choice)
	if context == "" || unicode.IsSpace(last) || unicode.IsSpace(first) {
		return ""
	}
	return " "
}
