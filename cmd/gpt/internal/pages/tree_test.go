package pages_test

import (
	"strings"
	"testing"

	"picogpt/cmd/gpt/internal/pages"
)

// Texts share the tokens that they begin with, by id, and nothing in them is markup.
func TestTextsAreDrawnAsATree(t *testing.T) {
	page := pages.Tree{Model: "demo", Prompt: "<b>", Summary: "2 texts", Texts: []pages.TreeText{
		{Tokens: []pages.TreeToken{{ID: 1, Text: " a", Prob: 0.5}, {ID: 2, Text: "<i>", Prob: 0.25}}, Prob: 0.25},
		{Tokens: []pages.TreeToken{{ID: 1, Text: " a", Prob: 0.5}, {ID: 3, Prob: 0.125, End: true}}, Prob: 0.125},
		{Tokens: []pages.TreeToken{{ID: 4, Text: " a", Prob: 0.5}}, Prob: 0.5},
	}}
	var b strings.Builder
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`<li style="width: 50.0000%"><span title="50%: ␣a">␣a</span><ul><li style="width: 50.0000%">` +
			`<span title="25%: ␣a&lt;i&gt;">&lt;i&gt;</span></li><li style="width: 25.0000%">` +
			`<span class="end" title="12.5%: ␣a">∎</span></li></ul></li><li style="width: 50.0000%">`,
		`<td class="number">12.5%</td><td class="text"> a</td>`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page has no %s in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "<i>") || strings.Contains(b.String(), "<b>") {
		t.Error("a text is markup")
	}
}
