// Words that are too long to be merged at once: the same ids, in little memory.

package tokenizer

import (
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// longWords are words of many kinds, each one piece of about n bytes.
func longWords(random *rand.Rand, n int) map[string]string {
	words := map[string]string{}
	for _, unit := range []string{"0", "a", " ", "-", "\n", "\xff", "é", "中", "ab", "the", "abc",
		"internationalization", "==="} {
		words[unit+" repeated"] = strings.Repeat(unit, n/len(unit))
	}
	for _, alphabet := range []string{"abcdefghijklmnopqrstuvwxyz", "ab", "0123456789", " \n\t",
		"!@#$%^&*()-=_+", "的一是不了人我在有他这为之大来以", "日本語テキスト", "🙂🙃👍", "\xff\xfe\x80"} {
		runes := strings.Split(alphabet, "")
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(runes[random.IntN(len(runes))])
		}
		words["random "+alphabet] = b.String()
	}
	return words
}

// TestLongWordsHaveTheIDsOfTheMerges compares Encode with the merging of the whole word, which
// TestLongPieces compares with BPE on strings, around the length from which the two differ.
func TestLongWordsHaveTheIDsOfTheMerges(t *testing.T) {
	tok, random := GPT2(), rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{waitFor - 1, waitFor, waitFor + 1, 3*waitFor + 5} {
		for name, word := range longWords(random, n) {
			want := levelOf(tok).appendMerged(nil, word)
			if got := levelOf(tok).appendPiece(nil, word); !equal(got, want) {
				t.Errorf("%s, %d bytes: %d ids, want %d, or others", name, len(word), len(got),
					len(want))
			}
		}
	}
}

// TestLongWordsTryFewTokens: of a run of - GPT-2 has 30 tokens, of which 15 were tried for each byte.
func TestLongWordsTryFewTokens(t *testing.T) {
	cases.NotShort(t)
	l := levelOf(GPT2())
	l.long.prepare(l.spellBytes)
	words := longWords(rand.New(rand.NewPCG(13, 14)), 1<<16)
	for _, unit := range []string{"\x00", "*", ".", "_", "#", "\\", "\u0301", "\u00a0", "1", "-=", "ÃÂ"} {
		words[unit+" repeated"] = strings.Repeat(unit, 1<<16/len(unit))
	}
	for name, word := range words {
		p := newLongPiece(l.long.spelled, l.long.matcher, everyID)
		p.begin()
		l.addTo(p, word, &newest{keep: everyID})
		if p.tried > 4*len(word) {
			t.Errorf("%s: %d tokens tried for %d bytes, want at most 4 for each", name, p.tried,
				len(word))
		}
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongWordsTakeLittleMemory counts all allocations of Encode: 8 bytes for each token, six times
// that for the outgrown slices of ids, a few bytes for each byte of the word, and 3 MiB if the
// collector has taken the scratch memory. Merging the whole word took 75 more for each byte.
func TestLongWordsTakeLittleMemory(t *testing.T) {
	cases.NotShort(t)
	const n = 1 << 18
	tok := GPT2()
	words := longWords(rand.New(rand.NewPCG(11, 12)), n)
	for _, name := range cases.Keys(words, 5, 0) {
		word := words[name]
		encode(t, tok, word) // what is made once
		var ids []int
		got := allocated(func() { ids = encode(t, tok, word) })
		if most := uint64(6*8*len(ids) + 8*n + 3<<20); got > most {
			t.Errorf("%s: %d bytes for %d ids of %d bytes, want at most %d", name, got, len(ids),
				len(word), most)
		}
	}
}

// TestAnEncoderWhoseIDsAreTaken hands on all ids of a text on the way, and holds little of it.
func TestAnEncoderWhoseIDsAreTaken(t *testing.T) {
	cases.NotShort(t)
	tok := GPT2()
	words := longWords(rand.New(rand.NewPCG(13, 14)), 3*waitFor)
	for _, name := range cases.Keys(words, 5, 1) {
		word := words[name]
		text := "Once " + word + " upon " + word
		want := encode(t, tok, text)
		e, most := tok.NewEncoder(everyID), 0
		var got []int
		for part := range strings.SplitSeq(text, "") { // a character at a time
			if _, err := e.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
			ids := e.Take()
			got, most = append(got, ids...), max(most, len(ids))
		}
		ids, total, err := e.End()
		if got = append(got, ids...); err != nil || total != len(want) || !equal(got, want) {
			t.Errorf("%s: %d ids, %v, want %d, or others", name, total, err, len(want))
		}
		if most > waitFor {
			t.Errorf("%s: %d ids became certain at once", name, most)
		}
	}
}

// TestLongWordsOfCharactersHaveTheIDsOfTheMerges compares byte-pair encoding over characters with a
// twin that merges all of a word at once: other programs' kinds with their affixes and bytes, and
// random merges, some of which give a token in several ways.
func TestLongWordsOfCharactersHaveTheIDsOfTheMerges(t *testing.T) {
	cases.NotShort(t)
	random, long := rand.New(rand.NewPCG(15, 16)), 0
	same := func(name string, tok, twin *Tokenizer, words map[string]string) {
		t.Helper()
		m, ok := tok.model.(*charBPE)
		if !ok {
			return
		}
		twin.model.(*charBPE).long.once.Do(func() {}) // it has none
		for word, text := range words {
			want, wantSpans, wantErr := twin.EncodeSpans(text)
			got, spans, err := tok.EncodeSpans(text)
			if (err == nil) != (wantErr == nil) || !equal(got, want) ||
				!slices.Equal(spans, wantSpans) {
				t.Errorf("%s, %s: %d ids, %v, want %d, %v, or others", name, word, len(got), err,
					len(want), wantErr)
			}
			if got := encodeAny(tok, text); err == nil && !equal(got, want) {
				t.Errorf("%s, %s: other ids without spans", name, word)
			}
		}
		if m.long.spelled != nil {
			long++
		}
	}
	some, others := kinds(t), kinds(t)
	for name, tok := range some {
		same(name, tok, others[name], longWords(random, 3*waitFor))
	}
	if long < 3 {
		t.Errorf("%d kinds encode long words part by part", long)
	}
	for round := range 40 {
		seed := rand.NewPCG(17, uint64(round))
		tok := randomCharBPE(t, rand.New(seed))
		seed.Seed(17, uint64(round))
		twin := randomCharBPE(t, rand.New(seed))
		same("random merges", tok, twin, map[string]string{
			"": randomText(random, 4, waitFor+random.IntN(waitFor))})
	}
	if long < 20 {
		t.Errorf("%d vocabularies encode long words part by part", long)
	}
}

// encodeAny is Encode without its error.
func encodeAny(tok *Tokenizer, text string) []int {
	ids, _ := tok.Encode(text)
	return ids
}

// randomCharBPE has the letters a to d, alone or also as the last of a word, and random merges.
func randomCharBPE(t testing.TB, random *rand.Rand) *Tokenizer {
	t.Helper()
	suffix := []string{"", "</w>"}[random.IntN(2)]
	var tokens, merges []string
	vocab := map[string]int{}
	add := func(token string) {
		if _, ok := vocab[token]; !ok {
			vocab[token] = len(vocab)
			tokens = append(tokens, token)
		}
	}
	for _, letter := range []string{"a", "b", "c", "d"} {
		add(letter)
		add(letter + suffix)
	}
	for range 1 + random.IntN(30) {
		left, right := tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))]
		if (suffix == "" || !strings.HasSuffix(left, suffix)) && len(left+right) < 12 {
			add(left + right)
			merges = append(merges, left+" "+right)
		}
	}
	if random.IntN(2) > 0 {
		random.Shuffle(len(merges), func(i, j int) { merges[i], merges[j] = merges[j], merges[i] })
	}
	model := object{"type": "BPE", "vocab": vocab, "merges": merges}
	if suffix != "" {
		model["end_of_word_suffix"] = suffix
	}
	tok, err := Load(os.DirFS(write(t, map[string]string{"tokenizer.json": toJSON(object{"model": model})})))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestLongWordsOfPiecesHaveTheIDsOfTheWhole compares Unigram's search, which emits certain pieces
// early, with a search of the whole word.
func TestLongWordsOfPiecesHaveTheIDsOfTheWhole(t *testing.T) {
	cases.NotShort(t)
	random, cuts := rand.New(rand.NewPCG(19, 20)), 0
	toks, twins := kinds(t), kinds(t)
	for name, tok := range toks {
		m, ok := tok.model.(*unigram)
		if !ok {
			continue
		}
		whole := twins[name].model.(*unigram)
		whole.window = 1 << 30
		texts := longWords(random, 300)
		for i := range 300 {
			texts["jumble "+strconv.Itoa(i)] = jumble(random, 1+random.IntN(300))
		}
		for word, text := range texts {
			want, wantSpans, wantErr := twins[name].EncodeSpans(text)
			for _, m.window = range []int{1, 2, 7, 40} {
				got, spans, err := tok.EncodeSpans(text)
				if (err == nil) != (wantErr == nil) || err == nil && !(equal(got, want) &&
					slices.Equal(spans, wantSpans)) {
					t.Fatalf("%s, %s, %q: %v, %v, want %v, %v", name, word, text, got, err, want,
						wantErr)
				}
				cuts++
			}
		}
	}
	if cuts < 3000 {
		t.Errorf("only %d comparisons", cuts)
	}
}

// TestALongWordOfPiecesTakesAWindow: the search stores only what is not certain yet, not the word.
func TestALongWordOfPiecesTakesAWindow(t *testing.T) {
	cases.NotShort(t)
	for name, tok := range kinds(t) {
		m, ok := tok.model.(*unigram)
		if !ok {
			continue
		}
		words := longWords(rand.New(rand.NewPCG(21, 22)), 1<<18)
		for _, word := range cases.Keys(words, 4, 2) {
			text := words[word]
			e := encoded{}
			if err := m.tokenize(&e, passage{text: text}); err != nil {
				continue // a character without a piece
			}
			if most := 3 * longWay; cap(e.arcSpace) > most {
				t.Errorf("%s, %s: %d arcs, want at most %d", name, word, cap(e.arcSpace), most)
			}
		}
	}
}
