package main

import (
	"testing"

	"picogpt/internal/fault"
	"picogpt/tokenizer"
)

func TestFlagsNameOneToken(t *testing.T) {
	texts, ids := tokenNames{tokenizer: tokenizer.GPT2()}, tokenNames{byID: true}
	for _, c := range []struct {
		n     tokenNames
		value string
		id    int
		err   string
	}{
		{texts, " Paris", 6342, ""},
		{texts, "<|endoftext|>", 50256, ""},
		{texts, "12", 1065, ""},
		{texts, " Eiffel Tower", 0,
			`--target " Eiffel Tower": want one token, found 4: " E" "iff" "el" " Tower"`},
		{texts, "a b c d e f g", 0,
			`--target "a b c d e f g": want one token, found 7: "a" " b" " c" " d" " e" " f" …`},
		{texts, "", 0, "--target: want a token, found nothing"},
		{ids, "12", 12, ""},
		{ids, " Paris", 0,
			`--target " Paris": want the id of a token, because the prompt was given as ids`},
	} {
		id, err := c.n.find("--target", c.value)
		if err != nil && err.Error() == c.err {
			continue
		}
		if err != nil || id != c.id {
			t.Errorf("%q: %d, %v, want %d %s", c.value, id, err, c.id, c.err)
		}
	}
	_, err := texts.find("--target", "two tokens")
	if want := `most tokens of words begin with their space: --target " dog"`; fault.HintOf(err) != want {
		t.Errorf("hint %q, want %q", fault.HintOf(err), want)
	}
	if got := texts.name(6342) + ids.name(6342) + texts.name(50257); got != " Paris#6342#50257" {
		t.Errorf("names %q", got)
	}
}

func TestPositionsCountFromTheEndToo(t *testing.T) {
	for at, want := range map[int]int{0: 0, 2: 2, -1: 2, -3: 0} {
		if got, err := position("--at", at, 3); err != nil || got != want {
			t.Errorf("%d: %d, %v, want %d", at, got, err, want)
		}
	}
	for at, want := range map[int]string{3: "--at 3: want 0 to 2, or -1 (the last) to -3",
		-4: "--at -4: want 0 to 2, or -1 (the last) to -3"} {
		if _, err := position("--at", at, 3); err == nil || err.Error() != want {
			t.Errorf("%d: %v, want %s", at, err, want)
		}
	}
}
