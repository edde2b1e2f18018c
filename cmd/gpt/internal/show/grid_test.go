package show_test

import (
	"slices"
	"testing"

	"picogpt/cmd/gpt/internal/show"
)

// A grid stands as it is, then with rows and columns in each other's place, then in parts.
func TestGridFitsTheTerminal(t *testing.T) {
	g := &show.Grid{Down: "layer", Across: "token", Rows: []string{"0", "1"},
		Columns: []string{"你好", "b", ""}, Cells: [][]string{{"0.10", "2", "3"}, {"4", "-0.50", "6"}}}
	const wide = `
layer / token  你好      b
0              0.10      2  3
1                 4  -0.50  6
`
	const narrow = `
token / layer     0      1
你好           0.10      4
b                 2  -0.50
                  3      6
`
	const parts = `
token / layer     0
你好           0.10
b                 2
                  3

token / layer      1
你好               4
b              -0.50
                   6
`
	const cut = `
toke…     0
你好   0.10
b         2
          3

toke…      1
你好       4
b      -0.50
           6
`
	for width, want := range map[int]string{80: wide, 29: wide, 28: narrow, 26: narrow,
		25: parts, 20: parts, 12: cut} {
		if got := "\n" + g.Text(width); got != want {
			t.Errorf("in %d columns:%s\nwant%s", width, got, want)
		}
	}
	if !slices.Equal(g.Columns, []string{"你好", "b", ""}) || g.Across != "token" {
		t.Errorf("another grid: %+v", g)
	}
}
