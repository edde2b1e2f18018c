package picture

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/dev/docs"
)

func TestAScreen(t *testing.T) {
	for _, c := range []struct{ written, want string }{
		{"one\r\ntwo", "one|two"},
		{"abcdefghijkl", "abcdefghij|kl"}, // wide as the screen
		{"abcdefghij\r\nk", "abcdefghij|k"},
		{"ab\rc", "cb"}, {"ab\bc", "ac"}, {"abc\x1b[2Dx", "axc"}, {"ab\r\ncd\x1b[Ax", "abx|cd"},
		{"abc\r\nd\x1b[A\r\x1b[J", ""}, {"abc\r\x1b[Cx\x1b[K", "ax"}, {"a\x1b[3Cx", "a   x"},
		{"\x1b[1;31ma\x1b[0mb\x1b[30;48;5;157mc", "abc"}, {"“é…”", "“é…”"},
	} {
		s := NewScreen(10)
		if err := s.Write(c.written); err != nil {
			t.Errorf("%q: %v", c.written, err)
		}
		var lines []string
		for _, row := range s.rows {
			var line strings.Builder
			for _, c := range row {
				line.WriteRune(c.r)
			}
			lines = append(lines, line.String())
		}
		if got := strings.Join(lines, "|"); got != c.want {
			t.Errorf("%q: %q, want %q", c.written, got, c.want)
		}
	}
	for _, written := range []string{"\x1b[2J", "\x1b[", "\x1b]0;title\a", "\x1b[?25l", "\a",
		"\x1b[7m", "\x1b[38;2;1;2;3m"} {
		if NewScreen(10).Write(written) == nil {
			t.Errorf("%q: no error", written)
		}
	}
}

func TestTheDrawingOfAScreen(t *testing.T) {
	s := NewScreen(20)
	if err := s.Write("\x1b[1;34mA&B\x1b[0m  \x1b[48;5;157m two \x1b[0m███"); err != nil {
		t.Fatal(err)
	}
	got := string(s.SVG("a <title>"))
	for _, want := range []string{
		`width="200" height="52"`, `<title>a &lt;title&gt;</title>`,
		`<text x="16" y="31" textLength="25.2" font-weight="600" fill="#0969da">A&amp;B</text>`,
		`<rect x="58" y="16" width="42" height="20" fill="#afffaf"/>`, // the colour has the spaces, too
		`<text x="66.4" y="31" textLength="25.2">two</text>`,
		`<rect x="100" y="19" width="25.2" height="14"`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("want %s in\n%s", want, got)
		}
	}
}

func TestAMarkedPNGIsOne(t *testing.T) {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		t.Fatal(err)
	}
	a, other := marked(b.Bytes(), digest([][]byte{{1}, {2}})), digest([][]byte{{1, 2}})
	if _, err := png.Decode(bytes.NewReader(a)); err != nil {
		t.Error(err)
	}
	if !bytes.Contains(a, digest([][]byte{{1}, {2}})) || bytes.Contains(a, other) {
		t.Error("the mark is not that of the parts")
	}
}

func TestEveryPictureIsShown(t *testing.T) {
	pictures, err := filepath.Glob(project + "docs/pictures/*")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("pictures: %v, %v", pictures, err)
	}
	documents, err := docs.Files(project)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, file := range pictures {
		if !strings.Contains(all.String(), "pictures/"+filepath.Base(file)+")") {
			t.Errorf("%s is in no document", file)
		}
	}
}

func TestADifferenceHasTheLinesThatDiffer(t *testing.T) {
	many := strings.Repeat("x\n", 20)
	for _, c := range []struct{ file, now, want string }{
		{"a\nb\nc\n", "a\nd\nc\n", "- b\n+ d\n"},
		{"a\nc\n", "a\nb\nc\n", "+ b\n"},
		{"a\nb\n", "a\n", "- b\n"},
		{"a\n", "a\n" + many, strings.Repeat("+ x\n", 12) + "+ and 8 lines more\n"},
	} {
		if got := difference(c.file, c.now); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.file, c.now, got, c.want)
		}
	}
}
