package playground_test

// "View code": the shown code is run, and must send the page's request.

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

func TestTheCodeSendsTheRequestInABrowser(t *testing.T) {
	t.Parallel()
	b := inABrowser(t, nil)
	b.write("It's `a` \"test\" \\n $HOME \\ 'x' 🐟\nשלום")
	b.set("temperature", "0.5")
	b.set("top_k", "40")
	b.set("stop", `it's\n`)
	b.set("seed", "77")
	b.JS(id("set-ignore_eos") + ".click()")
	b.JS("scrollTo(0, 0)")
	b.Press("Control+Enter")
	b.finished()
	want := maps.Clone(b.last())
	delete(want, "stream")
	delete(want, "return_token_ids")
	b.Press("Control+z")
	b.shown()
	b.press("code")

	for i, language := range []struct {
		name, file string
		command    []string
	}{
		{"curl", "request.sh", []string{"sh", "request.sh"}},
		{"Python", "request.py", []string{"python3", "request.py"}},
		{"Go", "request.go", []string{"go", "run", "request.go"}},
	} {
		if language.name == "Go" && !cases.Long { // go run takes a second, and the dialog shows it
			continue
		}
		t.Run(language.name, func(t *testing.T) {
			if _, err := exec.LookPath(language.name); err != nil && i == 0 {
				t.Skip("no curl on this machine; the other languages are run")
			}
			if _, err := exec.LookPath(language.command[0]); err != nil {
				t.Skipf("no %s on this machine; the other languages are run", language.command[0])
			}
			b.JS(id("tab-"+string(rune('0'+i))) + ".click()")
			source := b.JS(id("code-source") + ".textContent")
			dir := t.TempDir()
			for name, text := range map[string]string{language.file: source, "openai.py": stub} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			b.fake.set(func() { b.bodies = nil })
			cmd := exec.Command(language.command[0], language.command[1:]...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s\n%s", err, out, source)
			}
			if got := b.last(); !reflect.DeepEqual(got, want) {
				t.Errorf("it sends\n%v\nwant\n%v\n%s", got, want, source)
			}
			if language.name == "Go" {
				out, err := exec.Command("gofmt", "-l", dir).CombinedOutput()
				if err != nil || strings.TrimSpace(string(out)) != "" {
					t.Errorf("gofmt: %v %s\n%s", err, out, source)
				}
			}
		})
	}
}

// stub is a part of OpenAI's client that suffices for the code: fields that the client does not
// take by name are an error, as in the client.
const stub = `
import json, urllib.request

class _Completions:
    def __init__(self, url): self.url = url
    def create(self, *, model=None, prompt=None, max_tokens=None, n=None, stop=None, temperature=None,
               top_p=None, seed=None, frequency_penalty=None, presence_penalty=None, logit_bias=None,
               logprobs=None, stream=None, extra_body=None):
        body = {k: v for k, v in locals().items() if k not in ("self", "extra_body") and v is not None}
        body.update(extra_body or {})
        urllib.request.urlopen(urllib.request.Request(self.url + "/completions",
            json.dumps(body).encode(), {"Content-Type": "application/json"})).read()
        class completion: choices = []
        return completion

class OpenAI:
    def __init__(self, *, base_url, api_key): self.completions = _Completions(base_url)
`
