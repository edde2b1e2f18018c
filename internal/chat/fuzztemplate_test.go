package chat

// Templates and lines of any kind.

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"picogpt/tokenizer"
)

func FuzzTemplate(f *testing.F) {
	tok := tokenizer.GPT2()
	const end = 50256
	for _, source := range []string{Plain, DialoGPT, `{{.Role}}: {{.Text}}<|endoftext|>`, `{{range $i, $c := .Text}}{{$i}}{{end}}{{.Text}}`,
		`{{define "a"}}{{template "a"}}{{end}}{{.Text}}`, `{{printf "%99d" .Turn}}{{.Text | html}}`, `{{`, `{{.No}}`, `{{slice .Text 3}}`,
		`{{with $x := print .Text .Text}}{{$x}}{{end}}`} {
		f.Add(source, "Hello <|endoftext|> \x00 é", 1, true)
	}
	f.Fuzz(func(t *testing.T, source, line string, turn int, ended bool) {
		if len(line) > 4096 {
			t.Skip()
		}
		made, err := New(source, false, tok)
		if err != nil {
			var own *Error
			if strings.Contains(err.Error(), "chattemplate.") && !strings.Contains(source, "chattemplate.") ||
				errors.As(err, &own) && own.message == "" {
				t.Errorf("%q: %v", source, err)
			}
			return
		}
		ids, err := made.Encode(Line{Text: line, Turn: turn, Ended: ended})
		if err != nil {
			return
		}
		if most := mostWritten(line) + 64; len(ids) > most {
			t.Errorf("%d ids, want %d at most", len(ids), most)
		}
		again, err := made.Encode(Line{Text: line, Turn: turn, Ended: ended})
		if err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q, %q: %d ids, then %d, %v", source, line, len(ids), len(again), err)
		}
		if source != Plain && source != DialoGPT { // others may make special tokens of anything
			return
		}
		want := strings.Count(source, "<|endoftext|>")
		if want == 2 && (turn == 0 || ended) {
			want = 1
		}
		found := 0
		for _, id := range ids {
			if id == end {
				found++
			}
		}
		if found != want {
			t.Errorf("%q, %q: %d special tokens, want %d", source, line, found, want)
		}
		text, err := tok.Decode(ids)
		if err != nil || !strings.Contains(text, strings.ToValidUTF8(line, "\uFFFD")) && !strings.Contains(text, line) {
			t.Errorf("%q: %q is %q, %v", source, line, text, err)
		}
	})
}
