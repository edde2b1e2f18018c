package pages

// Likely texts as a tree: the width of a token is the probability of the text up to it.

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"picogpt/internal/webparts"
)

//go:embed tree.html
var treeHTML string

//go:embed tree.css
var treeCSS string

// A TreeText is one of the texts, the likeliest first.
type TreeText struct {
	Tokens []TreeToken
	Prob   float64
}

// A TreeToken is a token of a text.
type TreeToken struct {
	ID   int
	Text string  // that became certain with it
	Prob float64 // of the text up to it
	End  bool    // it ends the text
}

// A Tree is texts that follow a prompt.
type Tree struct {
	Model, Prompt, Summary string
	Texts                  []TreeText
}

// A branch is a token with those that follow it.
type branch struct {
	Token, Title string
	End          bool
	Width        float64 // in percent of the branch before it
	Next         []*branch

	id   int
	prob float64
}

// grow adds the tokens of a text after a branch.
func (b *branch) grow(text []TreeToken, before string) {
	if len(text) == 0 {
		return
	}
	t := text[0]
	name, whole := webparts.Quoted(t.Text), before+t.Text
	if t.End {
		name, whole = "∎", before
	}
	title := fmt.Sprintf("%.3g%%: %s", 100*t.Prob, webparts.Quoted(whole))
	at := slices.IndexFunc(b.Next, func(n *branch) bool { return n.id == t.ID })
	if at < 0 {
		at = len(b.Next)
		b.Next = append(b.Next, &branch{Token: name, Title: title, End: t.End,
			Width: 100 * t.Prob / b.prob, id: t.ID, prob: t.Prob})
	}
	b.Next[at].grow(text[1:], whole)
}

// Write writes the page.
func (p Tree) Write(w io.Writer) error {
	t, err := template.New("page").Parse(treeHTML)
	if err != nil {
		return err
	}
	root := &branch{Token: webparts.Quoted(webparts.Excerpt(p.Prompt)), Title: "the prompt", prob: 1}
	type row struct{ Text, Prob string }
	var rows []row
	for _, text := range p.Texts {
		root.grow(text.Tokens, "")
		whole := ""
		for _, t := range text.Tokens {
			whole += t.Text
		}
		rows = append(rows, row{webparts.Shown(whole), fmt.Sprintf("%.3g%%", 100*text.Prob)})
	}
	return t.Execute(w, struct {
		Title, Model, Summary string
		Root                  *branch
		Rows                  []row
		CSS                   template.CSS
	}{webparts.Excerpt(p.Prompt), p.Model, p.Summary, root, rows, webparts.CSS(treeCSS)})
}
