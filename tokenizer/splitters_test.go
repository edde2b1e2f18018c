// The patterns of Split and Replace, against what Hugging Face's own library makes of texts with
// them: testdata/patterns.jsonl, which x/bench/tokenizers/patterns.mjs writes.

package tokenizer

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"picogpt/dev/cases"
)

func TestPatterns(t *testing.T) {
	cases.NotShort(t)
	path := "testdata/patterns.jsonl"
	if other := os.Getenv("GPT_PATTERNS"); other != "" {
		path = other
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range bytes.Lines(data) {
		var c struct {
			Pattern, Behavior json.RawMessage
			Invert            bool
			Text              string
			Parts             []string
			Replaced          string
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		count++
		file := object{"model": object{"type": "WordLevel", "unk_token": "?", "vocab": object{"?": 0}},
			"pre_tokenizer": object{"type": "Split", "pattern": c.Pattern, "behavior": c.Behavior,
				"invert": c.Invert},
			"normalizer": object{"type": "Replace", "pattern": c.Pattern, "content": "-"}}
		tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(file)})))
		if err != nil {
			t.Errorf("%s: %v", c.Pattern, err)
			continue
		}
		if p := tok.normalizers[0].normalize(passage{text: c.Text}, false); p.text != c.Replaced {
			t.Errorf("Replace %s in %q: %q, want %q", c.Pattern, c.Text, p.text, c.Replaced)
		}
		tok.normalizers = nil
		_, spans, err := tok.EncodeSpans(c.Text)
		parts := []string{}
		for _, s := range spans {
			parts = append(parts, c.Text[s.Start:s.End])
		}
		if err != nil || !slices.Equal(parts, c.Parts) {
			t.Errorf("Split %s, %s, invert %v of %q: %q, %v; want %q", c.Pattern, c.Behavior, c.Invert,
				c.Text, parts, err, c.Parts)
		}
	}
	if want := 502; path == "testdata/patterns.jsonl" && count != want {
		t.Errorf("%d cases, want %d", count, want)
	}
}
