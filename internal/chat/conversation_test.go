package chat

// Conversations in Jinja: rendered anew for each line.

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/model"
)

const ofMessages = `{{ strftime_now('%Y') }}{% for m in messages %}[{{ m.role }}] {{ m.content|trim }}` +
	`{{ '\n' }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`

// TestALineIsReadWithAllBeforeIt: the ids are those of the whole text; where it is too long, the
// oldest messages are left out, and not that of the system.
func TestALineIsReadWithAllBeforeIt(t *testing.T) {
	c := open(t, ofMessages, model.Options{})
	c.System, c.Clock = "Be kind.", time.Date(2024, 7, 4, 0, 0, 0, 0, time.UTC)
	lines := []string{"Once", strings.Repeat("They ran and ran. ", 20), "Then <|endoftext|>",
		strings.Repeat("The dog sat. ", 35), "And?"}
	for i, line := range lines {
		say(t, c, line, decode.Options{MaxTokens: 12})
		held := c.IDs()
		held = held[:len(held)-len(c.Turns[i].IDs)]
		got, err := c.Tokenizer.Decode(held)
		if err != nil {
			t.Fatal(err)
		}
		text := "[assistant]"
		for k := i; k >= 0; k-- {
			more := "[user] " + strings.TrimSpace(lines[k]) + "\n"
			if k < i {
				more += "[assistant] " + strings.TrimSpace(c.Turns[k].Answer) + "\n"
			}
			text = more + text
			if strings.HasPrefix(got, "2024[system] Be kind.\n"+more) && k > 0 {
				break
			}
		}
		text = "2024[system] Be kind.\n" + text
		want, err := c.Tokenizer.WithSpecial().Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(held, want) || len(want) > 512-128 && i > 0 {
			t.Errorf("line %d: %d ids, %q, want %q", i, len(held), got, text)
		}
	}
	if last := c.Turns[len(lines)-1]; last.Cut == 0 {
		t.Error("nothing was left out")
	}
	other := open(t, Plain, model.Options{})
	if err := restore(other, save(t, c)); err != nil || other.System != c.System || !other.Clock.Equal(c.Clock) {
		t.Errorf("%v, system %q, clock %v", err, other.System, other.Clock)
	}
	say(t, c, "More", decode.Options{MaxTokens: 5})
	say(t, other, "More", decode.Options{MaxTokens: 5})
	sameIDs(t, "restored", other, c)
	if !other.hasOwnIDs() {
		t.Error("its lines have other ids")
	}
	other.Turns[1].Text += "?"
	if other.hasOwnIDs() {
		t.Error("another line has the same ids")
	}
}

// TestALongConversationIsReadInLittleWork: of four times the turns, of which few fit, it takes less
// than eight times the bytes.
func TestALongConversationIsReadInLittleWork(t *testing.T) {
	c := open(t, ofMessages, model.Options{})
	ids, err := c.Tokenizer.Encode(" They ran.")
	if err != nil {
		t.Fatal(err)
	}
	positions := c.Session.Model().Config().Positions
	most := positions - min(LongestAnswer, positions/4)
	read := func(n int) uint64 {
		c.Turns = slices.Repeat([]Turn{{Text: "Who ran?", IDs: ids}}, n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		line := Turn{Text: "And then?"}
		if err := c.read(&line); err != nil || len(line.PromptIDs) > most || len(line.PromptIDs) < most-20 {
			t.Errorf("%d turns: %d ids, %v", n, len(line.PromptIDs), err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	read(50)
	if few, many := read(100), read(400); many > 8*few {
		t.Errorf("100 turns take %d bytes, 400 take %d", few, many)
	}
}

// TestNamedTemplates: each renders, and an answer ends before the next speaker.
func TestNamedTemplates(t *testing.T) {
	messages := []Message{{Role: System, Text: "S"}, {Role: User, Text: "a"}, {Role: Assistant, Text: "b"},
		{Role: User, Text: "c"}}
	for _, known := range Named[:4] {
		c := open(t, known.Source, model.Options{})
		c.Template.Tokens = map[string]string{"eos_token": "</s>"}
		got, err := c.Template.render(messages, Ask{Answer: true})
		want := map[string]string{
			"plain":  "S\nUser: a\nAssistant: b\nUser: c\nAssistant:",
			"alpaca": "S\n\n### Instruction:\na\n\n### Response:\nb\n\n### Instruction:\nc\n\n### Response:\n",
			"vicuna": "S\n\nUSER: a ASSISTANT: b</s>USER: c ASSISTANT:",
			"chatml": "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nb<|im_end|>\n" +
				"<|im_start|>user\nc<|im_end|>\n<|im_start|>assistant\n",
		}[known.Name]
		if err != nil || got != want || len(c.Template.Stop) == 0 {
			t.Errorf("%s: %q, %v, want %q", known.Name, got, err, want)
		}
	}
}

// TestAMessageGoesOn: the text ends where transformers ends it.
func TestAMessageGoesOn(t *testing.T) {
	for _, x := range []struct{ template, last, want string }{
		{`{% for m in messages %}<{{ m.content }}>{% endfor %}`, "ab ", "<a><ab "},
		{`{% for m in messages %}<{{ m.content|trim }}>{% endfor %}`, " ab ", "<a><ab"},
		{`{% for m in messages %}<{{ m.content|trim }}>{% endfor %}`, "", "<a><"},
		{`{% for m in messages %}<{{ m.content[:2] }}>{% endfor %}`, "ab", ""},
		{`{{ messages[0].content }}`, "ab", ""},
	} {
		made, err := New(x.template, false, open(t, Plain, model.Options{}).Tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		got, err := made.render([]Message{{Role: User, Text: "a"}, {Role: Assistant, Text: x.last}}, Ask{Continue: true})
		if got != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%s: %q, %v, want %q", x.template, got, err, x.want)
		}
	}
}
