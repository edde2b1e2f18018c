package decode

import (
	"slices"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/toys"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

type (
	letters = toys.Letters
	words   = toys.Words
)

var sized = cases.Sized

// spelled is letters with the text of each token by itself.
type spelled struct{ letters }

func (s spelled) Text(id int) (string, error) { return s.Push(id) }

// pieces is a vocabulary of any bytes.
type pieces []string

func (p pieces) Size() int { return len(p) }

func (p pieces) NewDecoder([]int) tokenizer.Decoder { return p }

func (p pieces) Push(id int) (string, error) { return p[id], nil }

func (pieces) Flush() string { return "" }

func (p pieces) Fork() tokenizer.Decoder { return p }

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
	ck, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
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
