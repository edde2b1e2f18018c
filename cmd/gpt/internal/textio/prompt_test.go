package textio

import (
	"io"
	"strings"
	"testing"
)

func TestLineReader(t *testing.T) {
	for text, want := range map[string]string{"": "\n", "a": "a\n", "a\n": "a\n", "\n": "\n", "a\nb": "a\nb\n"} {
		for _, file := range []io.Reader{strings.NewReader(text), dataAndEnd{strings.NewReader(text)}} {
			got, err := io.ReadAll(io.MultiReader(line(file), strings.NewReader("z")))
			if string(got) != want+"z" || err != nil {
				t.Errorf("%q: %q, %v; want %q", text, got, err, want+"z")
			}
		}
	}
}

// dataAndEnd returns io.EOF with the last bytes, as a reader may.
type dataAndEnd struct{ *strings.Reader }

func (r dataAndEnd) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if r.Len() == 0 {
		err = io.EOF
	}
	return n, err
}
