package cli

import (
	"errors"
	"strings"
	"testing"

	"picogpt/internal/fault"
)

// A program is a small one with the names of gpt's commands, and what was parsed.
type program struct {
	*Command
	words []string
}

func newProgram() *program {
	p := &program{}
	var dir, file, prompt *string
	var n, k int
	var temp float64
	var stop []string
	var hide, verbose, decode bool
	command := func(name string, add func(*Flags), below ...*Command) *Command {
		return &Command{
			Name: name, Short: "what it does", Commands: below,
			Args: []Arg{Words(&p.words, "text", "a text")},
			Flags: func(f *Flags) {
				if add != nil {
					add(f)
				}
				f.Add(&dir, "-m, --model DIR", "a model")
				f.Group(General)
				f.Add(&verbose, "-v, --verbose", "say more")
			},
			Run: func(*Flags) error { return nil },
		}
	}
	generate := command("generate", func(f *Flags) {
		f.Add(&n, "-n, --max-tokens N", "how many")
		f.Add(&temp, "--temp, --temperature T [0.8]", "how warm")
		f.Add(&k, "--top-k K [40]", "of how many")
		f.Add(&stop, "--stop S", "where to end")
		f.Add(&hide, "--no-display-prompt", "without the prompt")
		f.Group("Prompt:")
		f.Add(&prompt, "-p, --prompt TEXT", "the prompt")
		f.Add(&file, "-f, --file FILE", "its file")
	})
	p.Command = &Command{Name: "gpt", Default: generate, Commands: []*Command{generate}}
	for _, name := range strings.Fields("next logits chat serve verify inspect quantize convert pull " +
		"models devices perplexity score surprise help version completion") {
		p.Commands = append(p.Commands, command(name, nil))
	}
	engine := command("engine", nil)
	bench := command("bench", nil, engine, command("table", nil), command("attention", nil))
	bench.Default = engine
	eval := command("eval", nil, command("lambada", nil), command("choice", nil))
	eval.Run, eval.Args = nil, nil
	tokenize := command("tokenize", func(f *Flags) { f.Add(&decode, "--decode", "the other way") })
	p.Commands = append(p.Commands, bench, eval, tokenize)
	New(p.Command)
	return p
}

// parse returns what args come to, in one order: the command, the flags, then after -- the words.
func parse(args ...string) (string, error) {
	p := newProgram()
	line, err := Parse(p.Command, args)
	if err != nil {
		return "", err
	}
	all := line.Flags.Options(func(*Flag) bool { return true })
	all = append(append(all, "--"), p.words...)
	return strings.TrimSpace(line.Command.Path() + " " + strings.Join(all, " ")), nil
}

func TestArguments(t *testing.T) {
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
		if got, err := parse(strings.Fields(c.args)...); err != nil || got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.args, got, err, c.want)
		}
	}
	for _, args := range [][]string{{"-n"}, {"a", "--temp"}, {"-vm"}, {"- a"}, {"--temp is low"}} {
		var usage fault.Usage
		if _, err := parse(args...); !errors.As(err, &usage) {
			t.Errorf("%q: got %v, want a usage error", args, err)
		}
	}
}

// A line for one command makes its flags, and those of the default command where flags stand before
// its name. All others are made for a flag that neither has.
func TestALineMakesTheFlagsOfItsCommand(t *testing.T) {
	for line, want := range map[string]string{
		"A -n 3":                  "generate",
		"inspect -m a -v":         "inspect",
		"bench table b":           "bench/table",
		"-m a tokenize --decode":  "generate tokenize",
		"--decode tokenize --now": "all",
		"inspect --zebra":         "all",
		"inspect --temp 3":        "all",
	} {
		p, all, made := newProgram(), 0, []string{}
		p.All(func(c *Command) {
			all++
			if add := c.Flags; add != nil {
				c.Flags = func(f *Flags) {
					made = append(made, strings.ReplaceAll(c.Path(), " ", "/"))
					add(f)
				}
			}
		})
		Parse(p.Command, strings.Fields(line))
		if got := strings.Join(made, " "); got != want && (want != "all" || len(made) != all-1) {
			t.Errorf("%s: made the flags of %d commands, %q, want those of %s", line,
				len(made), got, want)
		}
	}
}
