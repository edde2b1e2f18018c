// Streams: whole runes, no lost bytes, errors in their order.

package tokenizer

import (
	"errors"
	"iter"
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
