package picogpt

// Ask: an answer as a Go value.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/sample"
)

// Ask returns the value that a text after prompt is JSON of: what the model chooses to write where
// it can write nothing but JSON of a T. [constrain.SchemaFor] says what T may be, and what its tags
// do; that the values make sense is left to the model and the prompt, which may have the schema or
// an example. The form is compiled once for each type.
//
// Bound every string, slice and map of T, as by the tags jsonschema:"maxLength=40" and "maxItems=5":
// a small model often writes on in one until MaxTokens, or the context, makes the answer end.
//
// The zero value comes with an error: those of [GPT.Complete], those of a T that has no schema, a
// [*CutError] if the text was cut before its end, as by Options.MaxTokens, and one for options that
// make or show another text, Constraint and Echo. With Options.Healing, the text that is decoded begins
// after Healing.Bytes.
func Ask[T any](ctx context.Context, g *GPT, prompt string, o Options) (T, error) {
	var answer, none T
	text, err := g.ask(ctx, reflect.TypeFor[T](), prompt, o)
	if err == nil {
		err = json.Unmarshal([]byte(text), &answer)
	}
	if err != nil {
		return none, err
	}
	return answer, nil
}

// A CutError says that an answer ended before its JSON was whole.
type CutError struct {
	Text   string // what there is of it
	Tokens int    // those of the text
	By     string // what cut it: MaxTokens, a stop string, or the end of the model's context
}

func (e *CutError) Error() string {
	return fmt.Sprintf("answer: want whole JSON, found its beginning: %s was cut after %d tokens by %s",
		quote.Short(e.Text, 60), e.Tokens, e.By)
}

// ask returns JSON of a type.
func (g *GPT) ask(ctx context.Context, t reflect.Type, prompt string, o Options) (string, error) {
	switch {
	case o.Constraint != nil:
		return "", &sample.OptionError{Err: errors.New("constraint: want none with Ask, which makes one " +
			"of the type")}
	case o.Echo != decode.EchoNone:
		return "", &sample.OptionError{Err: errors.New("echo: want none with Ask, whose text is JSON")}
	case ctx == nil:
		return "", model.ErrNoContext
	}
	form, err := g.formOf(ctx, t)
	if err != nil {
		return "", err
	}
	start, err := form.Start()
	if err != nil {
		return "", err
	}
	o.Constraint = start
	var text strings.Builder
	tokens := 0
	for t, err := range g.Generate(ctx, prompt, o) {
		if err != nil {
			return "", err
		}
		text.WriteString(t.Text)
		if tokens++; t.Incomplete {
			return "", &CutError{answerOf(text.String(), &o), tokens, cutBy(t.Finish, tokens, &o)}
		}
	}
	return answerOf(text.String(), &o), nil
}

// answerOf returns a text without what healing wrote again.
func answerOf(text string, o *Options) string {
	if o.Healing != nil {
		return strings.TrimPrefix(text, string(o.Healing.Bytes))
	}
	return text
}

// cutBy says what ended an answer too early.
func cutBy(finish string, tokens int, o *Options) string {
	switch {
	case finish == decode.FinishStop:
		return "a stop string"
	case tokens == o.MaxTokens:
		return "MaxTokens"
	}
	return "the end of the model's context"
}

// formOf returns the form of a type, compiled once.
func (g *GPT) formOf(ctx context.Context, t reflect.Type) (*constrain.Constraint, error) {
	if form, ok := g.forms.Load(t); ok {
		return form.(*constrain.Constraint), nil
	}
	v, err := g.vocabulary()
	if err != nil {
		return nil, err
	}
	form, err := constrain.ForType(ctx, constrain.Compiler{Vocabulary: v}, t, constrain.SchemaOptions{})
	if err != nil {
		return nil, err
	}
	g.forms.Store(t, form)
	return form, nil
}
