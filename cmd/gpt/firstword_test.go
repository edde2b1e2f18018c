package main

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/fault"
)

// refusalOf is the error of a command line whose first word or flags are a mistake, or nil.
func refusalOf(t *testing.T, args ...string) error {
	t.Helper()
	var c commands
	k, err := newGrammar(&c)
	if err != nil {
		t.Fatal(err)
	}
	a, err := arrange(k.Model.Node, args)
	if err != nil || !a.refused() {
		return err
	}
	return a.refusal(k, &c)
}

func TestAFirstWordIsACommandOrAPrompt(t *testing.T) {
	for _, line := range [][]string{
		{"-"}, {"quantise", "a", "b"}, {"once", "Upon"}, {"hello", "world"}, {"once", "--", "x"},
		{"-n", "5", "serev"}, {"-f", "file", "serev"}, {"-p", "Lily", "serev"},
		{"--help", "tokenise"}, {"tokenise", "--version"}, {"serev", "--zebra"}, {"hi", "--zebra"},
		{"eval", "lamdba"}, {"eval", "Lambada"}, {"eval", "x"}, {"bench", "attension"},
	} {
		var usage fault.Usage
		if err := refusalOf(t, line...); !errors.As(err, &usage) {
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
		if err := refusalOf(t, line...); err != nil {
			t.Errorf("%q: got %v, want none", line, err)
		}
	}
}

// A wrong flag is told before the word, unless the command that was likely meant takes it.
func TestFlagsAreCheckedBeforeTheFirstWord(t *testing.T) {
	for line, want := range map[string]string{
		"hello world --zebra":                "unknown flag --zebra",
		"hello world --length 5":             "unknown flag --length",
		"hello world --temp is":              `--temp: want a number, found "is"`,
		"--top-k five hello world":           `--top-k: want a whole number, found "five"`,
		"hello world --top-p 90":             "--top-p 90: want a number from 0 to 1 (off)",
		"hello world -n 0":                   "--max-tokens 0: want at least 1",
		"hello world --return 2":             "--return: want --beams N with it",
		"hello world --threads -1":           "--threads -1: want 0 to 4096",
		"hello world --addr :80":             "unknown flag --addr",
		"hello world -n":                     "--max-tokens: want a value, found none",
		"quantise a b --dtype int3":          `--dtype: want auto, f32, f16, bf16, q8 or q4, found "int3"`,
		"tokenise --decode 1 --addr 2":       "unknown flag --addr",
		"scors --temp 3 --text a":            "unknown flag --temp",
		"serev --max-n x":                    `--max-n: want a whole number, found "x"`,
		"eval lamdba f --limit x":            `--limit: want a whole number, found "x"`,
		"eval zebra --threads x":             `--threads: want a whole number, found "x"`,
		"hello world --temp 3":               `"hello" is not a command`,
		"hello world --help":                 `"hello" is not a command`,
		"quantise a b --dtype q8":            `"quantise" is not a command`,
		"tokenise --decode 1":                `"tokenise" is not a command`,
		"scor --temp 3":                      `"scor" is not a command`,
		"quantise":                           `"quantise" is not a command`,
		"eval lamdba f --limit 3":            `"lamdba" is not a command of gpt eval`,
		"perplexit --protocol hf --stride 2": `"perplexit" is not a command`,
	} {
		if err := refusalOf(t, strings.Fields(line)...); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", line, err, want)
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
	root := grammar(t)
	oneEdit := map[string]bool{} // words that are refused because they are one edit away
	long := map[string]bool{}    // and those of commands of eight letters or more
	for _, c := range root.Children {
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
		if child(root, w) != nil || strings.HasPrefix(w, "-") || w == "" {
			continue
		}
		a, err := arrange(root, []string{w})
		if err != nil {
			t.Fatalf("%s: %v", w, err)
		}
		want := judge(w)
		if a.refused() != want {
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
	root := grammar(t)
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
		if got := nearestCommand(root, word); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
	if got := nearestCommand(child(root, "eval"), "lamdba"); got != "lambada" {
		t.Errorf("eval lamdba: got %q, want lambada", got)
	}
}
