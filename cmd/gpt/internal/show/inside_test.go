package show_test

// Attention on a terminal: a triangle that fits, or the largest weights.

import (
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/dev/cases"
)

func TestTriangleHasASignForEachWeight(t *testing.T) {
	a := show.Attention{Pattern: [][]float32{{1}, {0.75, 0.25}, {0.04999, 0.05, 0.9}, {0.5, 0.49999, 0, 0}}}
	for columns, want := range map[int]string{
		14: `
       0
0 "a"  █
1 " b" █▒
2 "c"  ·░█
3 "d"  ▓▒··

· < 0.05
░░ < 0.25
▒▒ < 0.5
▓▓ < 0.75
██ more
`,
		60: `
       0
0 "a"  ██
1 " b" ██▒▒
2 "c"  · ░░██
3 "d"  ▓▓▒▒· ·

· < 0.05   ░░ < 0.25   ▒▒ < 0.5   ▓▓ < 0.75   ██ more
`,
	} {
		names := []string{`"a"`, `" b"`, `"c"`, `"d"`}
		if got := "\n" + a.Picture(names, columns); got != want {
			t.Errorf("%d columns:%s\nwant:%s", columns, got, want)
		}
	}
}

func TestLongTextsShowTheLargestWeights(t *testing.T) {
	a := show.Attention{Pattern: [][]float32{{1}, {0, 1}, {0.3, 0.4, 0.3}, {0.1, 0.2, 0.3, 0.4}}}
	names := []string{"a", "bc\nd", "世界世界世界", "d"}
	want := `
0 a     1.00 0 a
1 bc�d  1.00 1 bc�d
2 世…   0.40 1 bc�d  0.30 0 a     0.30 2 世…
3 d     0.40 3 d     0.30 2 世…   0.20 1 bc�d
`
	if got := "\n" + a.Picture(names, 0); got != want {
		t.Errorf("%s\nwant:%s", got, want)
	}
}

func TestPicturesOfAttentionFitTheTerminal(t *testing.T) {
	cases.NotShort(t)
	for tokens := 1; tokens <= 1200; tokens += 1 + tokens/9 {
		a, names := show.Attention{}, []string{}
		for i := range tokens {
			row := make([]float32, i+1)
			row[i/2] = 0.9
			a.Pattern = append(a.Pattern, row)
			names = append(names, strings.Repeat("世", i%20))
		}
		for _, columns := range []int{26, 30, 40, 60, 80, 132} {
			for line := range strings.Lines(a.Picture(names, columns)) {
				if width := terminal.Width(strings.TrimSuffix(line, "\n")); width > columns {
					t.Errorf("%d tokens, %d columns: a line of %d: %s", tokens, columns, width, line)
				}
			}
		}
	}
}
