package check

// The text that is compared: which it is, the vocabularies, and its ids.

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// text returns the ids that are compared, and compares the tokenizers.
func (c *comparison) text() ([]int, error) {
	n := c.N
	if n == 0 {
		n = Tokens(c.report.Weights, c.Model.Config().Positions)
	}
	c.report.Tokens, c.report.Greedy = n, min(n/4, 32)
	ids, err := c.ids()
	if err != nil {
		return nil, err
	}
	if most := n - c.report.Greedy; len(ids) > most {
		c.note("the first %s of the text's %d are compared, and %d that follow greedily",
			quote.Count(most, "token"), len(ids), c.report.Greedy)
		ids = ids[:most]
	}
	c.report.Tokens = len(ids) + c.report.Greedy
	return ids, nil
}

// ids are those of the text, those that were given, or random ones where there is no tokenizer.
func (c *comparison) ids() ([]int, error) {
	if c.IDs != nil {
		return c.IDs, nil
	}
	text := passage
	if c.Text != nil {
		text = *c.Text
	}
	// tiktoken-go's time is quadratic in a long word, and N tokens need no more of the text.
	if n := 1 << 16; len(text) > n {
		text = text[:tokenizer.WholeRunes(text[:n])]
		c.note("only the text's first %d bytes are tokenized", len(text))
	}
	if c.Tokenizer == nil {
		return c.random("the checkpoint has no tokenizer"), nil
	}
	ids, err := c.encode(text)
	if err != nil && c.Text == nil { // a vocabulary of a few characters
		return c.random(err.Error()), nil
	}
	return ids, err
}

// random returns ids of a fixed seed.
func (c *comparison) random(why string) []int {
	c.report.add(Row{What: "ids", Verdict: NotCompared, Where: why + ": ids of a fixed seed"})
	rng := rand.New(rand.NewPCG(1, 2))
	ids := make([]int, c.report.Tokens-c.report.Greedy)
	for i := range ids {
		ids[i] = rng.IntN(c.Model.Config().VocabSize)
	}
	return ids
}

// encode returns the engine's ids of a text, and compares them with the reference's.
func (c *comparison) encode(text string) ([]int, error) {
	why := c.Reference.NoEncoder
	if why == nil {
		c.vocabulary()
		why = c.Reference.Encoder.Exact()
	}
	ids, err := c.Tokenizer.Encode(text)
	if err != nil {
		return nil, err
	}
	if why != nil {
		row := Row{What: "ids", Verdict: NotCompared, Where: why.Error(), Count: len(ids),
			Compared: fmt.Sprintf("%d", len(ids))}
		if back, err := c.Tokenizer.Decode(ids); err == nil && back == text {
			row.Where += "; decoding gives the text back"
		}
		c.report.add(row)
		return ids, nil
	}
	row := Row{What: "ids", Verdict: Same}
	c.compareIDs(text, &row)
	if text != passage && row.Verdict != Fault {
		c.compareIDs(passage, &row)
	}
	if row.Count == 0 && row.Verdict == Same && row.Where != "" {
		row.Verdict = NotCompared
	}
	row.Compared = fmt.Sprintf("%d", row.Count)
	c.report.add(row)
	return ids, nil
}

// compareIDs compares the ids of a text, and the text of the ids.
func (c *comparison) compareIDs(text string, row *Row) {
	ids, spans, err := c.Tokenizer.EncodeSpans(text)
	want, second := c.Reference.Encoder.Encode(text)
	switch {
	case second != nil: // bytes that are not UTF-8, or that have no token: tiktoken takes neither
		row.Where = second.Error()
		return
	case err != nil:
		row.Verdict, row.Where = Fault, err.Error()
		return
	}
	row.Count += len(ids)
	for i := range max(len(ids), len(want)) {
		got, wanted, at := "none", "none", len(text)
		if i < len(ids) {
			got, at = c.token(ids[i]), spans[i].Start
		}
		if i < len(want) {
			wanted = c.token(want[i])
		}
		if got != wanted {
			row.Verdict = Fault
			row.Where = fmt.Sprintf("token %d, byte %d: %s, reference %s", i, at, got, wanted)
			return
		}
	}
	back, err := c.Tokenizer.Decode(ids)
	if other, second := c.Reference.Encoder.Decode(want); err != nil || second != nil || back != other {
		row.Verdict = Fault
		row.Where = fmt.Sprintf("the text of the ids is %s, reference %s", quote.Short(back, 40),
			quote.Short(other, 40))
	}
}

// vocabulary compares the text of each id, and the merges in their order.
func (c *comparison) vocabulary() {
	row := Row{What: "vocabulary", Verdict: Same}
	parts, ok := c.Tokenizer.Parts()
	if !ok { // another way to cut texts: only ids tell
		return
	}
	spelled := map[string]string{} // in GPT-2's alphabet of bytes, and the bytes
	for id, spelling := range parts.Tokens {
		got, lost := c.Tokenizer.Text(id)
		want, missing := c.Reference.Encoder.Decode([]int{id})
		if missing != nil && lost != nil {
			continue // an id that no token has
		}
		spelled[spelling] = got
		if row.Count++; row.Where == "" && (missing != nil || lost != nil || want != got) {
			row.Where = fmt.Sprintf("id %d: %s, reference %s", id, quote.Short(got, 20),
				quote.Short(want, 20))
		}
	}
	merges := c.Reference.Encoder.Merges()
	for i := range max(len(merges), len(parts.Merges)) {
		got, want := "none", "none"
		if i < len(parts.Merges) {
			got = fmt.Sprintf("%q", splitMerge(parts.Merges[i], spelled))
		}
		if i < len(merges) {
			want = fmt.Sprintf("%q", merges[i])
		}
		if row.Count++; got != want && row.Where == "" {
			row.Where = fmt.Sprintf("merge %d: %s, reference %s", i, got, want)
		}
	}
	if row.Where != "" {
		row.Verdict = Fault
	}
	row.Compared = fmt.Sprintf("%d ids, %d merges", len(parts.Tokens), len(parts.Merges))
	c.report.add(row)
}

// splitMerge returns the bytes of the two parts of a merge that is spelled "left right".
func splitMerge(merge string, spelled map[string]string) [2]string {
	left, right, _ := strings.Cut(merge, " ")
	return [2]string{spelled[left], spelled[right]}
}

// passage is the text that is compared if no other is given: contractions, numbers, white space,
// symbols and several scripts, so that tokenizers have something to disagree about.
const passage = `In 1843, Ada Lovelace wrote down how an engine that was never built could compute
the numbers of Bernoulli. She didn't have one to try it on; it's said that she'd have liked to.
"We may say most aptly," she noted, "that the Analytical Engine weaves algebraical patterns just
as the Jacquard loom weaves flowers and leaves."   A hundred years later there were 3 of them, then
10, and today 1,000,000,000: every telephone is one.

	for i := 0; i < 64; i++ { sum += weights[i] * x[i] } // 2.5e-7 off, so what?

Ein Maßstab für Größe: naïve café, Ørsted, Łódź. Привет, мир! 你好,世界。こんにちは。 안녕하세요. שלום, مرحبا.
Prices rose 12½ % to €99.99 (≈ $108), they've said; I'll wait, you're right, we'd better not. 👩‍🔬🚀 END
`
