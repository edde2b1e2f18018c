// Byte-level BPE that has no token for some bytes.

package tokenizer

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/dev/cases"
)

// keptBytes is a text without the bytes that a vocabulary drops.
func keptBytes(tok *Tokenizer, text string) string {
	missing, _ := tok.Missing()
	return string(slices.DeleteFunc([]byte(text), func(b byte) bool {
		return slices.Contains(missing, b)
	}))
}

// TestLacking: the ids and texts of Hugging Face's own library, in testdata/lacking. In level and
// space the missing bytes are dropped; unknown and fused have a token for them.
func TestLacking(t *testing.T) {
	toks := map[string]*Tokenizer{}
	for _, kind := range []string{"level", "space", "unknown", "fused"} {
		tok, err := Load(os.DirFS(filepath.Join("testdata/lacking", kind)))
		if err != nil {
			t.Fatal(err)
		}
		toks[kind] = tok.WithSpecial()
	}
	cases := casesOf(t, "testdata/lacking/cases.jsonl")
	if len(cases) != 202 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		tok := toks[c.Kind]
		ids, spans, err := tok.EncodeSpans(c.Text)
		if err != nil || !equal(ids, c.IDs) || len(spans) != len(ids) {
			t.Errorf("%s: %q: %v, %v; want %v", c.Kind, c.Text, ids, err, c.IDs)
			continue
		}
		checkSpans(t, c.Text, spans)
		if got := encode(t, tok, c.Text); !equal(got, ids) {
			t.Errorf("%s: %q: without spans %v", c.Kind, c.Text, got)
		}
		if got := encodeParts(t, tok, c.Text, 3); !equal(got, ids) {
			t.Errorf("%s: %q: in parts %v", c.Kind, c.Text, got)
		}
		kept := c.Decoded
		if c.Kept != nil {
			kept = *c.Kept
		}
		text, err := tok.Decode(ids) // bytes of half characters stay, where the library has U+FFFD
		if err != nil || text != kept && !strings.ContainsRune(kept, utf8.RuneError) {
			t.Errorf("%s: %v: %q, %v; want %q", c.Kind, ids, text, err, kept)
		}
	}
}

// encodeParts encodes a text that arrives in parts of n bytes.
func encodeParts(t *testing.T, tok *Tokenizer, text string, n int) (ids []int) {
	t.Helper()
	e := tok.NewEncoder(everyID)
	for part := range slices.Chunk([]byte(text), n) {
		if _, err := e.Write(part); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.Take()...)
	}
	last, total, err := e.End()
	if ids = append(ids, last...); err != nil || total != len(ids) {
		t.Errorf("%q: %d ids, %v, want %d", text, total, err, len(ids))
	}
	return ids
}

// lackingGPT2 is GPT-2's vocabulary without some bytes and all tokens that contain them.
func lackingGPT2(t *testing.T, gone string) *Tokenizer {
	t.Helper()
	all, _ := GPT2().Parts()
	alphabet := newByteAlphabet()
	has := func(text string) bool {
		return !strings.ContainsAny(string(alphabet.appendBytes(nil, text)), gone)
	}
	parts := Parts{Tokens: all.Tokens, Kinds: slices.Clone(all.Kinds)}
	for id, text := range all.Tokens {
		if parts.Kinds[id] == Normal && !has(text) {
			parts.Kinds[id] = Unused
		}
	}
	for _, merge := range all.Merges {
		if left, right, _ := strings.Cut(merge, " "); has(left) && has(right) {
			parts.Merges = append(parts.Merges, merge)
		}
	}
	tok, err := FromParts(parts)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestMissingBytesAreDroppedFromPieces: what the text is divided into is decided before bytes are
// dropped, and what is merged after it; long words and texts that arrive in parts are no exception.
// What has all of its bytes has GPT-2's own ids.
func TestMissingBytesAreDroppedFromPieces(t *testing.T) {
	cases.NotShort(t)
	const gone = "<e7\t"
	tok := lackingGPT2(t, gone)
	if missing, unknown := tok.Missing(); string(missing) != "\t7<e" || unknown != -1 {
		t.Errorf("%q, %d", missing, unknown)
	}
	random := rand.New(rand.NewPCG(21, 22))
	words := []string{"the", " cat", "<<", " he's", "7", "27", "\t", "\n\t\n", "  ", "ee", "<|endoftext|>",
		" naïve", "日本", strings.Repeat("eab", waitFor), strings.Repeat("e", waitFor+9),
		strings.Repeat("\t ", waitFor)}
	for range 200 {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(words[random.IntN(len(words))])
		}
		text := b.String()
		var want []int
		for rest := text; rest != ""; {
			n := pieceLen(rest)
			if piece := keptBytes(tok, rest[:n]); piece != "" {
				want = levelOf(GPT2()).appendMerged(want, piece)
			}
			rest = rest[n:]
		}
		ids, spans, err := tok.EncodeSpans(text)
		if err != nil || !equal(ids, want) {
			t.Fatalf("%.80q: %d ids, %v; want %d, or others", text, len(ids), err, len(want))
		}
		if got := encode(t, tok, text); !equal(got, ids) {
			t.Errorf("%.80q: %d ids without spans, want %d, or others", text, len(got), len(ids))
		}
		if got := encodeParts(t, tok, text, 1+random.IntN(3*waitFor)); !equal(got, ids) {
			t.Errorf("%.80q: %d ids in parts, want %d, or others", text, len(got), len(ids))
		}
		end := 0
		for i, s := range spans {
			token, _ := tok.Text(ids[i])
			if s.Start < end || keptBytes(tok, text[end:s.Start]) != "" ||
				keptBytes(tok, text[s.Start:s.End]) != token {
				t.Fatalf("%.80q: span %v of %q, after %d", text, s, token, end)
			}
			if strings.ContainsAny(text[s.Start:s.Start+1]+text[s.End-1:s.End], gone) {
				t.Fatalf("%.80q: span %v of %q begins or ends with a missing byte", text, s, token)
			}
			end = s.End
		}
		if decoded, err := tok.Decode(ids); err != nil || decoded != keptBytes(tok, text) {
			t.Fatalf("%.80q: %.80q, %v", text, decoded, err)
		}
	}
	for _, text := range []string{"a hot dog, 36 cats", "ça va", "\xff\xc3"} {
		if got := encode(t, tok, text); !equal(got, encode(t, GPT2(), text)) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestMissing: which bytes a vocabulary lacks, and what stands for them.
func TestMissing(t *testing.T) {
	unknown, err := os.ReadFile("testdata/lacking/unknown/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Replace(string(unknown), `"unk_token":"[UNK]"`, `"unk_token":"[NONE]"`, 1)
	for name, test := range map[string]struct {
		files   map[string]string
		missing int // bytes
		unknown int
		fails   string // of "e"
	}{
		"a pair": {map[string]string{"vocab.json": `{"a": 0, "b": 1, "ab": 4}`, "merges.txt": "a b"},
			254, -1, ""},
		"a token for them": {map[string]string{"tokenizer.json": string(unknown)}, 36, 452, ""},
		"a name that is no token": {map[string]string{"tokenizer.json": named}, 0, -1,
			`byte 0 of the text, "e": the vocabulary has no token for it`},
		"whole": {map[string]string{"tokenizer.json": kindFile(t, "bytelevel-nfc-digits",
			"tokenizer.json")}, 0, -1, ""},
		"characters": {map[string]string{"tokenizer.json": kindFile(t, "characters",
			"tokenizer.json")}, 0, -1, ""},
	} {
		tok, err := Load(os.DirFS(write(t, test.files)))
		if err != nil {
			t.Fatal(err)
		}
		if missing, id := tok.Missing(); len(missing) != test.missing || id != test.unknown ||
			!slices.IsSorted(missing) {
			t.Errorf("%s: %q, %d", name, missing, id)
		}
		if _, err := tok.Encode("e"); test.fails != "" && (err == nil || err.Error() != test.fails) {
			t.Errorf("%s: %v, want %s", name, err, test.fails)
		}
	}
	if missing, id := GPT2().Missing(); missing != nil || id != -1 {
		t.Errorf("GPT-2: %q, %d", missing, id)
	}
}

// TestASpaceThatIsMissing: add_prefix_space puts a space before a text, which is dropped if the
// vocabulary has none.
func TestASpaceThatIsMissing(t *testing.T) {
	tok, err := Load(os.DirFS(write(t, map[string]string{"vocab.json": `{"a": 0, "b": 1, "ab": 4}`,
		"merges.txt": "a b", "tokenizer_config.json": `{"add_prefix_space": true}`})))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][]Span{"ab": {{0, 2}}, "xacb": {{1, 4}}, "x": nil, " b": {{1, 2}}} {
		ids, spans, err := tok.EncodeSpans(text)
		if err != nil || !slices.Equal(spans, want) || !equal(encodeParts(t, tok, text, 1), ids) {
			t.Errorf("%q: %v, %v, %v; want %v", text, ids, spans, err, want)
		}
	}
}
