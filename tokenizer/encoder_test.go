// Encoding in parts gives what encoding the whole gives.

package tokenizer

import (
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// randomMerges returns a vocabulary of the bytes a to d and of random merges of them, in any order,
// so that late merges make the parts of early ones, and several make the same token.
func randomMerges(t testing.TB, random *rand.Rand, letters, merges int) *Tokenizer {
	t.Helper()
	v := &vocabulary{name: "test", ids: map[string]uint32{}}
	add := func(token string) {
		if _, ok := v.ids[token]; !ok {
			v.ids[token] = uint32(len(v.tokens))
			v.tokens = append(v.tokens, token)
		}
	}
	for i := range letters {
		add(string(rune('a' + i)))
	}
	type pair struct{ left, right string }
	var pairs []pair
	longest := 2 + random.IntN(14)
	for range merges {
		left, right := v.tokens[random.IntN(len(v.tokens))], v.tokens[random.IntN(len(v.tokens))]
		if len(left+right) <= longest {
			add(left + right)
			pairs = append(pairs, pair{left, right})
		}
	}
	if random.IntN(3) > 0 {
		random.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	}
	for _, p := range pairs {
		if err := v.addMerge(p.left, p.right); err != nil {
			t.Fatal(err)
		}
	}
	tok := v.tokenizer(splitting{whole: true})
	return tok
}

// randomText returns a text of letters that repeats itself often.
func randomText(random *rand.Rand, letters, size int) string {
	var b strings.Builder
	for b.Len() < size {
		unit := make([]byte, 1+random.IntN(9))
		for i := range unit {
			unit[i] = byte('a' + random.IntN(letters))
		}
		b.WriteString(strings.Repeat(string(unit), 1+random.IntN(1+random.IntN(20))))
	}
	return b.String()[:size]
}

// TestLongPiecesInParts compares with the encoding of the whole, and checks the ids that are
// certain before the end.
func TestLongPiecesInParts(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	rounds := cases.Sized(150, 100_000)
	for round := range rounds {
		letters := 1 + random.IntN(4)
		tok := randomMerges(t, random, letters, 1+random.IntN(30))
		level := levelOf(tok)
		level.long.prepare(level.spellBytes)
		for range 20 {
			text := randomText(random, letters, 1+random.IntN(120))
			want := level.appendMerged(nil, text)
			keep := 1 + random.IntN(len(want)+3)
			p, to := newLongPiece(level.long.spelled, level.long.matcher, keep), &newest{keep: keep}
			p.begin()
			for rest := text; rest != ""; {
				n := 1 + random.IntN(len(rest))
				level.addTo(p, rest[:n], to)
				rest = rest[n:]
				if least := to.total + p.atLeast(); least > len(want) {
					t.Fatalf("round %d: %q: %d tokens at least before %q, but it has %d",
						round, text, least, rest, len(want))
				}
			}
			p.end(to)
			if got := to.all(); to.total != len(want) ||
				!equal(got, want[max(0, len(want)-keep):]) {
				t.Fatalf("round %d: %q: %d ids, newest %v; want %d, %v",
					round, text, to.total, got, len(want), want)
			}
		}
	}
}

// inParts encodes text in random parts and holds it to Encode, which may give an error too.
func inParts(t *testing.T, random *rand.Rand, tok *Tokenizer, text string, wait int) {
	t.Helper()
	want, wantErr := tok.Encode(text)
	keep := 1 + random.IntN(len(want)+3)
	e := tok.NewEncoder(keep)
	if e.chunk != nil {
		e.chunk.wait = wait
	}
	least := 0
	for rest := text; rest != ""; {
		n := min(len(rest), 1+random.IntN(1+random.IntN(40)))
		if _, err := e.Write([]byte(rest[:n])); err != nil {
			break
		}
		rest = rest[n:]
		if now := e.AtLeast(); now < least && wantErr == nil {
			t.Fatalf("%q: at least %d tokens before %q, %d a part earlier", text, now, rest, least)
		} else if least = now; least > len(want) && wantErr == nil {
			t.Fatalf("%q: at least %d tokens before %q, but it has %d", text, least, rest,
				len(want))
		}
	}
	got, total, err := e.End()
	if wantErr != nil {
		if err == nil || err.Error() != wantErr.Error() {
			t.Fatalf("%q: %v, want %v", text, err, wantErr)
		}
		return
	}
	if err != nil || total != len(want) || !equal(got, want[max(0, len(want)-keep):]) {
		t.Fatalf("%q: %d ids, newest %v, %v; want %d, %v", text, total, got, err, len(want), want)
	}
}

// jumble returns a text that is hard to split and to merge, often with long repetitions.
func jumble(random *rand.Rand, size int) string {
	units := []string{" ", " ", "\n", "\u3000", "\u00a0", "a", "Z", "e", "the", " the", "é", "日",
		"\U00013c06", "1", "٣", "'", "'s",
		"'re", "'l", "!", "=", "=-", "\xff", "\xe2\x82", "\xf0\x9f\x98", "€", "😀", "<|endoftext|>",
		"<|endof", "<x>", "<", "ab"}
	var b strings.Builder
	for b.Len() < size {
		unit := units[random.IntN(len(units))]
		n := 1
		if random.IntN(4) == 0 {
			n = 1 + random.IntN(60)
		}
		b.WriteString(strings.Repeat(unit, n))
	}
	return b.String()
}

func TestEncoderIsEncode(t *testing.T) {
	cases.NotShort(t)
	added := func(top, _ map[string]any) {
		top["added_tokens"] = []any{
			map[string]any{"id": 300, "content": "<x>", "special": false},
			map[string]any{"id": 301, "content": "<|endoftext|>", "special": true},
			map[string]any{"id": 302, "content": "<|endoftext|><x>", "special": true},
			map[string]any{"id": 303, "content": "  ", "special": false},
		}
	}
	prefix := func(top, model map[string]any) {
		added(top, model)
		top["pre_tokenizer"] = map[string]any{"type": "ByteLevel", "add_prefix_space": true}
	}
	whole := func(top, model map[string]any) {
		top["pre_tokenizer"] = map[string]any{"type": "ByteLevel", "use_regex": false}
	}
	poor := func(top, model map[string]any) {
		prefix(top, model)
		delete(model["vocab"].(map[string]int), spell("\xff"))
	}
	toks := map[string]*Tokenizer{"GPT-2": GPT2()}
	for name, change := range map[string]func(top, model map[string]any){
		"added tokens": added, "add_prefix_space": prefix, "one piece": whole,
		"a byte without a token": poor,
	} {
		tok, err := loadJSON(t, change)
		if err != nil {
			t.Fatal(err)
		}
		toks[name] = tok
	}
	random := rand.New(rand.NewPCG(9, 10))
	rounds := cases.Of(250, 100_000)
	for name, tok := range toks {
		t.Run(name, func(t *testing.T) {
			for i := range rounds {
				text := jumble(random, random.IntN(300))
				inParts(t, random, tok, text, 2*lookAhead+random.IntN(40))
				inParts(t, random, tok.WithSpecial(), text, 2*lookAhead+random.IntN(40))
				if i%100 == 0 {
					inParts(t, random, tok, jumble(random, 3*waitFor), waitFor)
				}
			}
			for _, text := range append(corpus, broken...) {
				inParts(t, random, tok, text, 2*lookAhead)
			}
		})
	}
}

func FuzzEncoder(f *testing.F) {
	for _, text := range append(corpus, broken...) {
		f.Add(text, uint64(1), uint8(0))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64, wait uint8) {
		random := rand.New(rand.NewPCG(seed, 1))
		inParts(t, random, GPT2(), text, 2*lookAhead+int(wait))
		inParts(t, random, GPT2().WithSpecial(), text, 2*lookAhead+int(wait))
	})
}

// TestEncoderMemory encodes texts of one piece, for which Encode takes 100 bytes for each of the
// text, and of many. What is certain on the way is nearly all.
func TestEncoderMemory(t *testing.T) {
	cases.NotShort(t)
	size := cases.Of(1<<20, 300<<20)
	encode(t, GPT2(), strings.Repeat("a", 2*waitFor)) // what is made once
	for _, unit := range []string{"a", " ", "abracadabra", "0123456789", "=-", "a b"} {
		e := GPT2().NewEncoder(1000)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		if _, err := io.Copy(e, io.LimitReader(&endless{unit: unit}, int64(size))); err != nil {
			t.Fatal(err)
		}
		least := e.AtLeast()
		runtime.GC()
		runtime.ReadMemStats(&after)
		ids, total, err := e.End()
		if err != nil || len(ids) != 1000 || total < size/200 || least < total-1000 {
			t.Errorf("%q: %d of %d ids, at least %d, %v", unit, len(ids), total, least, err)
		}
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 20<<20 {
			t.Errorf("%q: %d MB live after %d MB of text", unit, grown>>20, size>>20)
		}
	}
}

// endless is a unit again and again.
type endless struct {
	unit string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = e.unit[e.at]
		e.at = (e.at + 1) % len(e.unit)
	}
	return len(b), nil
}

func BenchmarkEncoder(b *testing.B) {
	for name, unit := range map[string]string{
		"english": "The quick brown fox, 42 years old, didn't jump over the lazy dog.\n", "a": "a",
		"spaces": " ", "abracadabra": "abracadabra",
	} {
		text := []byte(strings.Repeat(unit, 1+1<<20/len(unit)))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				e := GPT2().NewEncoder(1024)
				for i := 0; i < len(text); i += 1 << 16 {
					e.Write(text[i:min(len(text), i+1<<16)])
				}
				e.End()
			}
		})
	}
	b.Run("random letters", func(b *testing.B) {
		random := rand.New(rand.NewPCG(1, 2))
		text := make([]byte, 1<<20)
		for i := range text {
			text[i] = byte('a' + random.IntN(26))
		}
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			e := GPT2().NewEncoder(1024)
			e.Write(text)
			e.End()
		}
	})
}
