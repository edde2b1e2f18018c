package picogpt_test

// Answers as Go values.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"

	"picogpt"
	"picogpt/constrain"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/sample"
)

func ExampleAsk() {
	gpt := openExample()
	defer gpt.Close()
	ctx := context.Background()

	type Child struct {
		Name string `json:"name" jsonschema:"enum=Lily,enum=Tom,enum=Ben"`
		Age  int    `json:"age" jsonschema:"minimum=3,maximum=9"`
		Mood string `json:"mood,omitempty" jsonschema:"enum=happy,enum=sad"`
	}
	child, err := picogpt.Ask[Child](ctx, gpt, "There was a girl named Lily. As JSON: ", picogpt.Options{})
	if err != nil {
		log.Fatal(err) // also if the text was cut before its end
	}
	fmt.Printf("%+v\n", child)

	// Output: {Name:Lily Age:3 Mood:sad}
}

type asked struct {
	Name  string   `json:"name" jsonschema:"maxLength=8"`
	Likes []string `json:"likes" jsonschema:"minItems=1,maxItems=3,enum=ball,enum=park,enum=dog"`
	Next  *asked   `json:"next,omitempty"`
}

// TestAskDecodesWhatIsWritten draws answers, which their tags allow, and asks again with the seed.
func TestAskDecodesWhatIsWritten(t *testing.T) {
	cases.NotShort(t)
	gpt := openExample()
	defer gpt.Close()
	ctx := t.Context()
	whole := 0
	for seed := range uint64(12) {
		o := picogpt.Sampling()
		o.Seed, o.MaxTokens = seed+1, 90
		got, err := picogpt.Ask[asked](ctx, gpt, "Once upon a time, there was ", o)
		if err != nil && strings.HasSuffix(err.Error(), "was cut after 90 tokens by MaxTokens") {
			continue
		}
		again, err2 := picogpt.Ask[asked](ctx, gpt, "Once upon a time, there was ", o)
		if err != nil || err2 != nil || fmt.Sprint(got.Name, got.Likes) != fmt.Sprint(again.Name, again.Likes) {
			t.Fatalf("seed %d: %+v, %v, and then %+v, %v", seed, got, err, again, err2)
		}
		whole++
		for at := &got; at != nil; at = at.Next {
			if len([]rune(at.Name)) > 8 || len(at.Likes) < 1 || len(at.Likes) > 3 ||
				slices.ContainsFunc(at.Likes, func(s string) bool { return !strings.Contains("ball park dog", s) }) {
				t.Errorf("seed %d: %+v", seed, at)
			}
		}
	}
	if whole < 4 {
		t.Errorf("%d of 12 answers are whole, want more", whole)
	}
}

// TestAskSaysWhyThereIsNoAnswer: each error is one line, and the value is zero.
func TestAskSaysWhyThereIsNoAnswer(t *testing.T) {
	cases.NotShort(t)
	gpt := openExample()
	defer gpt.Close()
	ctx := t.Context()
	form, err := constrain.Choice(vocabularyOf(t, gpt), "a")
	if err != nil {
		t.Fatal(err)
	}
	start, err := form.Start()
	if err != nil {
		t.Fatal(err)
	}
	var option *sample.OptionError
	ended, cancel := context.WithCancel(ctx)
	cancel()
	ask := func(ctx context.Context, o picogpt.Options) error {
		got, err := picogpt.Ask[asked](ctx, gpt, "A girl. ", o)
		if got.Name != "" || got.Likes != nil || got.Next != nil {
			t.Errorf("%+v beside the error %v", got, err)
		}
		return err
	}
	for want, err := range map[string]error{
		"was cut after 3 tokens by MaxTokens": ask(ctx, picogpt.Options{MaxTokens: 3, MayCut: true}),
		"by a stop string":                    ask(ctx, picogpt.Options{Stop: []string{"me"}}),
		"by the end of the model's context":   askLong(t, gpt),
		"constraint: want none with Ask":      ask(ctx, picogpt.Options{Constraint: start}),
		"echo: want none with Ask":            ask(ctx, picogpt.Options{Echo: decode.EchoPrompt}),
		"context canceled":                    ask(ended, picogpt.Options{}),
		"lookup -1: want 0 (off) or more":     ask(ctx, picogpt.Options{Lookup: -1}),
		"bad.F: type func() has no JSON":      askBad(gpt),
	} {
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, want)
		}
		var cut *picogpt.CutError
		if by := strings.Contains(want, "by "); errors.As(err, &cut) != by ||
			by && (!strings.HasSuffix(want, cut.By) || !strings.HasPrefix(cut.Text, "{") || cut.Tokens == 0) {
			t.Errorf("%v: cut %+v, want %s", err, cut, want)
		}
		if strings.Contains(want, "want none") && !errors.As(err, &option) {
			t.Errorf("%v is no OptionError", err)
		}
	}
}

func askBad(gpt *picogpt.GPT) error {
	type bad struct{ F func() }
	_, err := picogpt.Ask[bad](context.Background(), gpt, "A girl. ", picogpt.Options{})
	return err
}

func askLong(t *testing.T, gpt *picogpt.GPT) error {
	type long struct {
		F string `jsonschema:"minLength=4000"`
	}
	_, err := picogpt.Ask[long](t.Context(), gpt, "A girl. ", picogpt.Options{MayCut: true})
	return err
}

func vocabularyOf(t *testing.T, gpt *picogpt.GPT) *constrain.Vocabulary {
	t.Helper()
	v, err := constrain.VocabularyOf(gpt.Tokenizer(), gpt.Model().Config().EndTokens())
	if err != nil {
		t.Fatal(err)
	}
	return v
}
