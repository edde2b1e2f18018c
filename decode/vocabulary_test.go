package decode

import (
	"fmt"
	"slices"
	"testing"

	"picogpt/checkpoint"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// letters is a vocabulary of so many ids: 0 is "a", 1 is "b" and so on.
type letters int

func (l letters) Size() int { return int(l) }

func (l letters) NewDecoder([]int) tokenizer.Decoder { return l }

func (l letters) Push(id int) (string, error) {
	if id < 0 || id >= int(l) {
		return "", fmt.Errorf("id %d: want 0 to %d", id, int(l)-1)
	}
	return string(rune('a' + id)), nil
}

func (letters) Flush() string { return "" }

func (l letters) Fork() tokenizer.Decoder { return l }

// spelled is letters that tell the text of a token by itself.
type spelled struct{ letters }

func (s spelled) Text(id int) (string, error) { return s.Push(id) }

// pieces is a vocabulary of any bytes.
type pieces []string

func (p pieces) Size() int { return len(p) }

func (p pieces) NewDecoder([]int) tokenizer.Decoder { return p }

func (p pieces) Push(id int) (string, error) { return p[id], nil }

func (pieces) Flush() string { return "" }

func (p pieces) Fork() tokenizer.Decoder { return p }

// words is a vocabulary whose text is not the sum of its tokens: a space stands before each word
// but the text's first, and a word is certain only when the next one has come.
type words []string

func (w words) Size() int { return len(w) }

func (w words) NewDecoder(before []int) tokenizer.Decoder {
	return &wordDecoder{words: w, begun: len(before) > 0}
}

type wordDecoder struct {
	words
	begun bool
	held  string
}

func (d *wordDecoder) Push(id int) (string, error) {
	certain := d.Flush()
	if d.held = d.words[id]; d.begun {
		d.held = " " + d.held
	}
	d.begun = true
	return certain, nil
}

func (d *wordDecoder) Fork() tokenizer.Decoder {
	f := *d
	return &f
}

func (d *wordDecoder) Flush() string {
	held := d.held
	d.held = ""
	return held
}

func TestTheTextOfAVocabularyWithState(t *testing.T) {
	vocabulary := words{"one", "two", "three", "four", "five"}
	for _, c := range []struct {
		about  string
		stop   []string
		max    int
		end    []int    // ids
		want   []string // the tokens' texts
		finish string
	}{
		{"to its end", nil, 4, nil, []string{"", " two", " three", " four five"}, FinishLength},
		{"a stop string across words", []string{"o th"}, 4, nil,
			[]string{"", " tw", ""}, FinishStop},
		{"a stop string in what is certain at the end", []string{"ve"}, 4, nil,
			[]string{"", " two", " three", " four fi"}, FinishStop},
		{"a stop string in what the end of text makes certain", []string{"ur"}, 4, []int{4},
			[]string{"", " two", " three", " fo"}, FinishEndOfText},
	} {
		s := &script{rule: counting(len(vocabulary))}
		l := small
		l.endOfText = c.end
		tokens, err := play(s, l, []int{0},
			Options{MaxTokens: c.max, Vocabulary: vocabulary, Stop: c.stop})
		var texts []string
		for _, token := range tokens {
			texts = append(texts, token.Text)
		}
		if err != nil || !slices.Equal(texts, c.want) || tokens[len(tokens)-1].Finish != c.finish {
			t.Errorf("%s: %q, %v; want %q, %s", c.about, texts, tokens[len(tokens)-1], c.want,
				c.finish)
		}
	}
}

// gapped is letters without some of them.
type gapped struct {
	letters
	gaps []int
}

func (g gapped) Gaps() []int { return g.gaps }

func demoTokenizer(t *testing.T) *tokenizer.Tokenizer {
	t.Helper()
	ck, err := checkpoint.OpenFS(demo.FS())
	if err != nil {
		t.Fatal(err)
	}
	defer ck.Close()
	tok, err := ck.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	return tok
}
