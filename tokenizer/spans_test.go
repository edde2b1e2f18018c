// Spans: which bytes of a text each token stands for.

package tokenizer

import (
	"slices"
	"testing"
)

// TestSpansAreTheTokensBytes holds for byte-level BPE: spans follow each other, and each covers its
// token's own bytes.
func TestSpansAreTheTokensBytes(t *testing.T) {
	for _, tok := range []*Tokenizer{GPT2(), GPT2().WithSpecial()} {
		for _, text := range append(corpus, broken...) {
			ids, spans, err := tok.EncodeSpans(text)
			if want := encode(t, tok, text); err != nil || !equal(ids, want) ||
				len(spans) != len(ids) {
				t.Fatalf("%q: %v, %d spans, %v; want %v", text, ids, len(spans), err, want)
			}
			at := 0
			for i, s := range spans {
				token, _ := tok.Text(ids[i])
				if s.Start != at || text[s.Start:s.End] != token {
					t.Errorf("%q: token %d, %q, is at %v", text, i, token, s)
				}
				at = s.End
			}
			if at != len(text) {
				t.Errorf("%q: the spans end at %d", text, at)
			}
			decoded, back, err := tok.DecodeSpans(ids)
			if err != nil || decoded != text || !slices.Equal(back, spans) {
				t.Errorf("%q: decodes to %q with %v, %v; want %v", text, decoded, back, err, spans)
			}
		}
	}
}

// TestSpansOfWhatIsNotInTheText covers the space that add_prefix_space puts before each part of a
// text between added tokens.
func TestSpansOfWhatIsNotInTheText(t *testing.T) {
	tok, err := loadJSON(t, func(top, model object) {
		top["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": true}
		top["added_tokens"] = []any{object{"id": 300, "content": "<x>", "special": true}}
	})
	if err != nil {
		t.Fatal(err)
	}
	ids, spans, err := tok.WithSpecial().EncodeSpans("ab<x>bb<x> a<x>a1")
	if want := []int{' ', 256, 300, ' ', 'b', 'b', 300, 257, 300, 257, '1'}; err != nil ||
		!equal(ids, want) {
		t.Fatalf("%v, %v; want %v", ids, err, want)
	}
	want := []Span{{0, 0}, {0, 2}, {2, 5}, {5, 5}, {5, 6}, {6, 7}, {7, 10}, {10, 12}, {12, 15},
		{15, 16}, {16, 17}}
	if !slices.Equal(spans, want) {
		t.Errorf("%v, want %v", spans, want)
	}
}

func TestSpecialIDs(t *testing.T) {
	if got := GPT2().Special(); !equal(got, []int{50256}) {
		t.Errorf("%v", got)
	}
}
