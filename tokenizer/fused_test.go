// Decoders after Fuse, where all tokens are one, and one with an empty suffix: testdata/fused.jsonl has
// the texts of Hugging Face's own library.

package tokenizer

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

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
		tok, err := Load(write(t, map[string]string{"tokenizer.json": toJSON(object{
			"decoder": object{"type": "Sequence", "decoders": c.Decoders},
			"model":   object{"type": "WordLevel", "unk_token": "<unk>", "vocab": vocab}})}))
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
