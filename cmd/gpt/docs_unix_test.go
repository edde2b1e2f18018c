//go:build unix

package main

// The commands that README.md and docs/ show with their outputs, run. With -update, as in
// go test ./cmd/gpt -run TestDocuments -update, what they print is put into the documents.

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/docs"
	"picogpt/dev/fakehub"
	"picogpt/dev/fixture"
	"picogpt/dev/picture"
	"picogpt/dev/watchdog"
)

// address is where gpt serve listens by default. Commands get the address of a server of their own.
const address = "127.0.0.1:8080"

func TestDocumentsShowWhatCommandsPrint(t *testing.T) {
	all := 0
	for name, blocks := range documents(t) {
		commands := shown(blocks)
		if all += len(commands); len(commands) == 0 || cases.Short() && name != "README.md" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, outputs := read(t, commands)
			if picture.Update() && len(wrong) > 0 {
				if err := docs.Replace(blocks[0].File, wrong, outputs); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, c := range wrong {
				t.Errorf("%s:%d: $ %s\nprints\n%s\nwant\n%s", name, c.Line, c.Text, outputs[i],
					strings.Join(c.Want, "\n"))
			}
		})
	}
	if all < 12 {
		t.Errorf("%d commands are shown with their outputs, want more", all)
	}
}

// shown are the commands of the blocks that show outputs.
func shown(blocks []docs.Block) (all []docs.Command) {
	for _, b := range blocks {
		if b.Lang == "console" {
			all = append(all, b.Commands()...)
		}
	}
	return all
}

// read does what a reader of a document does: it types the commands, one after another, in a folder
// that was empty but for sae, the sparse autoencoder of the repository. It returns those that print something else than is shown, with what they print. A
// command that fails must show its error.
func read(t *testing.T, commands []docs.Command) (wrong []docs.Command, outputs []string) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell; other machines run this test")
	}
	r := &reader{t: t, dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(r.dir, "sae"), fixture.Dictionary()); err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		got, status := r.run(c.Text)
		if !c.Matches(got) || status != 0 && !strings.Contains(got, "gpt: ") {
			wrong, outputs = append(wrong, c), append(outputs, got)
		}
	}
	return wrong, outputs
}

// A reader is somebody with a shell.
type reader struct {
	t      *testing.T
	dir    string
	server *served      // nil before the first gpt serve
	hub    *fakehub.Hub // nil if there is none
}

// run runs a command and returns what is then on the terminal, and the status. gpt serve lives
// until the next one, as in a terminal of its own.
func (r *reader) run(text string) (string, int) {
	r.t.Helper()
	if simple := docs.Simple(text); len(simple) == 1 && len(simple[0]) > 1 &&
		simple[0][0] == "gpt" && simple[0][1] == "serve" {
		if r.server != nil {
			r.server.Process.Kill()
		}
		for i, word := range simple[0] {
			if strings.HasPrefix(word, "~/") {
				simple[0][i] = filepath.Join(r.dir, word[2:])
			}
		}
		r.server = serveIn(r.t, r.dir, r.environment(), simple[0][2:]...)
		return r.usual("gpt: listening on " + r.server.url + "\n"), 0
	}
	if r.server != nil {
		text = strings.ReplaceAll(text, address, r.server.host())
	} else if strings.Contains(text, address) {
		r.t.Errorf("$ %s\nthere was no gpt serve before", text)
	}
	ctx, cancel := context.WithTimeout(r.t.Context(), watchdog.Wait)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir, cmd.Env = r.dir, append(os.Environ(), r.environment()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		r.t.Fatalf("$ %s\nit does not end; so far it printed\n%s", text, out)
	}
	return r.usual(string(out)), status(err)
}

// usual is a text with the usual address.
func (r *reader) usual(text string) string {
	if r.server == nil {
		return text
	}
	return strings.ReplaceAll(text, r.server.host(), address)
}

func (s *served) host() string {
	_, host, _ := strings.Cut(s.url, "://")
	return host
}

// environment is that of somebody who has set nothing.
func (r *reader) environment() []string {
	e := []string{"HOME=" + r.dir, "HF_HOME=" + filepath.Join(r.dir, "hub"), "HF_HUB_CACHE=", "HF_TOKEN=",
		"GPT_MODEL=", "GPT_DEVICE=", "GPT_API_KEY=", "GOGC=off", "TERM=dumb"}
	if r.hub != nil {
		return append(e, "HF_ENDPOINT="+r.hub.URL)
	}
	return append(e, "HF_HUB_OFFLINE=1")
}

// TestWrongOutputsAreFound reads a document of which some outputs are wrong.
func TestWrongOutputsAreFound(t *testing.T) {
	block := docs.Block{Lang: "console", Code: docs.Lines(`$ echo 'Once upon a time' >story.txt
$ gpt tokenize -f story.txt
[7454,2402,257,640,198]
$ gpt tokenize Once | tr -d '[]'
7454 # wrong
$ gpt no such command
gpt: "no" is not a command
…
$ cat no-file # wrong: it fails
…
$ gpt serve --log off
gpt: listening on http://127.0.0.1:8080
$ curl -s 127.0.0.1:8080/tokenize -d '{"prompt":"Once"}'
{"tokens":[7454],"count":1,…}
$ curl -s 127.0.0.1:8080/health -i
HTTP/1.1 200 OK
…
$ curl -s 127.0.0.1:8080/no/path
wrong`)}
	wrong, outputs := read(t, shown([]docs.Block{block}))
	if len(wrong) != 3 {
		t.Fatalf("%d are wrong, want 3: %+v, %q", len(wrong), wrong, outputs)
	}
	for i, want := range []string{"gpt tokenize Once |", "cat no-file", "curl -s 127.0.0.1:8080/no"} {
		if !strings.HasPrefix(wrong[i].Text, want) {
			t.Errorf("%s is wrong, want %s; it printed %q", wrong[i].Text, want, outputs[i])
		}
	}
}
