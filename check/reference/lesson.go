// The screens of a lesson, in the order of the forward pass.
package reference

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// shown are the positions that there is room for, the newest.
func (l *lesson) shown(most int) (from int) { return max(0, len(l.ids)-most) }

func (l *lesson) tokens() Step {
	var b strings.Builder
	fmt.Fprintf(&b, `A model reads numbers, not letters. The text is cut into pieces by the pattern
below, and each piece into tokens, of which there are %d. A token comes from
merges: of single bytes, the two that stand first in a list of merges are
joined, again and again, until no two are in the list (byte pair encoding).

position      id  token
`, l.HParams.Vocab)
	for i := l.shown(12); i < len(l.ids); i++ {
		fmt.Fprintf(&b, "%8d  %6d  %s\n", i, l.ids[i], l.text(l.ids[i]))
	}
	l.merges(&b)
	fmt.Fprintf(&b, "\n[n_seq] = [%d]\n", len(l.ids))
	return Step{"Text becomes ids", b.String(), quoted("pattern")}
}

// merges shows how the longest token is made.
func (l *lesson) merges(b *strings.Builder) {
	if l.Encoder == nil {
		return
	}
	longest := ""
	for _, id := range l.ids {
		text, _ := l.Encoder.Decode([]int{id})
		if len(text) > len(longest) && len(text) <= 10 {
			longest = text
		}
	}
	ranks := map[[2]string]int{}
	for rank, m := range l.Encoder.Merges() {
		ranks[m] = rank
	}
	if len(bpe(longest, ranks, nil)) > 1 { // a special token
		return
	}
	before := fmt.Sprintf("how %q is made:", longest)
	bpe(longest, ranks, func(parts []string) {
		fmt.Fprintf(b, "\n%s", before)
		for _, part := range parts {
			fmt.Fprintf(b, " %q", part)
		}
		before = strings.Repeat(" ", len(before))
	})
	b.WriteString("\n")
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (l *lesson) embedding() Step {
	hp, last := l.HParams, len(l.ids)-1
	var b strings.Builder
	fmt.Fprintf(&b, `Each id takes its row of wte, a vector of n_embd = %d numbers that training
has found, and each position its row of wpe, so that the order of the tokens
counts. Their sum x begins the residual stream: the blocks only add to it.

wte [n_vocab, n_embd] = [%d, %d]     wpe [n_positions, n_embd] = [%d, %d]

`, hp.Embd, hp.Vocab, hp.Embd, hp.Positions, hp.Embd)
	for i := l.shown(4); i <= last; i++ {
		token := l.text(l.ids[i])
		row := func(token, name string, i int, values []float64) {
			fmt.Fprintf(&b, "%-14s %-10s%s\n", token, fmt.Sprintf("%s[%d]", name, i), few(values))
		}
		row(token, "wte", l.ids[i], l.Params.WTE.Row(l.ids[i]))
		row("", "wpe", i, l.Params.WPE.Row(i))
		row("", "x", i, l.x.Row(i))
	}
	fmt.Fprintf(&b, "\n[n_seq] = [%d]  ->  x [n_seq, n_embd] = [%d, %d]\n", last+1, last+1, hp.Embd)
	return Step{"Ids become vectors", b.String(), quoted("embed")}
}

func (l *lesson) norm() Step {
	last := len(l.ids) - 1
	e, ln := l.blocks[0], l.Params.Blocks[0].LN1
	in, out := e.in.Row(last), e.normed.Row(last)
	mean, variance := meanVariance(in)
	var b strings.Builder
	fmt.Fprintf(&b, `Before each part of a block, every vector is brought to mean 0 and variance 1,
then scaled by g and shifted by b, which are learned. So each part is given
numbers of a known size, however large the stream has grown. The last token in
block 0, before with mean %.4f and variance %.4f:

x       %s
g       %s
b       %s
ln_1(x) %s

[%d, %d] -> [%d, %d]
`, mean, variance, few(in), few(ln.G), few(ln.B), few(out), last+1,
		l.HParams.Embd, last+1, l.HParams.Embd)
	return Step{"Layer norm", b.String(), quoted("layerNorm")}
}

func (l *lesson) heads() Step {
	hp, n := l.HParams, len(l.ids)
	d := hp.Embd / hp.Head
	a := l.Params.Blocks[l.block].Attn
	qkv := split(linear(l.blocks[l.block].normed, a.CAttn), 3)
	q, k := split(qkv[0], hp.Head)[l.at], split(qkv[1], hp.Head)[l.at]
	var b strings.Builder
	fmt.Fprintf(&b, `One multiplication gives each token a query (what it looks for), a key (what it
is found by) and a value (what it then gives). They are cut into n_head = %d
heads of %d numbers, each of which may look for something else. Below, the
query of the last token and all keys in head %d of block %d, and what they give
together: q · k %s.

q of %-10s%s

`, hp.Head, d, l.at, l.block, l.scale(d), l.text(l.ids[n-1]), few(q.Row(n-1)))
	for i := l.shown(8); i < n; i++ {
		score := floats.Dot(q.Row(n-1), k.Row(i)) * attnScale(hp, l.block)
		fmt.Fprintf(&b, "k of %-10s%s   score %7.3f\n", l.text(l.ids[i]), few(k.Row(i)), score)
	}
	fmt.Fprintf(&b, "\n[%d, %d] -> [%d, %d] -> [3, %d, %d] -> [3, %d, %d, %d]\n", n, hp.Embd, n,
		3*hp.Embd, n, hp.Embd, hp.Head, n, d)
	return Step{"Queries, keys, values", b.String(), quoted("mha")}
}

// scale says what q · k is multiplied by.
func (l *lesson) scale(d int) string {
	if hp := l.HParams; !hp.ScaleAttn || hp.InverseLayer {
		return fmt.Sprintf("· %.4g", attnScale(hp, l.block))
	}
	return fmt.Sprintf("/ √%d", d)
}

func (l *lesson) attention() Step {
	n, from := len(l.ids), l.shown(8)
	w := l.blocks[l.block].weights[l.at]
	var b strings.Builder
	fmt.Fprintf(&b, `Softmax makes of each row of scores weights that sum to 1, and a token's result
is the mean of the values with these weights. The mask adds -1e10 to scores of
later tokens, so that their weight is 0: no token sees what follows it. The
weights of head %d of block %d (a row looks at the columns):

%12s`, l.at, l.block, "")
	label := func(i int) string {
		if r := []rune(l.text(l.ids[i])); len(r) > 7 {
			return string(r[:6]) + "…"
		}
		return l.text(l.ids[i])
	}
	for j := from; j < n; j++ {
		fmt.Fprintf(&b, " %7s", label(j))
	}
	b.WriteString("\n")
	for i := from; i < n; i++ {
		fmt.Fprintf(&b, "%12s", l.text(l.ids[i]))
		for j := from; j <= i; j++ {
			fmt.Fprintf(&b, " %7.3f", w.Row(i)[j])
		}
		b.WriteString("\n")
	}
	if from > 0 {
		fmt.Fprintf(&b, "%12s (the %d tokens before have the rest of each row)\n", "", from)
	}
	fmt.Fprintf(&b, "\n[%d, %d] @ [%d, %d] -> weights [%d, %d] @ values [%d, %d]\n", n, l.width(),
		l.width(), n, n, n, n, l.width())
	return Step{"Attention", b.String(), quoted("attention") + "\n\n" + quoted("softmax")}
}

// width is that of a head.
func (l *lesson) width() int { return l.HParams.Embd / l.HParams.Head }

func (l *lesson) mlp() Step {
	hp, n := l.HParams, len(l.ids)
	e := l.blocks[l.block]
	row := e.hidden.Row(n - 1)
	active := 0
	for _, v := range row {
		if v > 0.1 {
			active++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `Attention moves information between tokens; the MLP works on each token by
itself. It widens the vector to n_inner = %d numbers, passes each through the
activation (%s), which keeps large numbers and stops most
negative ones, and goes back to %d. Of the last token in block %d, %d of the
%d numbers are more than 0.1:

activation%s

[%d, %d] -> [%d, %d] -> [%d, %d]
`, hp.Inner, hp.Activation, hp.Embd, l.block, active, hp.Inner, few(row), n, hp.Embd, n, hp.Inner,
		n, hp.Embd)
	source := quoted("linear") + "\n\n" + quoted("ffn")
	if hp.Activation == "gelu_new" || hp.Activation == "gelu_pytorch_tanh" {
		source += "\n\n" + quoted("gelu")
	}
	return Step{"The MLP", b.String(), source}
}

func (l *lesson) residual() Step {
	n := len(l.ids)
	var b strings.Builder
	fmt.Fprintf(&b, `A block adds to the stream what attention and then the MLP have found. Length
is √(x · x), of the last token's vectors. The last column reads the stream with
the head already after this block (a "logit lens"): the place of %s,
which the whole model takes, among all %d tokens.

block  length of x  attention adds  MLP adds   place
%5s  %11.2f  %14s  %8s   %5d
`, l.text(l.best), l.HParams.Vocab, "-", length(l.x.Row(n-1)), "", "",
		l.lens(l.x.Row(n-1)))
	for i, e := range l.blocks {
		if len(l.blocks) > 16 && i >= 6 && i < len(l.blocks)-8 {
			if i == 6 {
				b.WriteString("    …\n")
			}
			continue
		}
		fmt.Fprintf(&b, "%5d  %11.2f  %14.2f  %8.2f   %5d\n", i, length(e.out.Row(n-1)),
			length(e.attended.Row(n-1)), length(e.added.Row(n-1)),
			l.lens(e.out.Row(n-1)))
	}
	fmt.Fprintf(&b, "\n[%d, %d] -> [%d, %d], %s\n", n, l.HParams.Embd, n, l.HParams.Embd,
		plural(len(l.blocks), "block"))
	return Step{"The residual stream", b.String(), quoted("transformerBlock")}
}

func length(row []float64) float64 { return math.Sqrt(floats.Dot(row, row)) }

// lens is the place of the token that is picked, from 1, by a stream's last vector.
func (l *lesson) lens(row []float64) int {
	logits := l.read(NewMatrix(1, len(row), row)).Row(0)
	place := 1
	for _, v := range logits {
		if v > logits[l.best] {
			place++
		}
	}
	return place
}

func (l *lesson) head() Step {
	hp, n := l.HParams, len(l.ids)
	logits := l.logits.Row(n - 1)
	ids, probs := likeliest(logits, 8)
	var b strings.Builder
	tied := "the embedding again: a token is likely if the\nstream points where its own vector does"
	if l.Params.Head != l.Params.WTE {
		tied = "a matrix of its own"
	}
	fmt.Fprintf(&b, `After a last layer norm, the head gives each token of the vocabulary a number,
its logit. The head is %s.
Softmax makes probabilities of the logits. What may follow the last token:

     id  token            logit  probability
`, tied)
	rest := 1.0
	for _, id := range ids {
		rest -= probs[id]
		bar := strings.Repeat("#", int(30*probs[id]/probs[ids[0]]+0.5))
		line := fmt.Sprintf("%7d  %-14s %7.3f  %10.2f %%  %s", id, l.text(id), logits[id],
			100*probs[id], bar)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	fmt.Fprintf(&b, "%7s  %d others %27.2f %%\n\n[%d, %d] @ [%d, %d] -> [%d, %d]\n", "",
		hp.Vocab-len(ids), 100*max(rest, 0), n, hp.Embd, hp.Embd, hp.Vocab, n, hp.Vocab)
	return Step{"Logits", b.String(), quoted("GPT2")}
}

func (l *lesson) pick() Step {
	n := len(l.ids)
	whole := append(append([]int(nil), l.ids...), l.best)
	text := fmt.Sprint(whole)
	if l.Encoder != nil {
		if t, err := l.Encoder.Decode(whole); err == nil {
			text = fmt.Sprintf("%q", t)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `Greedy generation takes the token with the largest logit, %s (id %d),
appends it, and begins again with %d tokens:

  %s

Sampling draws one by the probabilities instead (gpt next shows what each
filter leaves). picoGPT computes every token again each time; gpt keeps the
keys and values of the tokens before, which do not change, and computes only
the new one.
`, l.text(l.best), l.best, n+1, text)
	return Step{"The next token", b.String(), quoted("Generate")}
}
