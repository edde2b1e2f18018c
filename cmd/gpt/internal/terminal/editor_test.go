package terminal

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// editing returns an editor in the middle of a line. No goroutine reads: the test passes the keys.
func editing(f *fakeTerminal) *Editor {
	e := &Editor{terminal: f}
	e.start("> ")
	return e
}

// press passes keys that come at once.
func (e *Editor) pressAll(keys string) (text string, done bool, err error) {
	e.keys = append(e.keys, keys...)
	return e.advance()
}

func TestKeys(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"hello\r", "hello"}, {"hello\n", "hello"},
		{"ello\x01h\r", "hello"}, {"ello\x1b[Hh\r", "hello"}, {"ello\x1bOHh\x1b[4~!\r", "hello!"},
		{"helo\x1b[Dl\r", "hello"}, {"hel\x02\x02\x1b[Cl\x06o\r", "hello"},
		{"helloo\x7f\r", "hello"}, {"hhello\x01\x04\r", "hello"}, {"hhello\x1b[1~\x1b[3~\r", "hello"},
		{"hello world\x17\x7f\r", "hello"}, {"hello world\x1bb\x0b\x7f\r", "hello"},
		{"hello world\x15bye\r", "bye"}, {"ab cd\x17\x01\x19 \r", "cd ab "},
		{"one two three\x01\x1bf\x1bd\r", "one three"}, {"one two\x1b\x7f\r", "one "},
		{"a\xcc\x81\x7f\r", ""}, {"日本\x1b[D語\r", "日語本"}, {"\xff\r", "\ufffd"},
		{"a\tb\r", "a\tb"}, {"a\x00\x16\x1b[99zb\x1b[200~c\x1bxd\r", "abcd"},
		{"/un\t\r", "/undo"}, {"/s\t\t\r", "/seed"}, {"/s\t\t\t\r", "/set"}, {"/x\t\r", "/x"},
		{"\x1b[A\r", "second"}, {"\x1b[A\x1b[A\r", "first"}, {"\x1b[A\x1b[A\x1b[A\r", "first"},
		{"f\x1b[A\r", "first"}, {"new\x1b[A\x10\x0e\r", "new"}, {"\x1b[A\x10\x0e!\r", "second!"},
		{"hello\x0c\r", "hello"},
	} {
		for _, single := range []bool{false, true} {
			f := newFake(20, 5)
			e := editing(f)
			e.history = []string{"first", "second"}
			e.line.past = 2
			e.Complete = func(line string) (names []string) {
				for _, name := range []string{"/undo", "/set", "/seed"} {
					if strings.HasPrefix(name, line) {
						names = append(names, name)
					}
				}
				return names
			}
			if c.keys == "/s\t\t\t\r" || c.keys == "/s\t\t\r" { // it goes round
				e.Complete = func(string) []string { return []string{"/set", "/seed"} }
			}
			bursts := []string{c.keys}
			if single {
				bursts = nil
				for i := range len(c.keys) { // bytes, not characters
					bursts = append(bursts, c.keys[i:i+1])
				}
			}
			var got string
			done := false
			for i, burst := range bursts {
				var err error
				if got, done, err = e.pressAll(burst); err != nil || done != (i == len(bursts)-1) {
					t.Fatalf("%q: done %v after %q, error %v", c.keys, done, burst, err)
				}
			}
			if got != c.want {
				t.Errorf("%q: line %q, want %q", c.keys, got, c.want)
			}
		}
	}
}

func TestTheEndsOfLines(t *testing.T) {
	for keys, want := range map[string]error{"\x04": io.EOF, "text\x03": ErrAborted} {
		if _, done, err := editing(newFake(20, 5)).pressAll(keys); !done || !errors.Is(err, want) {
			t.Errorf("%q: done %v, error %v, want %v", keys, done, err, want)
		}
	}
	// What follows a line is the next line's.
	e := editing(newFake(20, 5))
	var got []string
	for keys := "one\rtwo\r"; len(got) < 2; keys = "" {
		text, done, err := e.pressAll(keys)
		if !done || err != nil {
			t.Fatalf("done %v, error %v", done, err)
		}
		got = append(got, text)
		e.start("> ")
	}
	if want := []string{"one", "two"}; !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}

// TestTheScreenShowsTheLine presses random keys on terminals of several sizes.
func TestTheScreenShowsTheLine(t *testing.T) {
	cases.NotShort(t)
	keys := []string{"a", "b", " ", "x y", "日", "e\u0301", "long words of a line ", "\x01", "\x05",
		"\x1b[D", "\x1b[D", "\x1b[C", "\x7f", "\x04", "\x17", "\x0b", "\x19", "\t.", "\x1bb", "\x1bf",
		"\x1b[A", "\x1b[B", "日本語の長い文章です", "\x0c"}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := newFake(10+rng.IntN(12), 1+rng.IntN(6))
		e := editing(f)
		e.history = []string{"a line that was", "another", strings.Repeat("very ", 30) + "long"}
		e.line.past = 3
		for range 60 {
			key := strings.Repeat(keys[rng.IntN(len(keys))], 1+rng.IntN(2))
			if key[0] == ctrlD && e.line.at == 0 {
				continue // it may end the line
			}
			e.pressAll(key)
			shown := strings.ReplaceAll("> "+string(e.line.text), "\t", " ")
			before := strings.ReplaceAll("> "+string(e.line.text[:e.line.at]), "\t", " ")
			f.check(t, shown, before)
		}
	}
}

// TestAPasteIsDrawnOnce: twice the text writes at most twice the bytes, for any bursts, at any
// position.
func TestAPasteIsDrawnOnce(t *testing.T) {
	const burst = 4095 // as Linux gives them
	written := func(n int, before string) int {
		f := newFake(80, 24)
		e := editing(f)
		e.pressAll(before)
		f.written = 0
		for text := strings.Repeat("all work and no play ", n/21); text != ""; {
			part := text[:min(burst, len(text))]
			e.pressAll(part)
			text = text[len(part):]
		}
		text, done, err := e.pressAll("\r")
		if !done || err != nil || len(text) < n-21 {
			t.Fatalf("a line of %d bytes, done %v, error %v", len(text), done, err)
		}
		return f.written
	}
	for _, before := range []string{"", "the end\x01"} {
		const n = 1 << 16
		one, two := written(n, before), written(2*n, before)
		if two > 2*one+4096 || one > 2*n {
			t.Errorf("after %q: %d bytes are written for %d, %d for %d", before, one, n, two, 2*n)
		}
	}
}

func TestCtrlZGivesTheTerminalBackAndTakesItAgain(t *testing.T) {
	f := newFake(40, 10)
	e := newEditor(f)
	lines := make(chan string)
	next := func() {
		text, err := e.Line("> ")
		if err != nil {
			t.Error(err)
		}
		lines <- text
	}
	go next()
	f.types("half \x1aa")
	f.types(" line\r")
	if got := <-lines; got != "half a line" {
		t.Errorf("line %q", got)
	}
	f.types("\x1a") // between lines
	f.types("next\r")
	go next()
	if got := <-lines; got != "next" {
		t.Errorf("line %q", got)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if want := []mode{asItWas, asItWas}; !slices.Equal(f.suspended, want) {
		t.Errorf("suspended in modes %v, want %v", f.suspended, want)
	}
	if f.mode() != quiet {
		t.Errorf("mode %v after the line, want %v", f.mode(), quiet)
	}
}
