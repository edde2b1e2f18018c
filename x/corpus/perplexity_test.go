package main

// The number of corpus perplexity is that of gpt perplexity, to the last digit.

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// result is what a command printed as JSON, but for the digest of the text, which only gpt knows.
func result(t *testing.T, text string) map[string]any {
	t.Helper()
	var r map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // digits as they stand
	if err := d.Decode(&r); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	delete(r, "sha256")
	return r
}

// digestLine is what gpt says of the text besides.
var digestLine = regexp.MustCompile(`(?m)^SHA-256 .*\n`)

// files writes each document into a file of its own, and returns their names.
func files(t *testing.T, all []document) (names []string) {
	t.Helper()
	dir := t.TempDir()
	for i, d := range all {
		names = append(names, write(t, filepath.Join(dir, fmt.Sprintf("%04d.txt", i)), d.Text))
	}
	return names
}

func TestPerplexityIsThatOfGPT(t *testing.T) {
	all, model := makeDocuments(60), byteModel(t)
	texts := files(t, all)
	measure := []string{"perplexity", "--json", "-m", model, "--protocol", "lm-eval"}
	want := result(t, gpt(t, append(measure, texts...)...))
	for _, n := range []int{1, 7, 100} {
		for _, f := range forms {
			t.Run(fmt.Sprintf("%d %s", n, f.name), func(t *testing.T) {
				t.Parallel()
				got := result(t, succeed(t, append(measure, "--input", f.shards(t, all, n),
					"--form", f.flag, "--piece-bytes", fmt.Sprint(1<<n%20000+1))...))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%v, want %v", got, want)
				}
			})
		}
	}
	t.Run("text", func(t *testing.T) {
		got := result(t, succeed(t, append(measure, "--form", "text", "--input",
			filepath.Join(filepath.Dir(texts[0]), "*.txt"), "--piece-bytes", "50KiB")...))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}

func TestPerplexityByEveryProtocol(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	book := write(t, filepath.Join(dir, "book"), strings.Join(strings.Fields(strings.Repeat(
		"It was the best of times, it was the worst of times — 双城记. ", 12)), " "))
	wiki := write(t, filepath.Join(dir, "wiki"), " \n = One = \n \n A page , which is one . \n"+
		" \n = = Part = = \n \n It has parts @-@ two . \n \n = Two = \n \n Another \" page \" . \n")
	for _, flags := range [][]string{
		{"hf"}, {"hf", "--window", "32", "--stride", "10"}, {"hf", "--stride", "16"},
		{"llama.cpp"}, {"llama.cpp", "--window", "20"}, {"lm-eval", "--window", "30"},
		{"hf", "--wikitext"}, {"lm-eval", "--wikitext"}, {"llama.cpp", "--wikitext", "--window", "20"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			t.Parallel()
			common := append([]string{"perplexity", "-m", model, "--protocol"}, flags...)
			file, form := book, []string{"--form", "text"}
			if slices.Contains(flags, "--wikitext") {
				file, form = wiki, nil
			}
			ask := slices.Concat(common, form, []string{"--input", file})
			for _, json := range [][]string{nil, {"--json"}} {
				got := succeed(t, append(ask, json...)...)
				want := gpt(t, slices.Concat(common, json, []string{file})...)
				if json != nil {
					if g, w := result(t, got), result(t, want); !reflect.DeepEqual(g, w) {
						t.Errorf("%v, want %v", g, w)
					}
				} else if want = digestLine.ReplaceAllString(want, ""); got != want {
					t.Errorf("%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// TestOrderField: shuffled texts give the digits of the ordered ones, which differ from those of
// another order.
func TestOrderField(t *testing.T) {
	all, model := makeDocuments(60), byteModel(t)
	measure := []string{"perplexity", "--json", "-m", model, "--protocol", "lm-eval"}
	want := result(t, gpt(t, append(measure, files(t, all)...)...))
	shuffled := slices.Clone(all)
	rand.New(rand.NewPCG(9, 0)).Shuffle(len(shuffled), func(i, j int) {
		shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
	})
	for _, f := range forms[:4] {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			input := f.shards(t, shuffled, 9)
			got := result(t, succeed(t, append(measure, "--input", input, "--order-field", "rank")...))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
			if other := result(t, succeed(t, append(measure, "--input", input)...)); other["nll"] ==
				want["nll"] {
				t.Error("the order changes no digit: this test shows nothing")
			}
		})
	}
}

// TestOrders: numbers by their value and then strings by their bytes, equal ones as they stand;
// what has no key is set aside. Only a sum tells the order of documents, so it is gpt's sum of them
// in that order that is wanted.
func TestOrders(t *testing.T) {
	keys := []string{"-1e300", "-9007199254740993", "-9007199254740992", "-0.5", "0", "-0.0",
		"1e-320", "3", "3.0", "20", "9007199254740992", "9007199254740993", "1e999", `""`, `"10"`,
		`"9"`, `"a"`, `"a\u0000"`, `"a\u0000b"`, `"a\u0001"`, `"b"`, `"\u732b"`}
	none := []string{"null", "true", "[1]", "{}"}
	model, all := byteModel(t), makeDocuments(len(keys)+len(none)+40)
	all = slices.DeleteFunc(all, func(d document) bool { return d.Text == "" })
	texts := all[:len(keys)]
	lines := []string{`{"text":"no key at all"}`}
	for i, key := range append(slices.Clone(keys), none...) {
		text, err := json.Marshal(all[i].Text)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf(`{"text":%s,"k":%s}`, text, key))
	}
	// equal keys stay in the order of their lines
	swap := func(i, j int) { lines[i], lines[j] = lines[j], lines[i] }
	rand.New(rand.NewPCG(8, 0)).Shuffle(len(lines), swap)
	for _, same := range [][2]string{{`"k":0}`, `"k":-0.0}`}, {`"k":3}`, `"k":3.0}`}} {
		ends := func(key string) int {
			return slices.IndexFunc(lines, func(l string) bool { return strings.HasSuffix(l, key) })
		}
		if i, j := ends(same[0]), ends(same[1]); i > j {
			swap(i, j)
		}
	}
	dir := t.TempDir()
	input := write(t, filepath.Join(dir, "in.jsonl"), strings.Join(lines, "\n"))
	measure := []string{"perplexity", "--json", "-m", model, "--protocol", "lm-eval"}
	want := result(t, gpt(t, append(measure, files(t, texts)...)...))
	out := filepath.Join(dir, "out")
	got := result(t, succeed(t, append(measure, "--input", input, "--order-field", "k",
		"--max-errors", "5", "-o", out, "--piece-bytes", "1KiB")...))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if set, err := filepath.Glob(filepath.Join(out, "errors", "*")); err != nil || len(set) == 0 {
		t.Errorf("%q, %v: want files of errors", set, err)
	}
	if n := len(readLines(t, filepath.Join(out, "errors", "*"))); n != len(none)+1 {
		t.Errorf("%d are set aside, want %d", n, len(none)+1)
	}
	if _, err := os.Stat(filepath.Join(out, ".work")); err == nil {
		t.Error(".work is left")
	}
}
