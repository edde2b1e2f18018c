// What is known to be right: tiktoken's ids, OpenAI's published hashes, and the classes of all code points.

package tokenizer

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func equal(a, b []int) bool { return slices.Equal(a, b) }

// values yields ids without errors.
func values(ids []int) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for _, id := range ids {
			if !yield(id, nil) {
				return
			}
		}
	}
}

// TestGoldens compares with what OpenAI's tiktoken (npm package 1.0.22) gave for 1,510 texts.
func TestGoldens(t *testing.T) {
	f, err := os.Open("testdata/tokenizer.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzip)
	lines.Buffer(nil, 1<<24)
	tok, n := GPT2(), 0
	for ; lines.Scan(); n++ {
		var want struct {
			Text       string
			IDs        []int
			IDsSpecial []int `json:"ids_special"`
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if got := tok.Encode(want.Text); !equal(got, want.IDs) {
			t.Errorf("%.80q: %v, want %v", want.Text, got, want.IDs)
		}
		if got := tok.EncodeSpecial(want.Text); !equal(got, want.IDsSpecial) {
			t.Errorf("%.80q: special %v, want %v", want.Text, got, want.IDsSpecial)
		}
		roundTrip(t, tok, want.Text, want.IDs)
	}
	if lines.Err() != nil || n != 1510 {
		t.Errorf("%d lines, %v", n, lines.Err())
	}
}

// TestEmbeddedTable writes OpenAI's own files from the embedded table and compares their SHA-256 with those that OpenAI
// publishes in tiktoken (tiktoken_ext/openai_public.py): so all tokens, their ids, and all merges are GPT-2's.
func TestEmbeddedTable(t *testing.T) {
	hash := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	if got, want := hash(r50k), "b3515ab51c5bf27366b31118aa4b453a3add43cfbb5d25e6dc49a6c75f1ea023"; got != want {
		t.Errorf("r50k.bin: %s, want %s", got, want)
	}
	var ranks strings.Builder
	for id := range 50256 {
		token, err := GPT2().Bytes(id)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&ranks, "%s %d\n", base64.StdEncoding.EncodeToString(token), id)
	}
	if got, want := hash(ranks.String()), "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"; got != want {
		t.Errorf("as r50k_base.tiktoken: %s, want %s", got, want)
	}
	_, merges := gpt2Files()
	if got, want := hash("#version: 0.2\n"+merges), "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5"; got != want {
		t.Errorf("as vocab.bpe: %s, want %s", got, want)
	}
	if id, ok := GPT2().EndOfText(); id != 50256 || !ok || GPT2().Size() != 50257 {
		t.Errorf("end of text %d, %t; size %d", id, ok, GPT2().Size())
	}
}

// TestEveryTokenIsItsOwnEncoding is why merging pairs of ids, as GPT-2 did, gives the same as merging any neighbours whose
// bytes together are a token, as tiktoken does. Suppose neighbours a, b are a token t but not the pair that makes it,
// and no merge of a lower rank is left. All merges so far within their bytes are those that encoding t alone begins
// with, so that encoding would get stuck at a, b, too, and not end as t.
func TestEveryTokenIsItsOwnEncoding(t *testing.T) {
	tok := GPT2()
	for id := range 50256 {
		token, _ := tok.token(id)
		if got := tok.appendPiece(nil, token); !equal(got, []int{id}) {
			t.Errorf("%q: %v, want %d", token, got, id)
		}
	}
}

// TestClasses holds the classes of all code points to those that were compared with OpenAI's tiktoken, in texts that
// tell each class by its ids: no difference.
func TestClasses(t *testing.T) {
	if unicode.Version != "15.0.0" {
		t.Skipf("Unicode %s: classes were compared with tiktoken's for 15.0.0", unicode.Version)
	}
	classes := make([]byte, 0, unicode.MaxRune+1)
	var count [4]int
	for r := rune(0); r <= unicode.MaxRune; r++ {
		kind, size := classify(string(r))
		if size != len(string(r)) {
			t.Fatalf("%U: %d bytes", r, size)
		}
		classes = append(classes, byte(kind))
		count[kind]++
	}
	const want = "e4cd6671ceba047f4d99fd3acc6a7c9d4395ffd373f11295628c80d136a38d16"
	if got := fmt.Sprintf("%x", sha256.Sum256(classes)); got != want {
		t.Errorf("classes: %s, want %s; %d symbols, %d letters, %d numbers, %d spaces", got, want, count[0], count[1], count[2], count[3])
	}
}
