// Encoding and decoding: any bytes, special tokens, long pieces, time, many goroutines.

package tokenizer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
	"picogpt/tokenizer/r50k"
)

func TestAnyBytesRoundTrip(t *testing.T) {
	tok := GPT2()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := make([]byte, random.IntN(300))
		for i := range text {
			text[i] = byte(random.Uint32())
		}
		roundTrip(t, tok, string(text), encode(t, tok, string(text)))
	}
	for _, text := range broken {
		roundTrip(t, tok, text, encode(t, tok, text))
	}
}

// TestInvalidBytesStaySingle holds invalid UTF-8 to its rule in ids: \xff, which GPT-2 has no merge
// for, splits a text as a symbol, and is token 187.
func TestInvalidBytesStaySingle(t *testing.T) {
	tok := GPT2()
	for text, want := range map[string][]string{
		"ab\xffcd":    {"ab", "\xff", "cd"},
		" \xff\xff a": {" ", "\xff", "\xff", " a"},
		"it's\xff's":  {"it", "'s", "\xff", "'", "s"}, // the piece \xff' as in !'s
		"\n \xff":     {"\n", " ", "\xff"},
	} {
		ids := []int{}
		for _, token := range want {
			ids = append(ids, encode(t, tok, token)...)
		}
		if got := encode(t, tok, text); !equal(got, ids) || len(got) != len(want) ||
			!slices.Contains(got, 187) {
			t.Errorf("%q: %v, want %v, the tokens %q", text, got, ids, want)
		}
	}
}

func TestSpecialTokensAreTextUnlessAskedFor(t *testing.T) {
	tok := GPT2()
	text := "a<|endoftext|><|endoftext|> b<|endoftext"
	if ids := encode(t, tok, text); slices.Contains(ids, 50256) {
		t.Errorf("Encode: %v", ids)
	}
	want := append(append(encode(t, tok, "a"), 50256, 50256), encode(t, tok, " b<|endoftext")...)
	if got := encode(t, tok.WithSpecial(), text); !equal(got, want) {
		t.Errorf("with special: %v, want %v", got, want)
	}
}

func TestUnknownIDs(t *testing.T) {
	tok := GPT2()
	for _, id := range []int{-1, 50257, 1 << 30} {
		want := fmt.Sprintf("token id %d is unknown: the vocabulary has 50257 ids", id)
		if text, err := tok.Decode([]int{15496, id}); err == nil || err.Error() != want ||
			text != "" {
			t.Errorf("Decode: %q, %v", text, err)
		}
		if b, err := tok.Text(id); err == nil || err.Error() != want || len(b) > 0 {
			t.Errorf("Text: %q, %v", b, err)
		}
	}
}

// TestLongPieces compares the array, the linked list and the encoding byte by byte with BPE on
// strings, around the border of the first two.
func TestLongPieces(t *testing.T) {
	cases.NotShort(t)
	tok := GPT2()
	vocab, merges := gpt2Files()
	ranks := map[[2]string]int{}
	for line := range strings.Lines(merges) {
		left, right, _ := strings.Cut(strings.TrimSpace(line), " ")
		ranks[[2]string{left, right}] = len(ranks)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for _, letters := range []string{"a", "ab", "etaoin", "=-", "0123456789", "\n",
		"\xff\xc3\xa9"} {
		for _, length := range []int{1, 2, 3, 5, 63, 64, 65, 66, 130, 400} {
			piece := make([]byte, length)
			for i := range piece {
				piece[i] = letters[random.IntN(len(letters))]
			}
			want := []int{}
			for _, part := range oracleBPE(strings.Split(spell(string(piece)), ""), ranks) {
				want = append(want, vocab[part])
			}
			if got := levelOf(tok).appendPiece(nil, string(piece)); !equal(got, want) {
				t.Errorf("%q: %v, want %v", piece, got, want)
			}
			if got := levelOf(tok).appendMerged(nil, string(piece)); !equal(got, want) {
				t.Errorf("%q merged: %v, want %v", piece, got, want)
			}
			if got := levelOf(tok).appendLongPiece(nil, string(piece)); !equal(got, want) {
				t.Errorf("%q byte by byte: %v, want %v", piece, got, want)
			}
		}
	}
}

// TestALotOfAnything is the guard against quadratic time, which would take many minutes: each
// takes 0.02 to 0.2 s.
func TestALotOfAnything(t *testing.T) {
	cases.NotShort(t)
	tok := GPT2()
	for _, unit := range []string{"a", " ", "7", "!", "\n", "é", "\xff", "ab", "aaaaaaaab", " \n",
		"a ", "\u3000", "'s", "= ", "日本語"} {
		text := strings.Repeat(unit, cases.Of(1<<18, 1<<20)/len(unit))
		stop := watchdog.Start(t, "%q repeated", unit)
		ids := encode(t, tok, text)
		stop()
		if got, err := tok.Decode(ids); got != text || err != nil {
			t.Errorf("%q repeated: does not decode to itself: %v", unit, err)
		}
	}
}

// TestReadyFast guards the start of a command, which takes about 2 ms: tables are allocated whole,
// and nothing for each token.
func TestReadyFast(t *testing.T) {
	n := testing.AllocsPerRun(3, func() { fromTable(r50k.Table()).Encode("Once upon a time") })
	if n > 200 {
		t.Errorf("%v allocations before the first text, want 200 at most", n)
	}
	t.Log(n)
}

func TestManyGoroutines(t *testing.T) {
	long := strings.Repeat("ha", 500)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			tok := GPT2()
			for _, text := range append(corpus, long) {
				if got, err := tok.Decode(encode(t, tok, text)); got != text || err != nil {
					t.Errorf("%q: %q, %v", text, got, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestTiktokenGo compares all of the corpus with tiktoken-go.
func TestTiktokenGo(t *testing.T) {
	for _, text := range corpus {
		if got, want := encode(t, GPT2(), text),
			tiktokenGo().EncodeOrdinary(text); !equal(got, want) {
			t.Errorf("%q: %v, tiktoken-go %v", text, got, want)
		}
	}
}

func BenchmarkReady(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		fromTable(r50k.Table())
	}
}

func BenchmarkEncode(b *testing.B) {
	for name, text := range map[string]string{
		"english": strings.Repeat("The quick brown fox, 42 years old, didn't jump over the lazy dog.\n", 1<<14),
		"a":       strings.Repeat("a", 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				encode(b, GPT2(), text)
			}
		})
	}
}

func BenchmarkDecoder(b *testing.B) {
	ids := encode(b, GPT2(), "The quick brown fox jumps over the lazy dog.")
	d := GPT2().NewDecoder(nil)
	b.ReportAllocs()
	for b.Loop() {
		for _, id := range ids {
			if _, err := d.Push(id); err != nil {
				b.Fatal(err)
			}
		}
	}
}
