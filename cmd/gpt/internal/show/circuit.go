package show

// What the weights of heads say, and where neurons are strong.

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
		is    func(layer int) bool
	}{{"reads of earlier heads", func(l int) bool { return l < c.Layer }},
		{"later heads read of it", func(l int) bool { return l > c.Layer }}} {
		const most = 5
		all := slices.DeleteFunc(slices.Clone(c.Composition), func(x inside.Composition) bool {
			return !of.is(x.Layer)
		})
		slices.SortStableFunc(all, func(x, y inside.Composition) int {
			return cmp.Compare(max(y.Q, y.K, y.V), max(x.Q, x.K, x.V))
		})
		for i, x := range all[:min(most, len(all))] {
			if i == 0 {
				fmt.Fprintf(&b, "\n%-22s      q      k      v\n", of.title)
			}
			fmt.Fprintf(&b, "%-22s  %.3f  %.3f  %.3f\n", fmt.Sprintf("%d.%d", x.Layer, x.Head), x.Q,
				x.K, x.V)
		}
	}
	return b.String()
}

// Strongest is a line for each text, some tokens around its strongest one, in brackets.
func Strongest(texts int, all []inside.Strong, name func(id int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "strongest of %s, each at its token in brackets\n", quote.Count(texts, "text"))
	for _, s := range all {
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
