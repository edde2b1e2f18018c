package main

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/process"
	"picogpt/model"
)

func grammar(t *testing.T) *kong.Node {
	t.Helper()
	k, err := newGrammar(new(commands))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model.Node
}

func TestArguments(t *testing.T) {
	root := grammar(t)
	for _, c := range []struct{ args, want string }{
		{"", "generate --"},
		{"Once upon", "generate -- Once upon"},
		{"tokenize", "tokenize --"},
		{"tokenize tokenize", "tokenize -- tokenize"},
		{"-- tokenize", "generate -- tokenize"},
		{"generate tokenize", "generate -- tokenize"},
		{"--stop tokenize Once", "generate --stop=tokenize -- Once"},
		{"-m dir tokenize a", "tokenize --model=dir -- a"},
		{"A tokenize", "generate -- A tokenize"},
		{"A -n 3 b --temp 0 c", "generate --max-tokens=3 --temp=0 -- A b c"},
		{"-vn3 A", "generate --verbose --max-tokens=3 -- A"},
		{"-vn 3 A", "generate --verbose --max-tokens=3 -- A"},
		{"-n=3 -vfx", "generate --max-tokens=3 --verbose --file=x --"},
		{"--temp -1 --stop -- --stop -n", "generate --temp=-1 --stop=-- --stop=-n --"},
		{"--top_k 3 --no_display_prompt=false a_b",
			"generate --top-k=3 --no-display-prompt=false -- a_b"},
		{"--stop=a_b=c", "generate --stop=a_b=c --"},
		{"--help", "--help --"},
		{"-h -v", "--help --verbose --"},
		{"A --help", "generate --help -- A"},
		{"--help logits", "logits --help --"},
		{"help", "help --"},
		{"help logits", "help -- logits"},
		{"A -- -v --temp", "generate -- A -v --temp"},
		{"-- once upon", "generate -- once upon"},
		{"-n 3 -- once", "generate --max-tokens=3 -- once"},
		{"-p once", "generate --prompt=once --"},
		{"--prompt quantise", "generate --prompt=quantise --"},
		{"generate once", "generate -- once"},
		{"eval lambada f", "eval lambada -- f"},
	} {
		a, err := arrange(root, strings.Fields(c.args))
		if err != nil {
			t.Errorf("%q: %v", c.args, err)
		} else if got := strings.Join(a.args(), " "); got != c.want || a.refused() {
			t.Errorf("%q: got %q, refused: %v, want %q", c.args, got, a.refused(), c.want)
		}
	}
	for _, args := range [][]string{{"-n"}, {"a", "--temp"}, {"-vm"}, {"- a"}, {"--temp is low"}} {
		var usage fault.Usage
		if _, err := arrange(root, args); !errors.As(err, &usage) {
			t.Errorf("%q: got %v, want a usage error", args, err)
		}
	}
}

// The word after a flag that no command has may be its value, so the flag is the mistake.
func TestAnUnknownFlagIsNamed(t *testing.T) {
	root := grammar(t)
	for line, want := range map[string][2]string{
		"--zebra 3":          {"unknown flag --zebra", "gpt --help lists the flags"},
		"--zebra once":       {"unknown flag --zebra", ""},
		"Lily --zebra=3 -q":  {"unknown flag --zebra", ""},
		"-z3 Lily":           {"unknown flag -z3", ""},
		"-vz Lily":           {"unknown flag -z", ""},
		"--tmep 1 Lily":      {"unknown flag --tmep", "did you mean --temp?"},
		"-temp 1 Lily":       {"unknown flag -temp", "did you mean --temp?"},
		"--topk 1 Lily":      {"unknown flag --topk", "did you mean --top-k?"},
		"--n 5 Lily":         {"unknown flag --n", "did you mean -n?"},
		"--max-new-tokens 5": {"unknown flag --max-new-tokens", "did you mean --max-tokens?"},
		"tokenize --decod 1": {"unknown flag --decod", "did you mean --decode?"},
		"inspect --modle a":  {"unknown flag --modle", "did you mean --model?"},
		"tokenize -1": {"unknown flag -1",
			"gpt tokenize --help lists the flags; a text that begins with - goes after --"},
	} {
		_, err := arrange(root, strings.Fields(line))
		var usage fault.Usage
		if !errors.As(err, &usage) || err.Error() != want[0] ||
			!strings.HasPrefix(hintFor(err), want[1]) {
			t.Errorf("%s: got %v, hint %q, want %q", line, err, hintFor(err), want)
		}
	}
}

// arrange reads one table for all commands.
func TestAFlagIsOfOneKindInAllCommands(t *testing.T) {
	kinds := map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, f := range n.Flags {
			names := append([]string{"--" + f.Name}, f.Aliases...)
			if f.Short != 0 {
				names = append(names, "-"+string(f.Short))
			}
			for _, name := range names {
				if boolean, seen := kinds[name]; seen && boolean != f.IsBool() {
					t.Errorf("%s of %s: takes a value in one command and none in another", name,
						n.Path())
				}
				kinds[name] = f.IsBool()
			}
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(grammar(t))
}

func TestDtypeTakesTheModelsFormats(t *testing.T) {
	for _, f := range grammar(t).Flags {
		if f.Name == "dtype" && f.Enum != strings.Join(model.Formats(), ",") {
			t.Errorf("--dtype takes %s, want %v", f.Enum, model.Formats())
		}
	}
}

func TestSamplesComeOneAfterAnother(t *testing.T) {
	token := func(sample, id int, finish string) decode.Token {
		return decode.Token{Sample: sample, ID: id, Finish: finish}
	}
	made := []decode.Token{
		token(0, 1, ""), token(1, 2, decode.FinishStop), token(2, 3, ""),
		token(0, 4, ""), token(2, 5, decode.FinishLength),
		token(0, 6, decode.FinishLength), token(3, 7, ""), token(3, 8, decode.FinishLength),
	}
	var got []int
	o := inOrder{print: func(t decode.Token) error { got = append(got, t.ID); return nil }}
	for _, m := range made {
		if err := o.push(m); err != nil {
			t.Fatal(err)
		}
	}
	if want := []int{1, 4, 6, 2, 3, 5, 7, 8}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	o.print = func(decode.Token) error { return process.ErrClosedPipe }
	if err := o.push(token(4, 9, "")); err != process.ErrClosedPipe {
		t.Errorf("got %v, want the printer's error", err)
	}
}

func TestIDs(t *testing.T) {
	for _, c := range []struct {
		text string
		want []int
	}{
		{"", []int{}}, {" \n", []int{}}, {"[]", []int{}}, {"7", []int{7}},
		{"1,2, 3 ", []int{1, 2, 3}}, {"1 2\n3", []int{1, 2, 3}},
		{" [1, 2,\n 3]\n", []int{1, 2, 3}}, {"-1", []int{-1}},
	} {
		if got, err := parseIDs(c.text); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: got %v, %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"a", "1,", ",", "1;2", "1.0", "[1", "[1]]", "[1 2]", "[[1]]",
		`["1"]`, "[1e1]", "[true]", "9223372036854775808", "1, 2 3"} {
		if got, err := parseIDs(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}
