// Streams: whole runes, no lost bytes, errors in their order; and decoders after Fuse.

package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// bytesOf returns one id for each byte of text.
func bytesOf(text string) []int {
	ids := []int{}
	for i := range len(text) {
		ids = append(ids, int(levelOf(GPT2()).byteID[text[i]]))
	}
	return ids
}

func TestStreamsHoldBackPartsOfRunes(t *testing.T) {
	for _, test := range []struct {
		text  string
		parts []string
	}{
		{"aé", []string{"a", "é"}},
		{"€", []string{"€"}},
		{"😀", []string{"😀"}},
		{"\xffa", []string{"\xff", "a"}},     // never valid: at once
		{"\xe2\x82x", []string{"\xe2\x82x"}}, // x ends what could have been
		{"\xe2\xe2\x82\xac", []string{"\xe2", "€"}},
		{"\xf0\x9f\x98", []string{"\xf0\x9f\x98"}},
		{"\xed\xa0\x80", []string{"\xed\xa0", "\x80"}}, // a surrogate: invalid by its second byte
		{"\xc0\x80", []string{"\xc0", "\x80"}},
	} {
		var got []string
		for part, err := range GPT2().Stream(values(bytesOf(test.text))) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, part)
		}
		if !slices.Equal(got, test.parts) {
			t.Errorf("%q: %q, want %q", test.text, got, test.parts)
		}
	}
}

func TestDecoderUnknownID(t *testing.T) {
	d := GPT2().NewDecoder(nil)
	ids := bytesOf("é")
	if part, err := d.Push(ids[0]); part != "\xc3" || err != nil {
		t.Errorf("%q, %v", part, err)
	}
	if part, err := d.Push(60000); err == nil || part != "" {
		t.Errorf("%q, %v", part, err)
	}
	if part, err := d.Push(ids[1]); part+d.Flush() != "\xa9" || err != nil {
		t.Errorf("after an unknown id: %q, %v", part, err)
	}
}

func FuzzStream(f *testing.F) {
	for _, text := range append(corpus, broken...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all := ""
		for part, err := range GPT2().Stream(values(bytesOf(text))) {
			if err != nil {
				t.Fatal(err)
			}
			if utf8.ValidString(text) && !utf8.ValidString(part) {
				t.Fatalf("%q: part %q", text, part)
			}
			all += part
		}
		if all != text {
			t.Fatalf("%q: %q", text, all)
		}
	})
}

func TestStreamErrors(t *testing.T) {
	stop := errors.New("stop")
	half := bytesOf("aé")[:2]
	failing := func(yield func(int, error) bool) {
		_ = yield(half[0], nil) && yield(half[1], nil) && yield(0, stop)
	}
	for name, test := range map[string]struct {
		ids  iter.Seq2[int, error]
		want string
	}{
		"of the ids": {failing, "stop"},
		"unknown id": {values(append(slices.Clone(half), 50257)),
			"token id 50257 is unknown: the vocabulary has 50257 ids"},
	} {
		var parts []string
		var last error
		for part, err := range GPT2().Stream(test.ids) {
			if last != nil {
				t.Errorf("%s: goes on after an error", name)
			}
			parts, last = append(parts, part), err
		}
		if !slices.Equal(parts, []string{"a", "\xc3", ""}) || last == nil ||
			last.Error() != test.want {
			t.Errorf("%s: %q, %v", name, parts, last)
		}
	}
}

// TestStreamBreak leaves the loop at each part.
func TestStreamBreak(t *testing.T) {
	ids := append(bytesOf("aé"), bytesOf("\xe2")...)
	for n, want := range []string{"a", "aé", "aé\xe2"} {
		got, parts := "", 0
		for part := range GPT2().Stream(values(ids)) {
			got += part
			if parts++; parts > n {
				break
			}
		}
		if got != want {
			t.Errorf("%d parts: %q, want %q", n+1, got, want)
		}
	}
}

// TestDecoderAllocatesNothing for tokens of whole runes, which is nearly all there are.
func TestDecoderAllocatesNothing(t *testing.T) {
	ids := encode(t, GPT2(), strings.Repeat("Once upon a time. ", 10))
	d := GPT2().NewDecoder(nil)
	if n := testing.AllocsPerRun(10, func() {
		for _, id := range ids {
			d.Push(id)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestDecodersAfterFuse: testdata/fused.jsonl has the texts of Hugging Face's own library, where all
// tokens are one, and for an empty suffix.
func TestDecodersAfterFuse(t *testing.T) {
	vocab := object{}
	for id, token := range []string{"<unk>", "▁a", "b", "▁", "##c", "xab", "ab", "<0xC3>", "<0xA9>",
		"a</w>", "▁▁", "</", "w>", "12"} {
		vocab[token] = id
	}
	ids := [][]int{{}, {1}, {1, 2, 5, 6, 3}, {3, 1, 4, 2, 10, 3}, {2, 5, 6, 2, 2}, {7, 8, 9, 1, 9},
		{11, 12, 13, 6, 6, 1}, {10, 10, 2}, {9}}
	data, err := os.ReadFile("testdata/fused.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		var c struct {
			Decoders json.RawMessage
			Texts    []*string // nil where the library panics
		}
		if err := json.Unmarshal(line, &c); err != nil || len(c.Texts) != len(ids) {
			t.Fatal(len(c.Texts), err)
		}
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{
			"decoder": object{"type": "Sequence", "decoders": c.Decoders},
			"model":   object{"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}})})))
		if err != nil {
			t.Errorf("%s: %v", c.Decoders, err)
			continue
		}
		for i, want := range c.Texts {
			if text, err := tok.Decode(ids[i]); want != nil && (text != *want || err != nil) {
				t.Errorf("%s: %v: %q, %v; want %q", c.Decoders, ids[i], text, err, *want)
			}
		}
		// A fork goes its own way.
		d := tok.NewDecoder(nil)
		first, _ := d.Push(1)
		other := d.Fork()
		for _, id := range []int{2, 5, 6, 3} {
			text, _ := d.Push(id)
			other.Push(9)
			first += text
		}
		if text := first + d.Flush(); text != *c.Texts[2] {
			t.Errorf("%s: beside a fork: %q, want %q", c.Decoders, text, *c.Texts[2])
		}
	}
}
