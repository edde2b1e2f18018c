// Command tokenizers compares package tokenizer with Hugging Face's own library, on the tokenizers
// and cases that cases.mjs wrote:
//
//	node cases.mjs /tmp/cases ../../../README.md && go run . /tmp/cases
//
// It prints the first differences of each tokenizer and the number of differences in all cases. Its
// exit status is 1 if there are any.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/tokenizer"
)

// A result is a case, and the library's result for it.
type result struct {
	Kind, Text, Decoded, Kept, Error string
	IDs                              []int
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tokenizers DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	file, err := os.Open(filepath.Join(dir, "cases.jsonl"))
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	open, wrong := map[string]*tokenizer.Tokenizer{}, map[string]int{}
	cases, bad := 0, 0
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		tok := open[r.Kind]
		if tok == nil {
			if tok, err = tokenizer.Load(os.DirFS(filepath.Join(dir, r.Kind))); err != nil {
				return err
			}
			tok = tok.WithSpecial()
			open[r.Kind] = tok
		}
		cases++
		if d := difference(tok, r); d != "" {
			bad++
			if wrong[r.Kind]++; wrong[r.Kind] <= 2 {
				fmt.Printf("%s: %q: %s\n", r.Kind, r.Text, d)
			}
		}
	}
	fmt.Printf("%d tokenizers, %d cases, %d differences\n", len(open), cases, bad)
	if err := lines.Err(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("differences in %v", wrong)
	}
	return nil
}

// difference describes the difference, or returns "" if there is none.
func difference(tok *tokenizer.Tokenizer, r result) string {
	ids, spans, err := tok.EncodeSpans(r.Text)
	switch {
	case r.Error != "" && err != nil:
		return ""
	case err != nil:
		return fmt.Sprintf("%v, want %v", err, r.IDs)
	case r.Error != "":
		return fmt.Sprintf("%v, want the error %s", ids, r.Error)
	case !slices.Equal(ids, r.IDs):
		return fmt.Sprintf("%v, want %v", ids, r.IDs)
	}
	if again, err := tok.Encode(r.Text); err != nil || !slices.Equal(again, ids) {
		return fmt.Sprintf("without spans %v, %v; with %v", again, err, ids)
	}
	last := tokenizer.Span{}
	for _, s := range spans {
		if s.Start < last.Start || s.End < s.Start || s.End > len(r.Text) {
			return fmt.Sprintf("span %v after %v", s, last)
		}
		last = s
	}
	if d := decoded(tok, r.IDs, r.Kept); d != "" {
		return d
	}
	special := tok.Special()
	ordinary := slices.DeleteFunc(slices.Clone(r.IDs), func(id int) bool {
		_, is := slices.BinarySearch(special, id)
		return is
	})
	return decoded(tok, ordinary, r.Decoded)
}

// decoded compares a text with the text of ids. If the library returns U+FFFD for invalid bytes,
// for example for an added token "é" after ByteLevel, nothing is compared.
func decoded(tok *tokenizer.Tokenizer, ids []int, want string) string {
	got, err := tok.Decode(ids)
	if err != nil {
		return err.Error()
	}
	streamed := ""
	for text := range tok.Stream(func(yield func(int, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}) {
		streamed += text
	}
	if streamed != got {
		return fmt.Sprintf("streamed %q, decoded %q", streamed, got)
	}
	if got != want && !strings.ContainsRune(want, utf8.RuneError) {
		return fmt.Sprintf("%v: %q, want %q", ids, got, want)
	}
	return ""
}
