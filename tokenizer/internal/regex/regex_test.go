// Regular expressions: what they cost, and what is refused.

package regex

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// steps returns the forks, looks and runs that all matches of a pattern in a text take.
func steps(t *testing.T, pattern, text string) (count int, err error) {
	t.Helper()
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	run := p.run(text, atMost(16<<20+512*len(text)))
	err = run.matches(func(int, int) {})
	return run.marked, err
}

// atMost returns a bound of steps, as the package tokenizer sets one.
func atMost(most int) func(steps int) error {
	return func(steps int) error {
		if most -= steps; most < 0 {
			return errTooMany
		}
		return nil
	}
}

var errTooMany = errors.New("too many steps")

// TestRegexesAreLinear: the marked steps of twice the text are at most twice as many, where other
// engines take four or a thousand times as many.
func TestRegexesAreLinear(t *testing.T) {
	for _, test := range []struct{ pattern, part, end string }{
		{`(a*)*b`, "a", ""},
		{`(a|a)*b`, "a", ""},
		{`a+a+a+b`, "a", ""},
		{`(?=a*b)a`, "a", ""},
		{`(?!a*b)a`, "a", "b"},
		{`(?<=^a*)c`, "a", ""},
		{`(?<!^a*)a`, "a", ""},
		{`a++b|a`, "a", ""},
		{`(?>a*)b|a`, "a", ""},
		{`\s+$`, " ", "x"},
		{`\s++$|\s`, " ", "x"},
		{`\s+(?!\S)|\s`, " ", "x"},
	} {
		const n = 3000
		once, err := steps(t, test.pattern, strings.Repeat(test.part, n)+test.end)
		twice, err2 := steps(t, test.pattern, strings.Repeat(test.part, 2*n)+test.end)
		if err != nil || err2 != nil || twice > 2*once+100 || once > 20*n {
			t.Errorf("%s: %d and %d steps, %v, %v", test.pattern, once, twice, err, err2)
		}
	}
}

// TestAtomicGroupsAreBounded: only they can read one part of a text again and again, which is an
// error of that text.
func TestAtomicGroupsAreBounded(t *testing.T) {
	cases.NotShort(t)
	const pattern = `(?>(?:a|b)*)c|a`
	if _, err := steps(t, pattern, strings.Repeat("ab", 50)); err != nil {
		t.Error(err)
	}
	_, err := steps(t, pattern, strings.Repeat("a", 20000))
	if err != errTooMany {
		t.Errorf("%v, want %v", err, errTooMany)
	}
}

// TestRegexMarksAreReused: the memory of a search does not grow with the text.
func TestRegexMarksAreReused(t *testing.T) {
	p, _ := Compile(`\p{L}+|\s+(?!\S)|\s+`)
	run := p.run(strings.Repeat("one two  ", 10000), atMost(math.MaxInt))
	if err := run.matches(func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	held := len(run.failed.free)
	for _, b := range run.failed.blocks {
		if b != nil {
			held++
		}
	}
	if held > 4 {
		t.Errorf("%d blocks, want at most 4 of %d", held, len(run.failed.blocks))
	}
}

// TestMemoryOfPatternsIsBounded: a look behind keeps what it knows of the whole text.
func TestMemoryOfPatternsIsBounded(t *testing.T) {
	text := strings.Repeat("a", 200_000)
	p, err := Compile(`(?<=(?:a?){2000}b)c`)
	if err != nil {
		t.Fatal(err)
	}
	run := p.run(text, atMost(16<<20+512*len(text)))
	err = run.matches(func(int, int) {})
	words := 0
	for _, b := range slices.Concat(run.failed.blocks, run.matched.blocks) {
		words += len(b)
	}
	if most := (16<<20+512*len(text)+tellFor)/blockWork + markBlock*len(run.program)/64; err == nil ||
		words > most {
		t.Errorf("%d words, want at most %d; %v", words, most, err)
	}
}

func TestRegexesRefused(t *testing.T) {
	for pattern, want := range map[string]string{
		`(a)\1`:                          `byte 4: \1: not supported`,
		`\k<a>`:                          `byte 2: \k: not supported`,
		`\X`:                             `byte 2: \X: not supported`,
		`a\Kb`:                           `\K: not supported`,
		`(?s).`:                          `(?s: not supported`,
		`(?~a)`:                          `(?~: not supported`,
		`(?<=a++)b`:                      `an atomic group within (?<=…): not supported`,
		`\p{Klingon}`:                    `\p{Klingon}: not supported`,
		`\p{L`:                           `\p{L}: not supported`,
		`\`:                              `\ at the end`,
		`[\`:                             `\ at the end`,
		`[a`:                             `[ without ]`,
		`[]`:                             `[] without a character`,
		`[b-a]`:                          `a range of characters that ends before it begins`,
		`[a-\d]`:                         `a range of characters that ends before it begins`,
		`(a`:                             `( without )`,
		`(?i`:                            `( without )`,
		`(?#`:                            `(?# without )`,
		`(?<a`:                           `the name of a group does not end`,
		`a)`:                             `byte 1: ) without (`,
		`*a`:                             `* without something before it`,
		`^*`:                             `a repetition of what has no length`,
		`\x{110000}`:                     `want the digits of a character`,
		`\xE4`:                           `want the digits of a character`,
		`\u00`:                           `\u: want the digits of a character`,
		strings.Repeat("(", 22):          `more than 20 groups in each other`,
		strings.Repeat("[", 22):          `more than 20 sets in each other`,
		`((a{1000}){1000}){1000}`:        `more than 4096 steps`,
		`((((){1000}){1000}){1000})`:     `more than 4096 steps`,
		fmt.Sprintf("%2049s", "a"):       `2049 bytes, want at most 2048`,
		`(?:a{5000})`:                    `more than 4096 steps`,
		strings.Repeat("a|", 1023) + `*`: `* without something before it`,
	} {
		if _, err := Compile(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want …%s…", pattern, err, want)
		}
	}
}

// FuzzRegex: any pattern is refused or finds matches in order within any text.
func FuzzRegex(f *testing.F) {
	for _, seed := range []string{`(?i:'s|[^\r\n]?+\p{L}++|\s+(?!\S))*`, `(?<=a|b{2})(?<!\Gc)$`,
		`(?x) [a-z&&[^b[:punct:]]] # c`, `\x{41}\u0041\101(?>a*?)`, `(|a)*(?#x)^`} {
		f.Add(seed, "a's bC\n漢\xff")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := Compile(pattern)
		if err != nil || len(text) > 1000 {
			return
		}
		last := 0
		p.Matches(text, atMost(math.MaxInt), func(from, to int) {
			if from < last || to < from || to > len(text) {
				t.Fatalf("%q in %q: %d to %d after %d", pattern, text, from, to, last)
			}
			last = to
		})
	})
}
