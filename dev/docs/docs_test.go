package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const page = "# Title\n" +
	"```console\n" + // line 2
	"$ gpt next Once\n" +
	"     id  token\n" +
	"\n" +
	"$ gpt -n 3 \\\n" + // line 6
	"    'Once upon\n" +
	"a time'\n" +
	"Once upon\n" +
	"a time\n" +
	"$ cat >story.txt <<'END'\n" + // line 11
	"$ Lily\n" +
	"END\n" +
	"$ true\n" +
	"```\n" +
	"- in a list\n" +
	"  ```sh\n" +
	"  make dist # all\n" + // line 18
	"\n" +
	"  gpt pull \\\n" +
	"    gpt2\n" +
	"  ```\n"

func written(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCommandsAndTheirOutputs(t *testing.T) {
	blocks, err := Read(written(t))
	if err != nil || len(blocks) != 2 || blocks[0].Lang != "console" || blocks[1].Lang != "sh" {
		t.Fatalf("%+v, %v", blocks, err)
	}
	want := []Command{
		{3, "gpt next Once", []string{"     id  token", ""}, 4},
		{6, "gpt -n 3 \\\n    'Once upon\na time'", []string{"Once upon", "a time"}, 9},
		{11, "cat >story.txt <<'END'\n$ Lily\nEND", nil, 14},
		{14, "true", nil, 15},
	}
	if got := blocks[0].Commands(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	want = []Command{{Line: 18, Text: "make dist # all"}, {Line: 20, Text: "gpt pull \\\n  gpt2"}}
	if got := blocks[1].Typed(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestOutputs(t *testing.T) {
	long := strings.Repeat("word ", 15)
	for _, c := range []struct {
		want, got string
		same      bool
	}{
		{"", "", true}, {"", "\n", true}, {"", "a", false}, {"a", "", false},
		{"a\nb\n\n", "a  \nb\n", true}, {"a\nb", "a b\n", false}, {"a", "a\nb", false},
		{"a.c", "abc", false}, {"a…c", "a, b, c", true}, {"a…c", "a\nc", false},
		{"…", "", true}, {"…", "a\nb\n", true}, {"a\n…\nz", "a\nz", true},
		{"a\n…\nz", "a\nb\nc\nz", true}, {"a\n…\nz", "a\nb\nc\ny", false},
		{long + "\nend", long + "end", true}, {long + "\nend", long + "\nend", true},
		{long + "x\nend", long + "xend", true}, {long + "\nend", long + "the end", false},
		{"short\nend", "short end", false}, {long, long + long, false},
	} {
		command := Command{Want: Lines(c.want)}
		if got := command.Matches(c.got); got != c.same {
			t.Errorf("%q for %q: %v", c.got, c.want, got)
		}
	}
}

func TestOutputsAreReplaced(t *testing.T) {
	file := written(t)
	blocks, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("four words of text ", 12)
	commands := blocks[0].Commands()
	if err := Replace(file, commands, []string{"one\ntwo\n", long, "", "new\n"}); err != nil {
		t.Fatal(err)
	}
	if blocks, err = Read(file); err != nil || len(blocks) != 2 {
		t.Fatalf("%+v, %v", blocks, err)
	}
	commands = blocks[0].Commands()
	for i, want := range [][]string{{"one", "two", ""}, wrap(strings.TrimSpace(long)), nil, {"new"}} {
		if got := commands[i].Want; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", commands[i].Text, got, want)
		}
	}
	if !commands[1].Matches(long) || len(commands[1].Want) != 3 {
		t.Errorf("%q does not match what was written", commands[1].Want)
	}
	if got := strings.Join(blocks[1].Code, "\n"); got != "make dist # all\n\ngpt pull \\\n  gpt2" {
		t.Errorf("the rest: %q", got)
	}
}

func TestSimpleCommands(t *testing.T) {
	for line, want := range map[string]string{
		``:                                     `[]`,
		`# gpt`:                                `[]`,
		`gpt -n 5 "Once upon a time"  # story`: `[["gpt" "-n" "5" "Once upon a time"]]`,
		`echo -n 'a  b' | gpt -n 5 && gpt x;y`: `[["echo" "-n" "a  b"] ["gpt" "-n" "5"] ["gpt" "x"] ["y"]]`,
		`A=1 B="x y" gpt serve --addr :1 &`:    `[["gpt" "serve" "--addr" ":1"]]`,
		`gpt score <in.txt >out.txt 2>&1 -v`:   `[["gpt" "score" "-v"]]`,
		`gpt --stop $'\n' ''`:                  `[["gpt" "--stop" "\\n" ""]]`,
		`gpt "a \"b\" $(cat key)" it\'s`:       `[["cat" "key"] ["gpt" "a \"b\" …" "it's"]]`,
		`source <(gpt completion bash)`:        `[["gpt" "completion" "bash"] ["source" "…"]]`,
		"gpt a \\\n  b\ngpt c":                 `[["gpt" "a" "b"] ["gpt" "c"]]`,
		`(cd bench && go run .)`:               `[["cd" "bench"] ["go" "run" "."]]`,
	} {
		if got := fmt.Sprintf("%q", Simple(line)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
