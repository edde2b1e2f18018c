package main

// gpt chat on a terminal.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"picogpt/dev/cases"
	"picogpt/dev/testterminal"
	"picogpt/dev/watchdog"
)

// A typist is a person at the terminal of a gpt chat.
type typist struct {
	t      *testing.T
	cmd    *exec.Cmd
	screen *os.File
	mu     sync.Mutex
	text   strings.Builder // all that was on the screen
	seen   int             // of text
	over   chan struct{}   // closed when nothing more comes
}

// chatting starts gpt chat on a terminal, and waits for its prompt.
func chatting(t *testing.T, args ...string) *typist {
	t.Helper()
	return chattingOn(t, "xterm", 80, args...)
}

// chattingOn is chatting on a terminal of some kind and width.
func chattingOn(t *testing.T, kind string, columns uint16, args ...string) *typist {
	t.Helper()
	p := typing(t, kind, columns, "gpt", append([]string{"chat"}, args...)...)
	p.sees("> ")
	return p
}

// typing starts a program on a terminal.
func typing(t *testing.T, kind string, columns uint16, program string, args ...string) *typist {
	t.Helper()
	screen, terminal := testterminal.Open(t)
	testterminal.Resize(t, terminal, columns)
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "TERM="+kind)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	t.Cleanup(func() { cmd.Process.Kill() })
	p := &typist{t: t, cmd: cmd, screen: screen, over: make(chan struct{})}
	go p.watch()
	return p
}

func (p *typist) watch() {
	b := make([]byte, 1<<12)
	for {
		n, err := p.screen.Read(b)
		p.mu.Lock()
		p.text.Write(b[:n])
		p.mu.Unlock()
		if err != nil {
			close(p.over)
			return
		}
	}
}

func (p *typist) types(keys string) {
	p.t.Helper()
	if _, err := p.screen.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// sees waits for a text on the screen, after all that was seen before.
func (p *typist) sees(text string) {
	p.t.Helper()
	for deadline := time.Now().Add(watchdog.Wait); ; time.Sleep(2 * time.Millisecond) {
		p.mu.Lock()
		all := p.text.String()
		p.mu.Unlock()
		if at := strings.Index(all[p.seen:], text); at >= 0 {
			p.seen += at + len(text)
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("no %q on the screen: %q", text, all)
		}
	}
}

// ends waits for the end of the program.
func (p *typist) ends(want int) {
	p.t.Helper()
	watchdog := time.AfterFunc(watchdog.Wait, func() { p.cmd.Process.Kill() })
	defer watchdog.Stop()
	if got := status(p.cmd.Wait()); got != want {
		p.t.Errorf("exit status %d, want %d", got, want)
	}
}

const (
	ctrlA = "\x01"
	ctrlC = "\x03"
	ctrlD = "\x04"
	up    = "\x1b[A"
)

func TestChatOnATerminalEditsLinesAndRemembersThem(t *testing.T) {
	flags := []string{"--seed", "1", "-n", "8"}
	script := exec.Command("gpt", append([]string{"chat"}, flags...)...)
	script.Stdin = strings.NewReader("Once upon a time\nOnce upon a time\n")
	answers, err := script.Output()
	if err != nil {
		t.Fatal(err)
	}
	p := chatting(t, flags...)
	p.types("nce upon a time" + ctrlA + "O\r")
	for answer := range strings.Lines(string(answers)) {
		p.sees("\n" + strings.TrimSuffix(answer, "\n") + "\r\n")
		p.sees("> ")
		p.types(up + "\r")
	}
	p.sees("> ")
	p.types(ctrlD)
	p.ends(0)
}

// endlessDemo writes a demo whose texts never end, and returns its folder.
func endlessDemo(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "endless")
	quantizeDemo(t, dir)
	name := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	endless := bytes.Replace(b, []byte(`"eos_token_id": 50256`), []byte(`"eos_token_id": 50255`), 1)
	if bytes.Equal(endless, b) {
		t.Fatalf("%s: want an eos_token_id of 50256, found %s", name, b)
	}
	if err := os.WriteFile(name, endless, 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCtrlCStopsTheAnswerAndNotTheChat(t *testing.T) {
	cases.NotShort(t)
	p := chatting(t, "-m", endlessDemo(t), "--seed", "1", "-n", "100000000")
	for round := range 2 {
		p.types("Once upon a time\r")
		p.sees("Once upon a time")
		p.sees("\r\n")
		p.sees("e") // of the answer
		p.types(ctrlC)
		p.types("/seed\r")
		p.sees(fmt.Sprintf("the next answer's seed is %d, the last one's was %d", round+2, round+1))
		p.sees("> ")
	}

	// At the prompt it forgets the line, and twice it ends the program.
	p.types("/quit" + ctrlC)
	p.sees("Ctrl-C again or Ctrl-D ends the program")
	p.types("/seed\r")
	p.sees("the next answer's seed is 3")
	p.sees("> ")
	p.types(ctrlC)
	p.sees("Ctrl-C again or Ctrl-D ends the program")
	p.types(ctrlC)
	p.ends(0)
}

// TestCtrlCIsTheSameWhereLinesCannotBeEdited tries terminals that know no cursor, or that have no
// width yet, as containers do, or little.
func TestCtrlCIsTheSameWhereLinesCannotBeEdited(t *testing.T) {
	cases.NotShort(t)
	model := endlessDemo(t)
	for _, c := range []struct {
		kind    string
		columns uint16
	}{{"dumb", 80}, {"xterm", 0}, {"", 0}, {"xterm", 8}} {
		p := chattingOn(t, c.kind, c.columns, "-m", model, "--seed", "1", "-n", "100000000")
		p.types("Once upon a time\n")
		p.sees("Once upon a time")
		p.sees("\r\n")
		p.sees("e") // of the answer
		p.types(ctrlC)
		p.sees("> ")
		p.types("/seed\n")
		p.sees("the next answer's seed is 2, the last one's was 1")
		p.sees("> ")
		p.types("/quit" + ctrlC)
		p.sees("Ctrl-C again or Ctrl-D ends the program")
		p.sees("> ")
		p.types("/seed\n")
		p.sees("the next answer's seed is 2")
		p.sees("> ")
		p.types(ctrlC)
		p.sees("Ctrl-C again or Ctrl-D ends the program")
		p.types(ctrlC)
		p.ends(0)

		p = chattingOn(t, c.kind, c.columns)
		p.types(ctrlD)
		p.ends(0)
	}
}

func TestASignalEndsAChatAndGivesTheTerminalBack(t *testing.T) {
	cases.NotShort(t)
	p := chatting(t, "-m", endlessDemo(t), "-n", "100000000")
	before := p.echoes()
	p.types("Once upon a time\r")
	p.sees("Once upon a time")
	p.sees("\r\n")
	p.sees("e")
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.ends(143)
	if before || !p.echoes() {
		t.Errorf("the terminal echoes what is typed: %v in the chat and %v after it, want false "+
			"and true", before, p.echoes())
	}
}

// TestCtrlZSuspendsAChat uses a shell with jobs: at the prompt, and within an answer.
func TestCtrlZSuspendsAChat(t *testing.T) {
	cases.NotShort(t)
	const ctrlZ = "\x1a"
	chat := "gpt chat -n 100000000 --seed 1 -m " + endlessDemo(t)
	script := filepath.Join(t.TempDir(), "script") // it is stopped with the chat
	text := "#!/bin/sh\ntrap : INT\n" + chat + "\necho AFTER\n"
	if err := os.WriteFile(script, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	p := typing(t, "xterm", 80, "sh", "-c", "set -m; "+script+"; echo STOPPED $?; stty -a; "+
		"fg; echo STOPPED $?; stty -a; fg; echo ENDED $?")
	p.sees("> ")
	p.types("Once upon")
	p.sees("Once upon")
	p.types(ctrlZ)
	p.sees("STOPPED 148")
	p.sees(" icanon ")
	p.sees(" echo ")
	p.sees("> Once upon") // drawn again, for it goes on
	p.types(" a time\r")
	p.sees(" a time")
	p.sees("\n")
	p.sees("e") // of the answer
	p.types(ctrlZ)
	p.sees("STOPPED 148")
	p.sees(" icanon ")
	p.sees(" echo ")
	p.sees("script")
	p.sees("e")
	p.types(ctrlC + "/quit\r")
	p.sees("AFTER")
	p.sees("ENDED 0")
	p.ends(0)
}

// TestALongLineIsPasted: all of it arrives, and what is written does not grow with its square.
func TestALongLineIsPasted(t *testing.T) {
	p := chatting(t, "-n", "1", "--seed", "1")
	before := p.shown()
	text := strings.Repeat("all work and no play ", 1<<16/21)
	p.types(text + "\r")
	p.types("/save " + filepath.Join(t.TempDir(), "saved") + "\r")
	p.sees("saved 1 turn")
	if n := p.shown() - before; n < len(text) || n > 2*len(text) {
		t.Errorf("%d bytes on the screen for a line of %d", n, len(text))
	}
	p.types(ctrlD)
	p.ends(0)
}

// shown is how many bytes were written to the screen.
func (p *typist) shown() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Len()
}

// echoes reports whether the terminal shows what is typed by itself.
func (p *typist) echoes() bool {
	p.t.Helper()
	mode, err := unix.IoctlGetTermios(int(p.screen.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return mode.Lflag&unix.ECHO != 0
}
