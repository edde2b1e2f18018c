package main

// Text of others on a terminal, which must show it and obey nothing in it.

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testterminal"
)

// obeyed finds what a terminal would obey.
var obeyed = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f\x{80}-\x{9f}]`)

// orders are what a text may say to a terminal: set the clipboard, ring, clear, go back.
const orders = "A\x1b]52;c;QQ==\x07\x1b[2J\r\x7f\u009b31m\bB"

// shownOrders are orders as a terminal shows them.
const shownOrders = `A\x1b]52;c;QQ==\x07\x1b[2J\x0d\x7f\x9b31m\x08B`

// TestATerminalIsShownTexts compares what a pipe gets, which are the bytes, with a terminal.
func TestATerminalIsShownTexts(t *testing.T) {
	cases.NotShort(t)
	packed := filepath.Join(t.TempDir(), "packed.gptz")
	pack := exec.Command("gpt", "compress", "--out", packed, "-")
	pack.Stdin = strings.NewReader(orders)
	if out, err := pack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ids, err := exec.Command("gpt", "tokenize", orders).Output()
	if err != nil {
		t.Fatal(err)
	}
	const end = "\n" // tokenize and decompress write it for a terminal alone
	for _, c := range []struct {
		args []string
		end  string
	}{
		{[]string{"generate", "-n", "1", "--seed", "1", orders}, ""},
		{[]string{"generate", "-n", "40", "--seed", "1", "--choice", orders, "x"}, ""},
		{[]string{"generate", "-n", "2", "--samples", "2", "--logit-bias", "\x1b=100", "--temp", "0",
			orders}, ""},
		{[]string{"tokenize", "--decode", strings.TrimSpace(string(ids))}, end},
		{[]string{"decompress", "--out", "-", packed}, ""},
		{[]string{"decompress", "--out", "/dev/stdout", packed}, ""},
		{[]string{"generate", "-n", "1", "--seed", "1", "--out", "/dev/stdout", orders}, ""},
	} {
		bytes, err := exec.Command("gpt", c.args...).Output()
		if err != nil || !obeyed.Match(bytes) {
			t.Errorf("%q in a pipe: %v, %q", c.args, err, bytes)
		}
		shown := onTerminal(t, 80, c.args...)
		if obeyed.MatchString(shown) || !strings.Contains(shown, `\x1b`) {
			t.Errorf("%q on a terminal: %q", c.args, shown)
		}
		raw := onTerminal(t, 80, append([]string{c.args[0], "--raw-control-chars"}, c.args[1:]...)...)
		if raw != string(bytes)+c.end {
			t.Errorf("%q on a terminal, raw: %q, want %q", c.args, raw, string(bytes)+c.end)
		}
	}
}

func TestAChatIsShownToATerminal(t *testing.T) {
	p := chatting(t, "-n", "40", "--choice", orders)
	p.types("Hello\r")
	p.sees("\n" + shownOrders + "\r\n")
	p.sees("> ")
	p.types(ctrlD)
	p.ends(0)
}

// TestNamesOfFilesGiveNoOrders on stderr, whatever that is. A name's line break begins no line.
func TestNamesOfFilesGiveNoOrders(t *testing.T) {
	cases.NotShort(t)
	name := orders + "\ngpt: b.gguf"
	dir := t.TempDir()
	write(t, dir, name, "GGUF")
	for _, args := range [][]string{
		{"-m", name, "x"}, {"inspect", name}, {"tokenize", "-m", name, "x"}, {"eval", "lambada", name},
		{"convert", name, "out"}, {"compare", name, "demo"}, {"pull", name}, {"verify", name},
		{"--adapter", name, "x"}, {"serve", "-m", name}, {"--" + name}, {"--session", name + "/", "x"},
		{"generate", "--prompts", name + ".csv"}, {"decompress", name}, {"classify", "-m", name, "x"},
	} {
		var stderr bytes.Buffer
		cmd := exec.Command("gpt", args...)
		cmd.Dir, cmd.Stderr = dir, &stderr
		err := cmd.Run()
		if err == nil || obeyed.Match(stderr.Bytes()) || stderr.Len() == 0 {
			t.Errorf("%q: %v, %q", args, err, &stderr)
		}
		for line := range strings.Lines(stderr.String()) {
			if strings.HasPrefix(line, "gpt: b.gguf") {
				t.Errorf("%q: a line of the name: %q", args, &stderr)
			}
		}
	}
}

// TestJSONOnATerminalIsTheSameJSON of texts with control characters that JSON does not spell out.
func TestJSONOnATerminalIsTheSameJSON(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	lines := write(t, dir, "lines.txt", "a\x7f\u009b\n")
	for _, args := range [][]string{
		{"-n", "1", "--seed", "1", "--logit-bias", "\x7f=100", "--output", "json", "a"},
		{"choose", "--json", "--choice", "a\x7f\u009b", "--choice", "b", "c"},
		{"score", lines},
		{"--prompts", lines, "-n", "1", "--seed", "1", "--logit-bias", "\x7f=100"},
	} {
		var piped, shown any
		out, err := exec.Command("gpt", args...).Output()
		if err != nil || !obeyed.Match(out) {
			t.Fatalf("%q: %v, %q", args, err, out)
		}
		text := onTerminal(t, 80, args...)
		err = errors.Join(json.Unmarshal(out, &piped), json.Unmarshal([]byte(text), &shown))
		if err != nil || !reflect.DeepEqual(piped, shown) || obeyed.MatchString(text) {
			t.Errorf("%q: %v, on a terminal %q, in a pipe %q", args, err, text, out)
		}
	}
}

// TestJSONInAFileThatIsATerminalIsTheSameJSON as in others.
func TestJSONInAFileThatIsATerminalIsTheSameJSON(t *testing.T) {
	cases.NotShort(t)
	lines := write(t, t.TempDir(), "lines.txt", "a\x7f\u009b\n")
	for _, args := range [][]string{
		{"score", lines},
		{"--prompts", lines, "-n", "1", "--seed", "1", "--logit-bias", "\x7f=100"},
		{"--json", "-n", "1", "--seed", "1", "--logit-bias", "\x7f=100", "a"},
	} {
		out, err := exec.Command("gpt", args...).Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		screen, terminal := testterminal.Open(t)
		err = exec.Command("gpt", append(args, "--out", terminal.Name())...).Run()
		terminal.Close()
		text, _ := io.ReadAll(screen) // ends with an error
		var piped, shown any
		err = errors.Join(err, json.Unmarshal(out, &piped), json.Unmarshal(text, &shown))
		if err != nil || !reflect.DeepEqual(piped, shown) || obeyed.Match(bytes.TrimSpace(text)) {
			t.Errorf("%q: %v, on a terminal %q, in a pipe %q", args, err, text, out)
		}
	}
}
