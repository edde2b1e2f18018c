package show

// What the parts of a model add to a logit, as bars.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"picogpt/inside"
	"picogpt/internal/quote"
	"picogpt/internal/webparts"
)

// An Attribution is what gpt attribute shows.
type Attribution struct {
	Tokens []int `json:"tokens"`
	*inside.Attribution
	Name func(id int) string `json:"-"` // the text of a token
}

// title says what the parts add up to.
func (a *Attribution) title() string {
	against := "the mean of all logits"
	if a.Against != nil {
		against = "that of " + webparts.Quoted(a.Name(*a.Against))
	}
	last := a.Tokens[len(a.Tokens)-1]
	return fmt.Sprintf("after %s, the logit of %s less %s", webparts.Quoted(a.Name(last)),
		webparts.Quoted(a.Name(a.Target)), against)
}

// Bars is a table of the parts, the largest first, whatever their sign: of at most so many (0 is all),
// and the rest as one number. Lines have at most so many columns, if columns is not 0 and there is
// room for the numbers.
func (a *Attribution) Bars(top, columns int) string {
	parts := slices.Clone(a.Parts)
	slices.SortStableFunc(parts, func(p, q inside.Part) int {
		return cmp.Compare(math.Abs(q.Value), math.Abs(p.Value))
	})
	if top == 0 {
		top = len(parts)
	}
	const numbers = "%-15s  %+8.3f" // in 25 columns
	half := 24                      // of the columns for bars: one side
	if columns > 0 {
		half = max(0, min(half, (columns-28)/2))
	}
	largest := math.Max(math.Abs(parts[0].Value), 1e-30)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", Wrapped(a.title()+":", columns))
	rest := 0.0
	for i, part := range parts {
		if i >= top {
			rest += part.Value
			continue
		}
		bar := strings.Repeat("█", int(math.Abs(part.Value)/largest*float64(half)+0.5))
		switch {
		case half < 2: // no room for bars
			bar = ""
		case part.Value < 0:
			bar = fmt.Sprintf("  %*s│", half, bar)
		default:
			bar = fmt.Sprintf("  %*s│%s", half, "", bar)
		}
		fmt.Fprintf(&b, numbers+"%s\n", part.Name, part.Value, bar)
	}
	if more := len(parts) - top; more > 0 {
		fmt.Fprintf(&b, numbers+"\n", quote.Count(more, "other part"), rest)
	}
	fmt.Fprintf(&b, numbers+"\n"+numbers+"\n", "sum", a.Sum, "difference", a.Difference)
	return b.String()
}
