//go:build unix

package main

// The commands that README.md and docs/ name without their outputs, run in a folder that has what they
// name.

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/docs"
	"picogpt/dev/fakehub"
	"picogpt/dev/fixture"
	"picogpt/weights/demo"
)

// notRun are the beginnings of command lines that are only checked, with the reasons.
var notRun = map[string]string{
	"gpt bench":               "it takes minutes; bench.txtar has it small",
	"GPT_API_KEY=$(cat key) ": "it takes the port 8080 of all addresses; TestServeSpeaksTLS and others have keys",
	"gpt check -m gpt2":       "it knows the published texts by their sums; check.txtar has others",
	"./gpt ":                  "it is a program with drivers of GPUs; testdata/gpu has its scripts",
	"source <(":               "it is bash's; completion.txtar runs the shells",
}

// slow are the beginnings of those that only long runs run.
var slow = []string{"gpt check", "gpt --engine reference"}

// TestCommandsOfTheDocumentsRun runs README.md's, and with the build tag long all.
func TestCommandsOfTheDocumentsRun(t *testing.T) {
	cases.NotShort(t)
	skipped := map[string]bool{}
	for name, blocks := range documents(t) {
		if !cases.Long && name != "README.md" {
			continue
		}
		var lines []docs.Command
		var all strings.Builder
		for _, b := range blocks {
			if b.Lang == "" || b.Lang == "sh" {
				lines = append(lines, b.Typed()...)
				all.WriteString(strings.Join(b.Code, "\n"))
			}
		}
		var r *reader // of this document, nil before its first command
		for _, line := range lines {
			if reason := skip(line.Text); reason != "" {
				skipped[reason] = true
				continue
			}
			if !ours(line.Text) || !cases.Long && isSlow(line.Text) {
				continue
			}
			if r == nil {
				r = &reader{t: t, dir: t.TempDir(), hub: furnished(t)}
				r.furnish(all.String())
			}
			r.makeRoom(line.Text)
			if got, status := r.run(strings.ReplaceAll(line.Text, docs.Any, "X")); status != 0 {
				t.Errorf("%s:%d: %s\nexit status %d:\n%s", name, line.Line, line.Text, status, got)
			}
		}
	}
	if cases.Long && len(skipped) != len(notRun) {
		t.Errorf("%d kinds of commands are not run, want the %d that are listed", len(skipped), len(notRun))
	}
}

// skip returns why a command line is not run, "" if it is.
func skip(line string) string {
	for beginning, reason := range notRun {
		if strings.HasPrefix(line, beginning) {
			return reason
		}
	}
	return ""
}

func isSlow(line string) bool {
	return slices.ContainsFunc(slow, func(beginning string) bool {
		return strings.HasPrefix(line, beginning)
	})
}

// ours reports whether a command line runs gpt or asks the server, and nothing that is elsewhere.
func ours(line string) bool {
	found := false
	for _, words := range docs.Simple(line) {
		switch words[0] {
		case "gpt", "curl":
			found = true
		case "cat", "echo", "printf":
		default:
			return false
		}
	}
	return found
}

// furnished returns a hub with the repositories that documents name, of the demo.
func furnished(t *testing.T) *fakehub.Hub {
	t.Helper()
	files := demoFiles(t)
	repos := []*fakehub.Repo{severalOf(t, nil),
		{Name: "OWNER/LORA", Files: adapterOfGPT2(t, "plain")}}
	for _, name := range []string{"gpt2", "gpt2-xl", "OWNER/GATED"} {
		repos = append(repos, &fakehub.Repo{Name: name, Files: files})
	}
	h := fakehub.New(repos...)
	t.Cleanup(h.Close)
	return h
}

// severalOf returns a repository with the demo, the demo in a folder, and other files.
func severalOf(t *testing.T, others map[string][]byte) *fakehub.Repo {
	t.Helper()
	files := demoFiles(t)
	for name, b := range demoFiles(t) {
		files["DIR/"+name] = b
	}
	maps.Copy(files, others)
	return &fakehub.Repo{Name: "OWNER/NAME", Files: files}
}

// demoFiles returns the files of the demo, and one more.
func demoFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := fs.WalkDir(demo.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			files[name], err = fs.ReadFile(demo.FS(), name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	files["FILE"] = files["config.json"]
	return files
}

// adapterOfGPT2 returns the files of an adapter of the demo, which the documents call gpt2.
func adapterOfGPT2(t *testing.T, adapter string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		b, err := os.ReadFile(filepath.Join("../../checkpoint/testdata/adapters", adapter, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = bytes.Replace(b, []byte(`"tinystories"`), []byte(`"gpt2"`), 1)
	}
	return files
}

// furnish writes what a document's commands read; all are its lines.
func (r *reader) furnish(all string) {
	r.t.Helper()
	const line = "Once upon a time there was a little girl named Lily. She had a red ball.\n"
	texts := map[string]string{
		"lambada_test.jsonl": `{"text":"Tom kicked the ball and then he could not find the ball"}`,
		"person.json":        `{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}`,
		"prompts.jsonl":      `{"prompt":"Once upon a time"}` + "\n" + `{"prompt":"Lily said","n":2}`,
		"pairs.jsonl":        `{"context":"The dog","continuation":" barked."}`,
		"reviews.csv":        "review,body\nA kind story.,It was good.\n",
		"lines.jsonl":        `{"text":"The cat sat."}`, "texts.jsonl": `{"text":"The dog ran."}`,
		"long.txt": line + line, "book.txt": line + line, "draft.txt": line, "notes.txt": line,
		"reviews.txt": "A kind story.\nA long story.\n", "comments.jsonl": `{"text":"I liked it."}`,
		"happy.txt": "The happy girl smiled\n", "sad.txt": "The sad girl cried\n",
	}
	for dir, adapter := range map[string]string{"my-lora": "plain", "style": "plain", "facts": "plain",
		"adapters/toxic": "classifier"} {
		for name, b := range adapterOfGPT2(r.t, adapter) {
			texts[dir+"/"+name] = string(b)
		}
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o777); err != nil {
			r.t.Fatal(err)
		}
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o666); err != nil {
			r.t.Fatal(err)
		}
	}
	for _, made := range [][2]string{
		{"models/", "mkdir models && gpt convert demo models/gpt2 && cp -r models/gpt2 models/mine"},
		{"model.gguf", "gpt convert demo model.gguf --to gguf"},
		{"ckpt.pt", "mkdir out && gpt convert demo out/ckpt.pt --to nanogpt"},
		{"reviews.csv.gz", "gzip -k reviews.csv"},
		{":Q8_0", "gpt convert demo q8.gguf --to gguf --dtype f16"},
	} {
		if !strings.Contains(all, made[0]) {
			continue
		}
		if got, status := r.run(made[1]); status != 0 {
			r.t.Fatalf("%s: %s", made[1], got)
		}
	}
	if b, err := os.ReadFile(filepath.Join(r.dir, "q8.gguf")); err == nil {
		r.hub.Put(severalOf(r.t, map[string][]byte{"NAME-Q8_0.gguf": b}))
	}
	if strings.Contains(all, "models/sentiment") {
		err := fixture.Write(filepath.Join(r.dir, "models/sentiment"), fixture.Options{Vocab: 50257, Heads: true})
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// makeRoom removes what a command line is to write: the lines of a document are not one session.
func (r *reader) makeRoom(line string) {
	for _, words := range docs.Simple(line) {
		at := slices.Index(words, "-o") + 1
		if len(words) > 3 && words[1] == "convert" {
			at = 3
		}
		if at > 0 && at < len(words) {
			os.RemoveAll(filepath.Join(r.dir, strings.TrimPrefix(words[at], "~/")))
		}
	}
}
