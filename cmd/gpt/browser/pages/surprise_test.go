package pages_test

// The page of gpt surprise. What can be checked in the file, its own package's tests check.

import (
	"fmt"
	"strings"
	"testing"

	"picogpt/cmd/gpt/browser"
	"picogpt/cmd/gpt/internal/pages"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/internal/webparts"
	"picogpt/model"
	"picogpt/tokenizer"
)

const detail = "['token','probability','rank','entropy'].map(n => document.getElementById('d-' + n).textContent).join('|')"

func TestSurpriseWithTheKeyboardOnly(t *testing.T) {
	const text = "Once upon a time there was <b>a naïve 🙂 dragon</b> & \"friends\".\n\nThey \u009b[31mlived\x1b[0m.\n"
	score, err := eval.ScoreOne(t.Context(), testmodel.Demo(t, model.Options{}), tokenizer.GPT2(),
		eval.Request{Text: text + strings.Repeat("One day, the girl went to the park with her mom. ", 30)},
		eval.ScoreOptions{Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	p := pages.Surprise{Model: "the demo", By: webparts.ByRank, Score: score}
	path := written(t, p.Page)
	b := browser.Open(t)
	open := func(width, height int, scheme string) {
		t.Helper()
		b.Window(width, height, scheme)
		b.Open("file://"+path, "document.getElementById('text')")
	}
	open(1280, 1100, "light")
	b.Shoot("light.png")

	// Tab reaches the colours, then the text.
	focus := func() string { return b.JS("document.activeElement.id || document.activeElement.value") }
	var seen []string
	for range 6 {
		b.Press("Tab")
		if seen = append(seen, focus()); seen[len(seen)-1] == "text" {
			break
		}
		if seen[len(seen)-1] == "rank" {
			b.Press("ArrowRight")
			if by := b.JS("document.body.dataset.by"); by != "surprisal" {
				t.Errorf("the arrow key on the colours chose %q", by)
			}
			b.Press("ArrowLeft")
		}
	}
	if got := strings.Join(seen, " "); got != "rank text" {
		t.Fatalf("Tab leads to %q, want rank text", got)
	}
	if got := b.JS("document.activeElement.matches(':focus-visible') + getComputedStyle(document.activeElement).outlineStyle"); got != "truesolid" {
		t.Errorf("focus is not to be seen: %s", got)
	}
	if got := b.JS("document.getElementById('d-place').textContent"); !strings.HasPrefix(got,
		"token 0 of 0 to ") {
		t.Errorf("focus chooses %q", got)
	}

	// Arrows move through the tokens.
	want := func(keys string, i int) {
		t.Helper()
		token := p.Score.Tokens[i]
		got := b.JS(detail)
		rank := fmt.Sprint(token.Rank)
		if token.Rank < 0 {
			rank = "–"
		}
		if found := strings.Split(got, "|")[2]; strings.ReplaceAll(found, ",", "") != rank {
			t.Errorf("after %s: %s, want token %d with rank %d", keys, got, i, token.Rank)
		}
		if place := b.JS("document.getElementById('d-place').textContent"); !strings.HasPrefix(place, fmt.Sprintf("token %d of ", i)) {
			t.Errorf("after %s: %s, want token %d", keys, place, i)
		}
		if selected := b.JS("document.querySelectorAll('#text [aria-selected=true]').length + document.querySelector('[aria-selected=true]').id"); selected !=
			"1"+b.JS("document.getElementById('text').getAttribute('aria-activedescendant')") {
			t.Errorf("after %s: selected %s", keys, selected)
		}
	}
	b.Press("ArrowRight", "ArrowRight")
	want("two steps", 2)
	if got := b.JS("document.getElementById('d-top').rows.length + document.getElementById('d-top').textContent"); !strings.HasPrefix(got, "5␣") {
		t.Errorf("alternatives %q", got)
	}
	if got := b.JS("document.querySelector('[aria-selected=true]').getAttribute('aria-label')"); !strings.Contains(got, "probability") || !strings.Contains(got, "rank") {
		t.Errorf("the token's label is %q", got)
	}
	b.Shoot("chosen.png")
	b.Press("ArrowLeft")
	want("a step back", 1)
	b.Press("End")
	want("End", len(p.Score.Tokens)-1)
	if got := b.JS("(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('[aria-selected=true]').getBoundingClientRect())"); got != "true" {
		t.Error("the last token is chosen and out of sight")
	}
	b.Press("Home")
	b.Press("ArrowDown")
	if got := b.JS("document.querySelector('[aria-selected=true]').getClientRects()[0].top > document.getElementById('p0').getClientRects()[0].top"); got != "true" {
		t.Error("the down key stays in its line")
	}
	b.Press("ArrowUp")
	want("down and up", 0)
	b.Press("n")
	for i, token := range p.Score.Tokens {
		if webparts.ByRank.Level(token.Rank, token.LogProb) >= 3 {
			want("n", i)
			break
		}
	}
	b.Press("Tab")
	if got := focus(); got == "text" {
		t.Error("Tab does not leave the text")
	}

	// Dark, and narrow: nothing wider than the window, the panel in sight.
	open(1280, 1100, "dark")
	if got := b.JS("getComputedStyle(document.body).backgroundColor"); got == "rgb(255, 255, 255)" {
		t.Error("the page is not dark")
	}
	b.Shoot("dark.png")
	open(360, 740, "light")
	if got := b.JS("document.documentElement.scrollWidth <= innerWidth"); got != "true" {
		t.Error("the page is wider than a window of 360")
	}
	if got := b.JS("(r => r.top >= 0 && r.bottom <= innerHeight + 1)(document.getElementById('details').getBoundingClientRect())"); got != "true" {
		t.Error("the token's panel is out of sight in a narrow window")
	}
	b.Press("Tab", "Tab", "ArrowRight", "ArrowRight")
	b.Shoot("narrow.png")

	for _, url := range b.Requests() {
		if !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") &&
			url != "about:blank" {
			t.Errorf("the page asks for %s", url)
		}
	}
	if troubles := b.Troubles(); len(troubles) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(troubles, "\n"))
	}
}
