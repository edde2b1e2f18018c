package cli

import (
	"cmp"
	"reflect"
	"strings"
	"testing"
	"time"

	"picogpt/internal/fault"
)

func TestFlagsSetWhatTheyPointTo(t *testing.T) {
	type values struct {
		on    bool
		off   *bool
		n     int
		seed  *uint64
		x     float64
		text  *string
		texts []string
		wait  time.Duration
		words []string
		sizes []int
	}
	for _, c := range []struct {
		options string
		want    values
		err     string
	}{
		{"", values{n: 40, wait: time.Second, sizes: []int{1, 8}}, ""},
		{"--on --off=no --n=0x10 --seed=7 --x=-1e3 --text= --wait=2m", values{
			on: true, off: new(bool), n: 16, seed: pointer(uint64(7)), x: -1000, text: new(string),
			wait: 2 * time.Minute, sizes: []int{1, 8}}, ""},
		{`--texts=a,b --texts=c --words=a\,b,c --words=d --sizes=3 --sizes=4,5`, values{
			n: 40, wait: time.Second, texts: []string{"a,b", "c"}, words: []string{"a,b", "c", "d"},
			sizes: []int{3, 4, 5}}, ""},
		{"--n=1.5", values{}, `--n: want a whole number, found "1.5"`},
		{"--seed=-1", values{}, `--seed: want a whole number, 0 or more, found "-1"`},
		{"--x=warm", values{}, `--x: want a number, found "warm"`},
		{"--on=maybe", values{}, `--on: want true or false, found "maybe"`},
		{"--wait=3", values{}, `--wait: want a duration, such as 100ms or 5m, found "3"`},
		{"--sizes=1,x", values{}, `--sizes: want a whole number, found "x"`},
		{"--form=c", values{}, `--form: want a or b, found "c"`},
	} {
		var v values
		var form string
		f := NewFlags(func(f *Flags) {
			f.Add(&v.on, "--on", "")
			f.Add(&v.off, "--off", "")
			f.Add(&v.n, "-n, --n N [40]", "")
			f.Add(&v.seed, "--seed S", "")
			f.Add(&v.x, "--x X", "")
			f.Add(&v.text, "--text TEXT", "")
			f.Add(&v.texts, "--texts TEXT", "")
			f.Add(&v.wait, "--wait TIME [1s]", "")
			f.Add(Commas(&v.words), "--words A,B", "")
			f.Add(Commas(&v.sizes), "--sizes N,M [1,8]", "")
			f.Add(&form, "--form FORM [a]", "").OneOf("a", "b")
		})
		var err error
		for _, option := range strings.Fields(c.options) {
			if err == nil {
				err = f.SetOption(option)
			}
		}
		switch {
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%s: %v, want %s", c.options, err, c.err)
		case c.err == "" && (err != nil || !reflect.DeepEqual(v, c.want)):
			t.Errorf("%s: %+v, %v, want %+v", c.options, v, err, c.want)
		}
	}
}

// A list of values is looked at when all flags are set, in the order of the flags and not of the line.
func TestTheLastOfSeveralValuesCounts(t *testing.T) {
	for line, want := range map[string]string{
		"--form=c --form=a":   "",
		"--form=a --form=c":   `--form: want a or b, found "c"`,
		"--shape=":            "",
		"--form=":             `--form: want a or b, found ""`,
		"--shape=z --form=c":  `--form: want a or b, found "c"`,
		"--form=c --help=no":  "",
		"--form=c --version":  "",
		"--form=c --number=x": `--number: want a whole number, found "x"`,
		"x --form=c":          `"x" is an argument too many`,
	} {
		var form, shape string
		var number int
		program := New(&Command{Name: "gpt", Commands: []*Command{{
			Name: "draw", Run: func(*Flags) error { return nil },
			Flags: func(f *Flags) {
				f.Add(&form, "--form FORM [a]", "").OneOf("a", "b")
				f.Add(&shape, "--shape SHAPE", "").OneOf("y", "z")
				f.Add(&number, "--number N", "")
			},
		}}})
		_, err := Parse(program, strings.Fields("draw "+line))
		if err == nil && want != "" || err != nil && !strings.Contains(err.Error(), cmp.Or(want, "none")) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func pointer[T any](x T) *T { return &x }

func TestAFlagOfOtherCommandsNamesThem(t *testing.T) {
	for line, want := range map[string]string{
		"quantize --decode x": "--decode is a flag of gpt tokenize; gpt quantize --help lists the flags here",
		"eval choice -n 5":    "-n is a flag of gpt generate; gpt eval choice --help lists the flags here",
		"tokenize --decoed x": "did you mean --decode?",
		"tokenize --zebra":    "gpt tokenize --help lists the flags; a text that begins with - goes after --",
		"--zebra":             "gpt generate --help lists the flags; a text that begins with - goes after --",
	} {
		if _, err := parse(strings.Fields(line)...); fault.HintOf(err) != want {
			t.Errorf("%s: %v, hint %q, want %q", line, err, fault.HintOf(err), want)
		}
	}
}

func TestWhatMayStandAtTheCursor(t *testing.T) {
	for line, want := range map[string]string{
		"be": "bench", "bench t": "table", "eval ": "lambada choice", "-n 5 tok": "tokenize",
		"tokenize --d": "--decode", "--te": "--temp", "help qu": "quantize", "-m ": ":files",
		"serev --te": "", "quantize --te": "", "-- be": "", "--zebra be": "bench",
	} {
		done := Complete(newProgram().Command, "zsh", strings.Split(line, " "))
		var words []string
		for _, w := range done.Words {
			words = append(words, w.Word)
		}
		if done.Files {
			words = append(words, ":files")
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
