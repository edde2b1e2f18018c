//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestServeTakesTheTemplateOfTheCheckpoint: without one it answers as plain and says so, and a
// hostile one refuses conversations, not the rest.
func TestServeTakesTheTemplateOfTheCheckpoint(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("gpt", "convert", "demo", filepath.Join(dir, "m")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	const note = "this model has no chat template and was not trained for conversations"
	for _, x := range []struct {
		template string // of the checkpoint
		flags    []string
		status   int
		warning  bool
		stderr   string
	}{
		{"", nil, 200, true, note},
		{"", []string{"--template", "none"}, 404, false, ""},
		{"", []string{"--template", "chatml"}, 200, false, ""},
		{"{% for m in messages %}{{ m.content }}{% endfor %}", nil, 200, false, ""},
		{"Once upon a time", nil, 200, false, ""}, // it is in Jinja, whatever it looks like
		{"{{ messages }}\n{% include 'x' %}", nil, 404, false,
			"chat_template.jinja: line 2: include: a chat template is one file; conversations are refused"},
		{"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}{{ messages }}", nil, 400, false, ""},
	} {
		file := filepath.Join(dir, "m", "chat_template.jinja")
		os.Remove(file)
		if x.template != "" {
			if err := os.WriteFile(file, []byte(x.template), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		s := serveIn(t, dir, nil, append([]string{"-m", "m", "--log", "off"}, x.flags...)...)
		r, err := http.Post(s.url+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"messages":[{"role":"user","content":"Hi"}],"max_tokens":2}`))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r.Body)
		r.Body.Close()
		s.Process.Signal(syscall.SIGTERM)
		said := s.stderr()
		if r.StatusCode != x.status || strings.Contains(r.Header.Get("Warning"), note) != x.warning ||
			!strings.Contains(said, x.stderr) || strings.Count(said, "\n") > 1 {
			t.Errorf("%q %v: %d, %q, stderr %q: %s", x.template, x.flags, r.StatusCode,
				r.Header.Get("Warning"), said, text)
		}
	}
}
