package main

// gpt pull on a terminal, and on a disk that is full.

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
	"picogpt/dev/testterminal"
)

func TestAPullShowsABarOnATerminal(t *testing.T) {
	cases.NotShort(t)
	h, _, env := pullHub(t)
	h.Break(fakehub.For("files", "GET", "/model.safetensors", 0,
		fakehub.Slow(400, 15*time.Millisecond)))
	screen, terminal := testterminal.Open(t)
	testterminal.Resize(t, terminal, 100)
	cmd := exec.Command("gpt", "pull", "a/b")
	cmd.Env, cmd.Stderr = env, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		terminal.WriteString(theEnd)
	}()
	shown := readToTheEnd(t, screen)
	for _, want := range []string{"gpt: config.json: ", "\r[", "#", "] model.safetensors, ",
		" kB of ", " left, ", " kB/s", "gpt: model.safetensors: "} {
		if !strings.Contains(shown, want) {
			t.Errorf("the terminal shows %q, want %q in it", shown, want)
		}
	}
}

// TestAFullDiskIsTold has a limit for the size of files stand for a disk that becomes full.
func TestAFullDiskIsTold(t *testing.T) {
	_, cache, env := pullHub(t)
	cmd := exec.Command("sh", "-c", "ulimit -f 8; exec gpt pull a/b")
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if status(err) != 1 || !strings.Contains(string(out),
		"gpt: a/b/model.safetensors: ") || !strings.HasSuffix(string(out), ": file too large\n") {
		t.Errorf("%v, %s", err, out)
	}
	if left := incompleteNow(cache); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := snapshots(t, cache); len(got) != 1 {
		t.Errorf("the snapshot holds %v", got)
	}
}

// TestAMissingModelIsOffered: on a terminal gpt asks whether to pull the model, and only yes does.
func TestAMissingModelIsOffered(t *testing.T) {
	h, cache, env := pullHub(t)
	h.Break(nil) // nothing is slow
	const question = "gpt: a/b is not here; pull it from the Hugging Face hub? [y/N] "
	for _, c := range []struct {
		answer, stdout string
		status         int
	}{
		{"\n", "", 1}, {"no\n", "", 1}, {"\x04", "", 1}, {"y\n", "[1", 0}, {"", "[1", 0},
	} {
		screen, terminal := testterminal.Open(t)
		if _, err := screen.WriteString(c.answer); err != nil {
			t.Fatal(err)
		}
		var stdout strings.Builder
		cmd := exec.Command("gpt", "-m", "a/b", "--tokens", "1", "-n", "1")
		cmd.Env, cmd.Stdin, cmd.Stderr, cmd.Stdout = env, terminal, terminal, &stdout
		err := cmd.Run()
		terminal.WriteString(theEnd)
		shown := readToTheEnd(t, screen)
		asked := strings.Count(shown, question)
		if status(err) != c.status || !strings.HasPrefix(stdout.String(), c.stdout) ||
			(asked == 1) != (c.answer != "") ||
			(c.status == 1) != strings.Contains(shown, "gpt: hint: gpt pull a/b downloads it") {
			t.Errorf("%q: status %d, stdout %q, terminal %q", c.answer, status(err), stdout.String(),
				shown)
		}
	}
	if got := snapshots(t, cache); len(got) != 2 {
		t.Errorf("the snapshot holds %v", got)
	}
}
