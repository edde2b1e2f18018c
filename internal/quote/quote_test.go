package quote

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestShort(t *testing.T) {
	for s, want := range map[string]string{
		"ab": `"ab"`, "abc": `"abc"`, "abcd": `"abc"…`, "a\nb": `"a\nb"`, "abé": `"ab"…`,
		"éé":             `"é"…`,
		"\x1b\xff\u009b": `"\x1b\xff"…`, "日": `"日"`, "日本": `"日"…`, `"`: `"\""`, "": `""`,
	} {
		if got := Short(s, 3); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	for s, want := range map[string]string{
		"ab": "ab", `"x"`: `"x"`, "a b": "a b", "é": "é", "abcd": `"abc"…`, "a\n": `"a\n"`,
		"\xff":   `"\xff"`,
		"\u200b": `"\u200b"`, "": "",
	} {
		if got := Plain(s, 3); got != want {
			t.Errorf("%q: %s, want %s", s, got, want)
		}
	}
}

func TestSome(t *testing.T) {
	for want, names := range map[string][]string{
		"": nil, "a": {"a"}, "a, b, c": {"a", "b", "c"}, `a, "b\n", c, 2 more`: {"a", "b\n", "c", "d", "e"},
	} {
		if got := Some(names); got != want {
			t.Errorf("%q: %s, want %s", names, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	path := &fs.PathError{Op: "open", Path: "a\r\nb", Err: fs.ErrNotExist}
	for want, err := range map[string]error{
		"a; b: file does not exist": path, "x: open a; b: file does not exist": fmt.Errorf("x: %w", path),
		"open doors": errors.New("open doors"), "1; 2": errors.New("1\n\n2\n"),
	} {
		if got := OneLine(err); got != want {
			t.Errorf("%q: %q, want %q", err, got, want)
		}
	}
}
