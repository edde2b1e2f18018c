package cli

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/fault"
)

func TestAFirstWordIsACommandOrAPrompt(t *testing.T) {
	for _, line := range [][]string{
		{"-"}, {"quantise", "a", "b"}, {"once", "Upon"}, {"hello", "world"}, {"once", "--", "x"},
		{"-n", "5", "serev"}, {"-f", "file", "serev"}, {"-p", "Lily", "serev"},
		{"--help", "tokenise"}, {"tokenise", "--version"}, {"serev", "--zebra"}, {"hi", "--zebra"},
		{"eval", "lamdba"}, {"eval", "Lambada"}, {"eval", "x"}, {"bench", "attension"},
	} {
		var usage fault.Usage
		if _, err := parse(line...); !errors.As(err, &usage) {
			t.Errorf("%q: got %v, want a usage error", line, err)
		}
	}
	for _, line := range [][]string{
		{"hi"}, {"42"}, {"gpt-2"}, {"perp"}, {"once", "--help"}, {"-n", "5", "once"},
		{"-m", "gpt2", "hi"}, {"-p", "x", "once"}, {"--", "serev"}, {"generate", "serev"}, {"Serev"},
		{"", "b"}, {"Lily", "b"}, {"once upon", "b"}, {"once.", "b"}, {"a_b", "b"}, {"don't", "b"},
		{"你好", "b"}, {"élan", "b"}, {"ｏｎｃｅ", "b"}, {"\n", "b"}, {"once\n", "b"}, {"\x00", "b"},
		{"\xff", "b"},
	} {
		if _, err := parse(line...); err != nil {
			t.Errorf("%q: got %v, want none", line, err)
		}
	}
}

// The judge makes all words that are one edit from a command, and from those the ones that are two.
func TestAWordIsRefusedWhereItIsACommandMisspelt(t *testing.T) {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-"
	edited := func(word string) iter.Seq[string] {
		return func(yield func(string) bool) {
			for i := range len(word) + 1 {
				head, tail := word[:i], word[i:]
				more := tail == "" || yield(head+tail[1:])
				if more && len(tail) > 1 {
					more = yield(head + tail[1:2] + tail[:1] + tail[2:])
				}
				for _, c := range letters {
					more = more && yield(head+string(c)+tail) &&
						(tail == "" || yield(head+string(c)+tail[1:]))
				}
				if !more {
					return
				}
			}
		}
	}
	letterCount := func(s string) string { b := []byte(s); slices.Sort(b); return string(b) }
	words := strings.Fields(`hi hello story once text three a i lily tom cat tree bunch benches nest
		exit net chart chap cheat that what hat clap halp held yelp veal vela leva evil oval vale avel
		core store score1 scored shore snore spore models model modals mode pulls pull1 puls pill full
		serve1 server serves swerve nerve curve ser srv verfy verily very clarify inspects suspect
		devices device advices vices version versions vision aversion person diversion
		logit logits1 login digits convert covert concert converts comfort quant quantity quantiser
		generation generates general genera operate venerate tokens tokenizes tokenized tokenizzzes
		perplex perplexes perplexing complexity reflexively perplexed surprised surprises uprise
		surmise enterprise completions competition completed complexion complection deletion
		42 gpt gpt-2 gpt2 2024 summarize translate talk ppl run help1 helper kelp hlep ehlp hepl
		chta hcat caht acht chat1 evla vael elav tokenzie otkenzie oktenizer kotenize toneskize`)
	root := newProgram().Command
	oneEdit := map[string]bool{} // words that are refused because they are one edit away
	long := map[string]bool{}    // and those of commands of eight letters or more
	for _, c := range root.Commands {
		for w := range edited(c.Name) {
			oneEdit[w] = oneEdit[w] || len(c.Name) >= 5 || letterCount(w) == letterCount(c.Name)
			long[w] = long[w] || len(c.Name) >= 8
		}
	}
	judge := func(w string) bool {
		if oneEdit[w] {
			return true
		}
		for e := range edited(w) {
			if long[e] {
				return true
			}
		}
		return false
	}
	one := slices.Sorted(maps.Keys(oneEdit))
	for i := 0; i < len(one); i += 7 {
		w := one[i]
		words = append(words, w)
		for at := i % 5; at+3 < len(w); at += 5 { // two and three edits away, some of them
			words = append(words, w[:at]+"q"+w[at+1:], w[:at]+w[at+1:at+2]+w[at:at+1]+w[at+2:],
				w[:at]+w[at+2:at+3]+w[at:])
		}
	}
	refused, taken := 0, 0
	for _, w := range words {
		if root.Child(w) != nil || strings.HasPrefix(w, "-") || w == "" {
			continue
		}
		s := newScan(root)
		if _, err := s.take(w, nil); err != nil {
			t.Fatalf("%s: %v", w, err)
		}
		want := judge(w)
		if s.refused() != want {
			t.Errorf("%s: refused: %v, want %v", w, !want, want)
		}
		if want {
			refused++
		} else {
			taken++
		}
	}
	if refused < 1000 || taken < 1000 {
		t.Errorf("%d words are refused and %d prompts, want 1000 of each at least", refused, taken)
	}
}

func TestTheNearestCommand(t *testing.T) {
	root := newProgram()
	for word, want := range map[string]string{
		"quantise": "quantize", "tokenise": "tokenize", "tokenzie": "tokenize",
		"perplexty": "perplexity", "scores": "score",
		"inspekt": "inspect", "benhc": "bench", "logit": "logits", "evla": "eval", "hlep": "help",
		"genrate": "generate",
		"perp":    "perplexity", "to": "tokenize", "evaluate": "eval", "quantization": "quantize",
		"scoring":    "score",
		"detokenize": "tokenize", "surprice": "surprise", "gen": "generate", "benchmark": "bench",
		"once": "", "a": "", "the": "", "42": "", "lily": "", "talk": "", "summarize": "",
	} {
		if got := root.nearest(word); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	if got := root.Child("eval").nearest("lamdba"); got != "lambada" {
		t.Errorf("eval lamdba: got %q, want lambada", got)
	}
}

// What other programs call a command runs it, with its flag; what none is like is explained.
func TestWordsOfOtherPrograms(t *testing.T) {
	for line, want := range map[string]string{
		"run once":           "generate [once] run is gpt generate",
		"--temp 0 run":       "generate [] run is gpt generate",
		"tables x":           "bench table [x] tables is gpt bench table",
		"bench tables x":     "bench table [x] bench tables is gpt bench table",
		"decode 1 2":         "tokenize [1 2] decode is gpt tokenize --decode",
		"bench run":          `"run" is not a command of gpt bench: gpt bench --help lists the commands`,
		"index x":            `"index" is not a command: none is made. To use the word as a prompt: gpt generate index`,
		"generate index":     "generate [index]",
		"-- run":             "generate [run]",
		"next run":           "next [run]",
		"run --decode":       "unknown flag --decode: --decode is a flag of gpt tokenize; gpt generate --help lists the flags here",
		"tables --no-such-f": "unknown flag --no-such-f: gpt bench table --help lists the flags; a text that begins with - goes after --",
	} {
		p := newProgram()
		p.Words = []Elsewhere{{"gpt generate", "run go"}, {"gpt bench table", "tables"},
			{"gpt tokenize --decode", "decode"}, {"none is made", "index"}}
		l, err := Parse(p.Command, strings.Fields(line))
		got := ""
		if err != nil {
			got = err.Error() + ": " + fault.HintOf(err)
		} else {
			path := l.Command.Path()
			got = strings.TrimSpace(fmt.Sprintf("%s %v", path, p.words))
			if l.Other[0] != "" {
				got += " " + l.Other[1] + " is " + l.Other[0]
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestAProgramWithoutADefaultCommand(t *testing.T) {
	for line, want := range map[string]string{
		"scoer":         `"scoer" is not a command: did you mean tool score?`,
		"x.txt":         `"x.txt" is not a command: tool --help lists the commands`,
		"hello, score":  `"hello," is not a command: tool --help lists the commands`,
		"-":             `"-" is not a command: tool --help lists the commands`,
		"score --help":  "",
		"--help":        "",
		"--scoer score": "unknown flag --scoer: tool score --help lists the flags",
	} {
		root := New(&Command{Name: "tool", Commands: []*Command{{Name: "score"}}})
		_, err := Parse(root, strings.Fields(line))
		got := ""
		if err != nil {
			got = err.Error() + ": " + fault.HintOf(err)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}
