package quote

import (
	"bytes"
	"errors"
	"testing"
)

func TestATerminalIsShownControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"a\n\tb é 日 👩\u200d🚀\u202e":   "a\n\tb é 日 👩\u200d🚀\u202e",
		"\x1b]52;c;QQ==\x07":          `\x1b]52;c;QQ==\x07`,
		"12\r3\x00\b\v\f\x1f\x7f":     `12\x0d3\x00\x08\x0b\x0c\x1f\x7f`,
		"\u0080\u009b31m\u009f\u00a0": `\x80\x9b31m\x9f` + "\u00a0",
		"\x9b31m\x80\x9f\xa0\xff":     `\x9b31m\x80\x9f` + "\xa0\xff",
		"\xe6\x97":                    "\xe6" + `\x97`, // cut short
		"\xe6\x97\n\xc2":              "\xe6" + `\x97` + "\n\xc2",
		"\xc2A\xe2\x80\x1b":           "\xc2A\xe2" + `\x80\x1b`,
		"\xf0\x9f\x91\x1b\xc0\x9b":    "\xf0" + `\x9f\x91\x1b` + "\xc0" + `\x9b`,
		"\xed\xa0\x80":                "\xed\xa0" + `\x80`, // half of a pair
	} {
		for cut := range len(text) + 1 { // two Writes, also inside characters
			var b bytes.Buffer
			s := NewShown(&b)
			for _, part := range []string{text[:cut], text[cut:]} {
				if n, err := s.Write([]byte(part)); n != len(part) || err != nil {
					t.Errorf("%q: %d, %v", part, n, err)
				}
			}
			if err := s.Flush(); err != nil || b.String() != want {
				t.Errorf("%q, %q: %v, %q, want %q", text[:cut], text[cut:], err, b.String(), want)
			}
		}
	}
}

func TestShownJSONIsTheSameJSON(t *testing.T) {
	var b bytes.Buffer
	NewShownJSON(&b).Write([]byte("{\"a\":\"\x7f\u009bé\"}\n"))
	if want := `{"a":"\u007f\u009bé"}` + "\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestShownTellsErrors(t *testing.T) {
	s := NewShown(failing{})
	if n, err := s.Write([]byte("a")); n != 0 || err != errFull {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := s.Write([]byte("\xe6")); n != 1 || err != nil { // which waits
		t.Errorf("%d, %v", n, err)
	}
	if err := s.Flush(); err != errFull {
		t.Error(err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
