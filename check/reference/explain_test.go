// A lesson says what GPT2 computes.
package reference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/dev/cases"
)

var anyHead = ExplainOptions{Block: -1, Head: -1}

// The lesson's own loop ends with GPT2's logits to the last bit, and its weights with mha's result.
func TestALessonIsTheForwardPass(t *testing.T) {
	for _, g := range goldens(t) {
		p, hp := load(t, g.Config, g.File)
		ids := g.Sequences[1].Tokens
		l := &lesson{Model: &Model{HParams: hp, Params: p}, ids: ids, x: embed(ids, p)}
		if err := l.compute(context.Background()); err != nil {
			t.Fatal(err)
		}
		want, err := GPT2(ids, p, hp)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(l.logits.Data, want.Data) {
			t.Errorf("%s: other logits than GPT2's", g.Name)
		}
		for i, b := range l.blocks {
			v := split(split(linear(b.normed, p.Blocks[i].Attn.CAttn), 3)[2], hp.Head)
			heads := make([]*Matrix, hp.Head)
			for h := range heads {
				heads[h] = matmul(b.weights[h], v[h])
			}
			got := linear(hstack(heads), p.Blocks[i].Attn.CProj)
			if diff, size := apart(got.Data, b.attended.Data); diff > 1e-12*size {
				t.Errorf("%s: block %d: the weights give other results than mha", g.Name, i)
			}
		}
	}
}

// Screens fit a terminal, quote whole functions, and show the numbers.
func TestALessonCanBeRead(t *testing.T) {
	cases.NotShort(t)
	m := openDemo(t)
	ids, err := m.Encoder.Encode("Lily and Tom went to the park. Lily")
	if err != nil {
		t.Fatal(err)
	}
	steps, err := m.Explain(context.Background(), ids, anyHead)
	if err != nil || len(steps) != 9 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	all := ""
	for _, s := range steps {
		for line := range strings.Lines(s.Text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 79 {
				t.Errorf("%s: %d columns: %s", s.Title, n, line)
			}
		}
		if s.Title != "Text becomes ids" && !strings.HasSuffix(s.Source, "}") ||
			strings.Count(s.Source, "{") != strings.Count(s.Source, "}") {
			t.Errorf("%s: quotes\n%s", s.Title, s.Source)
		}
		if lines := strings.Count(s.Text+s.Source, "\n"); lines > 45 {
			t.Errorf("%s: %d lines", s.Title, lines)
		}
		all += s.Text
	}
	for _, want := range []string{
		`       9   20037  " Lily"`, `how " went" is made: " " "w" "e" "n" "t"`, "wte [n_vocab, n_embd] = [50257, 128]",
		"[10, 128] -> [10, 384] -> [3, 10, 128] -> [3, 4, 10, 32]", "4 blocks",
		`   2497  " saw"          12.455       81.16 %  ##############################`,
		`  "Lily and Tom went to the park. Lily saw"`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the lesson", want)
		}
	}
	step, err := m.Explain(context.Background(), ids, ExplainOptions{Block: 1, Head: 2})
	if err != nil || !strings.Contains(step[4].Text, "head 2 of block 1") {
		t.Errorf("%v, want head 2 of block 1:\n%s", err, step[4].Text)
	}
}

func TestOneFunctionIsQuoted(t *testing.T) {
	for _, name := range []string{"gelu", "softmax", "layerNorm", "linear", "ffn", "attention", "mha",
		"transformerBlock", "GPT2", "embed", "Generate"} {
		code := "\n" + quoted(name)
		if strings.Count(code, "\nfunc ") != 1 || !strings.Contains(code, "\nfunc "+name+"(") {
			t.Errorf("%s:%s", name, code)
		}
	}
}

func TestALessonOfIDsAlone(t *testing.T) {
	for _, g := range goldens(t) {
		p, hp := load(t, g.Config, g.File)
		m := &Model{HParams: hp, Params: p}
		steps, err := m.Explain(context.Background(), g.Sequences[0].Tokens[:1], anyHead)
		if err != nil || len(steps) != 9 {
			t.Errorf("%s: %d steps, %v", g.Name, len(steps), err)
		}
	}
}

func TestALessonThatCannotBeGivenIsRefused(t *testing.T) {
	g := goldens(t)[0]
	p, hp := load(t, g.Config, g.File)
	m := &Model{HParams: hp, Params: p}
	for want, c := range map[string]struct {
		ids []int
		o   ExplainOptions
	}{
		"0 tokens":                        {nil, anyHead},
		"text of 24 tokens: want at most": {make([]int, 24), anyHead},
		fmt.Sprintf("block %d: want 0 to %d", hp.Layer, hp.Layer-1): {[]int{1},
			ExplainOptions{Block: hp.Layer}},
		fmt.Sprintf("head %d: want 0 to %d", hp.Head, hp.Head-1): {[]int{1},
			ExplainOptions{Head: hp.Head}},
		"token 29 at position 0": {[]int{29}, anyHead},
	} {
		if _, err := m.Explain(context.Background(), c.ids, c.o); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Explain(ctx, []int{1}, anyHead); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
