package main

// The process on a terminal.

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"picogpt/dev/cases"
	"picogpt/dev/testterminal"
)

// theEnd is what a test writes to a terminal behind all that a program has written.
const theEnd = "the end"

// readToTheEnd returns what a screen shows until theEnd.
func readToTheEnd(t *testing.T, screen io.Reader) string {
	t.Helper()
	var shown strings.Builder
	for b := make([]byte, 4096); !strings.Contains(shown.String(), theEnd); {
		n, err := screen.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(b[:n])
	}
	return shown.String()
}

// onTerminal runs gpt with stdout on a terminal of that many columns, and returns what it prints
// there.
func onTerminal(t *testing.T, columns uint16, args ...string) string {
	t.Helper()
	screen, terminal := testterminal.Open(t)
	testterminal.Resize(t, terminal, columns)
	cmd := exec.Command("gpt", args...)
	cmd.Stdout = terminal
	err := cmd.Start()
	terminal.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(screen) // ends with an error when the process closes its side
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// smallPipe lets a pipe hold 4 kB at most.
func smallPipe(t *testing.T, f *os.File) {
	t.Helper()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
}

func TestHelpIsAsWideAsTheTerminalAnd80InAPipe(t *testing.T) {
	for _, columns := range []uint16{60, 80, 120} {
		want := helpPages(t, int(columns))["generate"]
		if got := onTerminal(t, columns, "generate", "--help"); got != want {
			t.Errorf("%d columns: got\n%s\nwant\n%s", columns, got, want)
		}
	}
	piped, err := exec.Command("gpt", "generate", "--help").Output()
	if want := helpPages(t, 80)["generate"]; err != nil || string(piped) != want {
		t.Errorf("in a pipe: %v, got\n%s\nwant\n%s", err, piped, want)
	}
}

// TestPerplexitiesHave6DigitsOnATerminal, and all of them in a pipe and in --json.
func TestPerplexitiesHave6DigitsOnATerminal(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	text := write(t, dir, "a.txt", "Tom had a ball.\nLily ran to him.\n")
	examples := write(t, dir, "a.jsonl", `{"text":"Lily ran to Tom"}`+"\n"+`{"text":"Tom had a ball"}`+"\n")
	short := func(s string) string { // each number with a fraction to 6 digits
		return regexp.MustCompile(`[0-9]+\.[0-9]{3,}`).ReplaceAllStringFunc(s, func(number string) string {
			x, err := strconv.ParseFloat(number, 64)
			if err != nil {
				t.Fatal(err)
			}
			return strconv.FormatFloat(x, 'g', 6, 64)
		})
	}
	for _, args := range [][]string{
		{"perplexity", text}, {"perplexity", "--protocol", "llama.cpp", "--window", "6", text},
		{"eval", "lambada", examples}, {"score", "--summary", text},
	} {
		piped, err := exec.Command("gpt", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := short(string(piped))
		if args[0] == "score" { // but for its sum
			sum := regexp.MustCompile(`"sum_logprob":[^,]*`)
			want = sum.ReplaceAllString(want, sum.FindString(string(piped)))
		}
		if got := onTerminal(t, 80, args...); got != want || want == string(piped) {
			t.Errorf("%q: %s\nwant %s", args, got, want)
		}
		if args[0] == "score" {
			continue
		}
		args = append(args, "--json")
		piped, err = exec.Command("gpt", args...).Output()
		if got := onTerminal(t, 80, args...); err != nil || got != string(piped) {
			t.Errorf("%q: %s\nwant %s", args, got, piped)
		}
	}
}

func write(t *testing.T, dir, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Where a person sees stderr, gpt compress says what came of the text.
func TestCompressTellsBothSizesOnATerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "story.txt")
	text := strings.Repeat("Once upon a time, there was a little girl named Lily. ", 4)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, terminal := testterminal.Open(t)
	cmd := exec.Command("gpt", "compress", file)
	cmd.Stderr = terminal
	err := cmd.Run()
	packed, stat := os.Stat(file + ".gptz")
	if err != nil || stat != nil {
		t.Fatal(err, stat)
	}
	terminal.WriteString(theEnd)
	shown := readToTheEnd(t, screen)
	want := fmt.Sprintf("gpt: %s.gptz: %d B from %d B, %.1f%%\r\n", file, packed.Size(), len(text),
		100*float64(packed.Size())/float64(len(text)))
	if !strings.Contains(shown, want) {
		t.Errorf("the terminal shows %q, want %q", shown, want)
	}
}

// TestProgressEndsBeforeTextThatAProgramBehindThePipeShows on the same terminal. picoGPT is slow
// enough for a line of progress.
func TestProgressEndsBeforeTextThatAProgramBehindThePipeShows(t *testing.T) {
	cases.NotShort(t)
	p := typing(t, "xterm", 80, "sh", "-c",
		`gpt --engine reference -n 6 --temp 0 "Once upon a time, there was a little girl named Lily. `+
			`She loved to play outside in" | fold -s`)
	p.ends(0)
	<-p.over
	text := p.text.String()
	want := "Once upon a time, there was a little girl named Lily. She loved to play outside \r\n" +
		"in the sun. One day,"
	at := strings.Index(text, want)
	if at < 0 || strings.Contains(strings.ReplaceAll(text[at:], "\r\n", ""), "\r") {
		t.Errorf("%q", text)
	}
}
