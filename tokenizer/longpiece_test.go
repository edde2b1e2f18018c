// Words that are too long to be merged at once: the same ids, in little memory.

package tokenizer

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
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

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongWordsTakeLittleMemory counts all that Encode allocates: 8 bytes of each token, six times
// with what the slice of ids leaves behind as it grows, a few for each byte of the word, and 3 MiB
// if the collector has taken the scratch. Merging the whole word took 75 more for each byte.
func TestLongWordsTakeLittleMemory(t *testing.T) {
	const n = 1 << 18
	tok := GPT2()
	for name, word := range longWords(rand.New(rand.NewPCG(11, 12)), n) {
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
	tok := GPT2()
	for name, word := range longWords(rand.New(rand.NewPCG(13, 14)), 3*waitFor) {
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

// TestNoIDIsCertainWhereAByteMayBeUnknown: after an error nothing has been handed on.
func TestNoIDIsCertainWhereAByteMayBeUnknown(t *testing.T) {
	tok := randomMerges(t, rand.New(rand.NewPCG(1, 2)), 2, 3)
	e := tok.NewEncoder(everyID)
	if _, err := e.Write([]byte(strings.Repeat("ab", waitFor))); err != nil {
		t.Fatal(err)
	}
	if ids := e.Take(); len(ids) > 0 {
		t.Errorf("%d ids before the end of the text", len(ids))
	}
	want := encode(t, tok, strings.Repeat("ab", waitFor))
	if ids, _, err := e.End(); err != nil || !equal(ids, want) {
		t.Errorf("%d ids, %v, want %d", len(ids), err, len(want))
	}
}
