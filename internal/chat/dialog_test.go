package chat

// Conversations as ids: what is saved and restored goes on with the same ids and bits.

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/decode"

	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

var ctx = context.Background()

// open returns a conversation with the demo, without turns.
func open(t *testing.T, template string, o model.Options) *Chat {
	t.Helper()
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o.Digest == nil {
		o.Digest = c.Digest
	}
	m, err := model.New(ctx, c.Config, c.Tensors, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	made, err := New(template, false, tokenizer.GPT2())
	if err != nil {
		t.Fatal(err)
	}
	return &Chat{Session: m.NewSession(), Tokenizer: tokenizer.GPT2(), Template: made}
}

// say answers a line.
func say(t *testing.T, c *Chat, line string, o decode.Options) {
	t.Helper()
	o.Vocabulary = c.Tokenizer
	for _, err := range c.Answer(ctx, line, o) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func save(t *testing.T, c *Chat) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := c.Save(ctx, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func restore(c *Chat, b []byte) error { return c.Restore(ctx, bytes.NewReader(b), int64(len(b))) }

// ids are those of all turns, line and answer apart.
func ids(c *Chat) (all [][]int) {
	for _, t := range c.Turns {
		all = append(all, t.PromptIDs, t.IDs)
	}
	return all
}

func sameIDs(t *testing.T, what string, got, want *Chat) {
	t.Helper()
	if !slices.EqualFunc(ids(got), ids(want), slices.Equal) || len(got.Turns) == 0 {
		t.Errorf("%s: %v, want %v", what, ids(got), ids(want))
	}
}

// TestARestoredConversationGoesOnWithTheSameIDs: also where a stop string cuts a token, and where
// the context slides.
func TestARestoredConversationGoesOnWithTheSameIDs(t *testing.T) {
	o := decode.Options{MaxTokens: 30, Stop: []string{"er", "."}}
	o.Temperature, o.Seed = 0.9, 5
	lines := []string{"Once upon a time", "The dog", strings.Repeat("They ran and ran. ", 50), "Then"}
	whole := open(t, Plain, model.Options{})
	for _, line := range lines {
		say(t, whole, line, o)
	}
	if whole.Turns[2].Dropped == 0 || whole.Turns[0].FinishReason != decode.FinishStop {
		t.Fatal("want a context that slides, and a stop string")
	}
	parts := open(t, Plain, model.Options{})
	for i, line := range lines {
		say(t, parts, line, o)
		file := save(t, parts)
		parts = open(t, "{{.Text}} of another template", model.Options{Threads: 1 + i})
		if err := restore(parts, file); err != nil {
			t.Fatal(err)
		}
		if n := parts.Session.Len(); n == 0 || n < len(parts.IDs())-31 {
			t.Errorf("turn %d: %d of %d tokens are there", i, n, len(parts.IDs()))
		}
	}
	sameIDs(t, "saved and restored after each turn", parts, whole)
	if text := parts.Text(&parts.Turns[0]); text != whole.Turns[0].Answer {
		t.Errorf("the text of an answer is %q, want %q", text, whole.Turns[0].Answer)
	}
	// What is taken back leaves no trace.
	if err := parts.Undo(3); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		say(t, parts, line, o)
	}
	sameIDs(t, "taken back and said again", parts, whole)
	for _, n := range []int{0, -1, 5} {
		if parts.Undo(n) == nil {
			t.Errorf("%d turns of 4 are taken back", n)
		}
	}
}

func TestAnAnswerThatIsStopped(t *testing.T) {
	c := open(t, Plain, model.Options{})
	o := decode.Options{Vocabulary: c.Tokenizer, MaxTokens: 9}
	ended, cancel := context.WithCancel(ctx)
	defer cancel()
	n := 0
	var failed error
	for _, err := range c.Answer(ended, "Once", o) {
		if failed = err; err == nil {
			if n++; n == 3 {
				cancel()
			}
		}
	}
	if !errors.Is(failed, context.Canceled) || len(c.Turns) != 1 || len(c.Turns[0].IDs) != 3 ||
		c.Turns[0].FinishReason != Interrupted {
		t.Errorf("after 3 tokens: %v, turns %+v", failed, c.Turns)
	}
	for range c.Answer(ctx, "upon", o) {
		break
	}
	if len(c.Turns) != 2 || len(c.Turns[1].IDs) != 1 {
		t.Errorf("after a break: turns %+v", c.Turns)
	}
	for _, err := range c.Answer(ended, "a", o) {
		if failed = err; err == nil {
			t.Error("a token of a context that has ended")
		}
	}
	if !errors.Is(failed, context.Canceled) || len(c.Turns) != 2 {
		t.Errorf("without a token: %v, turns %+v", failed, c.Turns)
	}
}

// TestAFileOfAnotherModel: a conversation goes on where its lines have the same ids, and is left
// alone where they have not.
func TestAFileOfAnotherModel(t *testing.T) {
	c := open(t, DialoGPT, model.Options{})
	say(t, c, "Hello", decode.Options{MaxTokens: 4})
	say(t, c, "How are you?", decode.Options{MaxTokens: 4})
	file := save(t, c)
	digest := func() (string, error) { return "another", nil }
	other := open(t, Plain, model.Options{Digest: digest})
	var part *model.RestoreError
	if err := restore(other, file); !errors.As(err, &part) || other.Session.Len() != 0 {
		t.Errorf("another model: %v", err)
	}
	sameIDs(t, "another model", other, c)

	var tokens bytes.Buffer
	if err := c.Session.Save(ctx, &tokens); err != nil {
		t.Fatal(err)
	}
	c.Turns[0].PromptIDs[0]++ // as another tokenizer would have it
	file = save(t, c)
	other = open(t, Plain, model.Options{Digest: digest})
	if err := restore(other, file); !errors.Is(err, ErrOther) || len(other.Turns) > 0 {
		t.Errorf("another tokenizer: %v, %d turns", err, len(other.Turns))
	}
	if err := restore(other, tokens.Bytes()); !errors.Is(err, ErrOther) {
		t.Errorf("tokens of another model: %v", err)
	}
	if err := restore(c, tokens.Bytes()); err != nil || len(c.Turns) != 1 ||
		!slices.Equal(c.Turns[0].PromptIDs, c.Session.Tokens()) {
		t.Errorf("tokens without a conversation: %v, %+v", err, c.Turns)
	}
	say(t, c, "Hello", decode.Options{MaxTokens: 1})
}

// TestDamagedConversations: a damaged file gives the conversation or an error, and never another
// one.
func TestDamagedConversations(t *testing.T) {
	c := open(t, Plain, model.Options{})
	say(t, c, strings.Repeat("They ran and ran. ", 12), decode.Options{MaxTokens: 20})
	file := save(t, c)
	fresh := open(t, Plain, model.Options{})
	part := 0
	for i := range 40 {
		damaged := slices.Clone(file)
		damaged[len(file)*i/40] ^= 4
		err := restore(fresh, damaged)
		var restored *model.RestoreError
		if errors.As(err, &restored) {
			part++
		}
		if err == nil || restored != nil {
			sameIDs(t, "a damaged file", fresh, c)
		}
		fresh.Turns = nil
	}
	if part < 20 {
		t.Errorf("%d of 40 files are taken in part, want most", part)
	}
	for _, b := range [][]byte{nil, []byte("text"), file[:9000]} {
		if err := restore(fresh, b); err == nil || len(fresh.Turns) > 0 {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
}
