package show

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/inside"
)

// testLens is a table of n tokens and 2 layers, whose names have so many characters as their ids
// say.
func testLens(n int) *Lens {
	l := &Lens{&inside.LensTable{Layers: make([][]inside.Prediction, 3)}, func(id int) string {
		return strings.Repeat("x", id)
	}}
	for i := range n {
		l.Tokens = append(l.Tokens, 1+i%20)
		for k := range l.Layers {
			l.Layers[k] = append(l.Layers[k], inside.Prediction{Top: []int{1 + (i+k)%9},
				P: []float64{float64(i%11) / 10}})
		}
	}
	return l
}

var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestTheGridOfALensFitsTheTerminal(t *testing.T) {
	for _, colours := range []bool{false, true} {
		for columns := 24; columns < 200; columns += 7 {
			shown := 0
			text := escapes.ReplaceAllString(testLens(40).Grid(columns, colours), "")
			for i, line := range strings.Split(text, "\n") {
				if w := terminal.Width(line); i < 4 && w > columns {
					t.Errorf("%d columns, want %d: %s", w, columns, line)
				}
				if i == 0 {
					shown = len(strings.Fields(line)) - 1
				}
			}
			if want := fmt.Sprintf("the last %d of 40 tokens", shown); !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in %s", columns, want, text)
			}
			if shown > MostColumns(columns) {
				t.Errorf("%d columns: %d tokens, want at most %d", columns, shown, MostColumns(columns))
			}
		}
	}
	if text := testLens(40).Grid(0, false); strings.Contains(text, "the last") ||
		len(strings.Fields(strings.Split(text, "\n")[0])) != 41 {
		t.Errorf("not all tokens: %s", text)
	}
}

func TestColoursOfALensAreProbabilities(t *testing.T) {
	for p, want := range map[float64]string{
		0: "a", 0.0099: "a", 0.01: "\x1b[30;48;5;194ma\x1b[0m", 0.2: "\x1b[30;48;5;120ma\x1b[0m",
		0.499: "\x1b[30;48;5;120ma\x1b[0m", 1: "\x1b[30;48;5;46ma\x1b[0m",
	} {
		if got := shaded("a", p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}

// The largest part is first, whatever its sign, and what is left out is counted and summed.
func TestBarsOfAnAttribution(t *testing.T) {
	a := Attribution{[]int{1}, &inside.Attribution{Metric: inside.Metric{Target: 2}, Sum: 1, Difference: 1.25,
		Parts: inside.Parts{{Name: "embed", Value: 1}, {Name: "mlp 0", Value: -2},
			{Name: "pos", Value: 1.5}, {Name: "ln_f.b", Value: 0.5}}}, func(id int) string { return " " + fmt.Sprint(id) }}
	want := `after ␣1, the logit of ␣2 less the mean of all logits:

mlp 0              -2.000  ████████████████████████│
pos                +1.500                          │██████████████████
2 other parts      +1.500
sum                +1.000
difference         +1.250
`
	if got := a.Bars(2, 0); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := a.Bars(0, 0); strings.Contains(got, "other part") || strings.Count(got, "│") != 4 {
		t.Errorf("all parts:\n%s", got)
	}
}
