// The speed of each kind of vocabulary, and what must not take quadratic time.

package tokenizer

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
)

// realVocabulary makes a vocabulary of 20,000 words and parts of words of the size that models have.
func realWords() []string {
	var words []string
	seen := map[string]bool{}
	add := func(w string) {
		if w != "" && !seen[w] {
			seen[w] = true
			words = append(words, w)
		}
	}
	for id := range 30000 {
		text, _ := GPT2().tokens.token(id)
		if strings.ToValidUTF8(text, "") == text {
			add(strings.TrimPrefix(text, " "))
		}
	}
	for c := rune(0x4e00); c < 0x5e00; c++ {
		add(string(c))
	}
	return words
}

// speedKinds are vocabularies of the size that models have.
func speedKinds(t testing.TB) map[string]*Tokenizer {
	t.Helper()
	words := realWords()
	wordPiece := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	pieces := [][]any{{"<unk>", 0.0}, {"▁", -3.0}}
	for i, w := range words {
		score := -3 - math.Log(float64(i+2))
		wordPiece = append(wordPiece, w, "##"+w)
		pieces = append(pieces, []any{"▁" + w, score}, []any{w, score - 1})
	}
	load := func(files map[string]string) *Tokenizer {
		tok, err := Load(os.DirFS(write(t, files)))
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	metaspace := object{"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"}
	file := func(normalizer any, model object) map[string]string {
		return map[string]string{"tokenizer.json": toJSON(object{"normalizer": normalizer,
			"pre_tokenizer": metaspace, "decoder": metaspace, "model": model})}
	}
	// GPT-2's merges, with the space written as Metaspace writes it.
	vocab, merges := gpt2Files()
	spaces := strings.NewReplacer("Ġ", "▁")
	ids := map[string]int{"<unk>": len(vocab)}
	for token, id := range vocab {
		ids[spaces.Replace(token)] = id
	}
	lines := strings.Split(strings.TrimSpace(spaces.Replace(merges)), "\n")
	return map[string]*Tokenizer{
		"WordPiece": load(map[string]string{"vocab.txt": strings.Join(wordPiece, "\n")}),
		"Unigram":   load(file(nil, object{"type": "Unigram", "unk_id": 0, "vocab": pieces})),
		"Metaspace BPE": load(file(object{"type": "NFKC"}, object{"type": "BPE", "vocab": ids,
			"merges": lines, "unk_token": "<unk>"})),
	}
}

// TestALotOfAnyKind is the guard against quadratic time: of a megabyte with -tags long.
func TestALotOfAnyKind(t *testing.T) {
	cases.NotShort(t)
	toks := kinds(t)
	for name, tok := range speedKinds(t) {
		toks[name] = tok
	}
	size := cases.Of(1<<13, 1<<20)
	for name, tok := range toks {
		for _, unit := range []string{"a", " ", "\u0301", "e\u0301\u0323", "7", "!", "▁", "\n", "你",
			"\xff", "the ", "<|endoftext|>", "[CLS]", "TAG "} {
			text := strings.Repeat(unit, size/len(unit))
			stop := watchdog.Start(t, "%s: %q repeated", name, unit)
			ids, spans, err := tok.WithSpecial().EncodeSpans(text)
			if err == nil && len(spans) != len(ids) {
				t.Errorf("%s: %q repeated: %d spans of %d ids", name, unit, len(spans), len(ids))
			}
			if _, err := tok.Decode(ids); err != nil {
				t.Errorf("%s: %q repeated: %v", name, unit, err)
			}
			stop()
		}
	}
}

func BenchmarkKinds(b *testing.B) {
	english := strings.Repeat("The quick brown fox, 42 years old, didn't jump over the lazy dog.\n", 1<<13)
	if text, err := os.ReadFile("../../shared/data/wikitext-2-raw.test.txt"); err == nil {
		english = string(text[:1<<19])
	}
	chinese := strings.Repeat("这是很久之前的事情了，我爱北京天安门。", 1<<12)
	for name, tok := range speedKinds(b) {
		for which, text := range map[string]string{"english": english, "chinese": chinese} {
			b.Run(fmt.Sprintf("%s/%s", name, which), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					encode(b, tok, text)
				}
			})
		}
	}
}
