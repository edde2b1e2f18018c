package show

// What the weights of heads and neurons say.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picogpt/inside"
	"picogpt/internal/quote"
)

// Circuit is the text of a circuit; name is that of a token.
func Circuit(c *inside.Circuit, name func(id int) string) string {
	said := func(id int) string { return quote.Short(name(id), 24) }
	list := func(ids []int) string {
		var all []string
		for _, id := range ids {
			all = append(all, said(id))
		}
		return strings.Join(all, " ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "head %d.%d\ncopying  %+.3f of -1 to 1\n", c.Layer, c.Head, c.Copying)
	for _, of := range []struct {
		title, left, right string
		inside.CircuitMatrix
	}{{"OV: what it writes where a token is looked at", "reads", "writes", c.OV},
		{"QK: which tokens look at which", "of", "at", c.QK}} {
		fmt.Fprintf(&b, "\n%s\n", of.title)
		for _, p := range of.Pairs {
			fmt.Fprintf(&b, "%+10.3f  %s -> %s\n", p.Value, said(p.From), said(p.To))
		}
		for i, v := range of.Vectors {
			fmt.Fprintf(&b, "singular value %.3f\n  %-7s%s\n  %-7s%s\n", of.Singular[i], of.left,
				list(v.LeftTop), of.right, list(v.RightTop))
		}
	}
	for _, of := range []struct {
		title string
		all   []inside.Composition
	}{{"reads of earlier heads", c.Reads}, {"later heads read of it", c.Writes}} {
		if len(of.all) == 0 {
			continue
		}
		const most = 5
		all := slices.Clone(of.all)
		slices.SortStableFunc(all, func(x, y inside.Composition) int {
			return cmp.Compare(max(y.Q, y.K, y.V), max(x.Q, x.K, x.V))
		})
		fmt.Fprintf(&b, "\n%-22s      q      k      v\n", of.title)
		for _, x := range all[:min(most, len(all))] {
			fmt.Fprintf(&b, "%-22s  %.3f  %.3f  %.3f\n", fmt.Sprintf("%d.%d", x.Layer, x.Head), x.Q,
				x.K, x.V)
		}
	}
	return b.String()
}

// A Neuron is what gpt neuron shows.
type Neuron struct {
	*inside.Neuron
	Texts     int             `json:"texts"` // that were read
	Strongest []inside.Strong `json:"strongest"`
}

// Text is the text of a neuron; name is that of a token.
func (n *Neuron) Text(name func(id int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "neuron %d.%d\n", n.Layer, n.Neuron.Neuron)
	for _, of := range []struct {
		title string
		all   []inside.TokenValue
	}{{"reads", n.Reads}, {"raises", n.Raises}, {"lowers", n.Lowers}} {
		fmt.Fprintf(&b, "%-7s", of.title)
		for _, v := range of.all {
			fmt.Fprintf(&b, " %s %+.2f", quote.Short(name(v.ID), 24), v.Value)
		}
		b.WriteByte('\n')
	}
	if n.Texts > 0 {
		fmt.Fprintf(&b, "\nstrongest of %s, each at its token in brackets\n",
			quote.Count(n.Texts, "text"))
	}
	for _, s := range n.Strongest {
		const before, after = 10, 3
		text := func(ids []int) (all string) {
			for _, id := range ids {
				all += name(id)
			}
			return strings.Trim(quote.Short(all, 1000), `"`)
		}
		from, to := max(0, s.At-before), min(len(s.Tokens), s.At+1+after)
		fmt.Fprintf(&b, "%8.3f  %s[%s]%s\n", s.Value, text(s.Tokens[from:s.At]),
			text(s.Tokens[s.At:s.At+1]), text(s.Tokens[s.At+1:to]))
	}
	return b.String()
}
