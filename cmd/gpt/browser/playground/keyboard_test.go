package playground_test

// The page without a mouse, and for users of screen readers.

import (
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// names returns the controls that Tab reaches from the text, in order, until it reaches the text
// again.
func (b tab) names() []string {
	b.t.Helper()
	b.JS(id("text") + ".focus()")
	var seen []string
	for range 60 {
		b.Press("Tab")
		at := b.JS("document.activeElement.id || document.activeElement.textContent")
		if at == "text" {
			break
		}
		if b.JS("document.activeElement === document.body") == "true" {
			continue // the end of the page, from where Tab leads to its beginning
		}
		if b.JS("document.activeElement.matches(':focus-visible') && "+
			"getComputedStyle(document.activeElement).outlineStyle !== 'none'") != "true" {
			b.t.Errorf("the focus on %s is not to be seen", at)
		}
		seen = append(seen, at)
	}
	return seen
}

func TestTheKeyboardAloneInABrowser(t *testing.T) {
	t.Parallel()
	group, anew := stories(t, inABrowser), stories(t, opened)

	group("Tab leads everywhere, in order", nil, func(t *testing.T, b tab) {
		b.Type(" in May")
		b.shown()
		seen := b.names()
		want := []string{"continue", "undo", "reset", "set-max_tokens", "set-temperature", "set-n",
			"set-seed", "set-top_p", "set-top_k", "set-min_p", "share", "code", "toggle-settings",
			"score", "view-tokens", "colours"}
		at := 0
		for _, name := range seen {
			if at < len(want) && name == want[at] {
				at++
			}
		}
		if at < len(want) {
			t.Errorf("Tab leads to %q, and %s does not come in its turn", seen, want[at])
		}
	})
	group("a story with keys only", nil, func(t *testing.T, b tab) {
		b.Press("Tab", "Enter") // Continue
		b.finished()
		b.want(value, story)
		b.Press("Shift+Tab")
		b.want(focused, "text")
		b.Press("ArrowLeft", "ArrowLeft", "Alt+ArrowDown")
		b.want(focused, "choices")
		b.want(id("token-text")+".textContent", "␣girl")
		b.Press("ArrowLeft", "ArrowLeft") // to the token before, and the one before that
		b.want(id("token-text")+".textContent", "␣a")
		b.want("document.querySelectorAll('.ring').length", "1")
		active := "document.getElementById(document.activeElement.getAttribute(" +
			"'aria-activedescendant')).getAttribute('aria-label')"
		b.want(active, "␣a 5\u00a0%, space a, in the text")
		b.Press("ArrowDown")
		b.want(active, "␣dog 4\u00a0%, space dog")
		b.Press("Escape")
		b.want(focused, "text")
		b.Press("Alt+ArrowDown", "ArrowLeft", "ArrowRight", "ArrowUp", "Home", "Enter")
		b.finished()
		b.want(focused, "text")
		if got := b.last()["prompt"]; got != "Once upon a time there was a little dog" {
			t.Errorf("it continues %q", got)
		}
		b.Press("Control+z", "Control+z")
		b.shown()
		b.want(value, "Once upon a time")
	})
	group("tokens with keys only", nil, func(t *testing.T, b tab) {
		b.write("The cat\nsat on the mat")
		b.JS(id("view-tokens") + ".focus()")
		b.Press("Space")
		b.finished()
		b.JS(id("tokens") + ".focus()")
		label := "document.querySelector('#tokens [aria-selected=true]').getAttribute('aria-label')"
		b.want(label, "The 1000")
		b.Press("ArrowRight", "ArrowRight")
		b.want(label, "↵sat 1002, line end sat, 5\u00a0%")
		b.Press("End", "Enter")
		b.want(focused, "choices")
		b.want(id("token-text")+".textContent", "␣mat")
		b.Press("Escape")
		b.want(focused, "tokens")
		b.Press("Home", "Enter")
		b.want(focused, "close-alternatives") // nothing came before the first: there is no list
		b.Press("Escape")
		b.want(focused, "tokens")
		b.want("document.querySelectorAll('#tokens [aria-selected=true]').length + "+
			id("tokens")+".getAttribute('aria-activedescendant')",
			"1"+b.JS("document.querySelector('#tokens [aria-selected=true]').id"))
	})
	group("settings over a narrow window", nil, func(t *testing.T, b tab) {
		b.Window(360, 740, "light")
		b.shown()
		b.want("getComputedStyle(document.querySelector('aside')).display", "none")
		b.JS(id("toggle-settings") + ".focus()")
		b.Press("Enter")
		b.want(focused, "close-settings")
		b.want(id("paper")+".inert", "true")
		b.Press("Escape")
		b.want(focused, "toggle-settings")
		b.want(id("paper")+".inert", "false")
	})
	anew("the dialog of code keeps the focus and gives it back", nil, func(t *testing.T, b tab) {
		b.JS(id("code") + ".focus()")
		b.Press("Enter")
		b.want(focused, "tab-0")
		b.Press("ArrowRight")
		b.want(focused, "tab-1")
		b.want(id("code-source")+".textContent.startsWith('from openai')", "true")
		b.Press("Escape")
		b.want(focused, "code")
	})
	group("what no longer works keeps the focus", nil, func(t *testing.T, b tab) {
		b.Press("Control+Enter")
		b.finished()
		b.JS(id("undo") + ".focus()")
		b.Press("Enter")
		b.shown()
		b.want(value+" + "+focused, "Once upon a time"+"undo")
		for range 300 { // more than there are
			if b.JS(id("undo")+".getAttribute('aria-disabled')") == "true" {
				break
			}
			b.Press("Enter")
			b.shown()
		}
		b.Press("Enter") // it does nothing, and has the focus
		b.shown()
		b.want(focused+" + "+id("undo")+".ariaDisabled", "undotrue")
		b.JS(id("redo") + ".focus()")
		for range 300 {
			if b.JS(id("redo")+".getAttribute('aria-disabled')") == "true" {
				break
			}
			b.Press("Enter")
			b.shown()
		}
		b.want(value+" + "+focused, story+"redo")
	})
	group("what goes away gives the focus to something else", nil, func(t *testing.T, b tab) {
		b.set("n", "2")
		b.Press("Control+Enter")
		b.finished()
		b.JS(id("keep-1") + ".focus()")
		b.Press("Control+Enter") // the samples go, and others come
		b.finished()
		b.want(focused, "keep-1")
		b.set("n", "1")
		b.Press("Control+Enter")
		b.finished()
		b.want(focused, "continue")
		b.set("n", "2")
		b.Press("Control+Enter")
		b.finished()
		b.JS(id("drop-branches") + ".focus()")
		b.Press("Enter")
		b.shown()
		b.want(focused, "text")
	})
	group("Stop gives the focus back", func(f *fake) { f.hold = 1 },
		func(t *testing.T, b tab) {
			b.Press("Control+Enter")
			b.Wait(busy)
			b.JS(id("stop") + ".focus()")
			b.Press("Enter")
			b.finished()
			b.want(focused, "continue")
		})
}

// active holds roles of elements that users operate or look for, by Chromium's names.
var active = []string{"button", "textbox", "searchbox", "spinbutton", "slider", "checkbox", "combobox",
	"listbox", "option", "tab", "tabpanel", "meter", "DisclosureTriangle", "dialog", "region",
	"complementary"}

func TestEverythingHasANameInABrowser(t *testing.T) {
	t.Parallel()
	b := opened(t, nil)
	b.set("n", "2")
	b.Press("Control+Enter")
	b.finished()
	b.press("keep-0")
	b.token(1)
	b.JS("document.querySelectorAll('details').forEach(d => d.open = true)")
	check := func(part string) {
		t.Helper()
		// who speaks to the page says what is to be seen (WCAG 2.5.3)
		b.want(`(() => {
			const plain = (s) => s.replace(/[^\p{L}\p{N}]+/gu, " ").trim().toLowerCase();
			const all = [...document.querySelectorAll("[aria-label]:is(button, [role=option])")]
				.filter((e) => e.checkVisibility());
			return all.filter((e) => !plain(e.ariaLabel).includes(plain(e.innerText)))
				.map((e) => e.ariaLabel + " for " + e.innerText).join("|") + (all.length > 2);
		})()`, "true")
		var tree struct {
			Nodes []struct {
				Ignored    bool
				Role, Name struct{ Value any }
			}
		}
		b.Call("Accessibility.getFullAXTree", nil, &tree)
		seen := 0
		for _, n := range tree.Nodes {
			role, _ := n.Role.Value.(string)
			if n.Ignored || !slices.Contains(active, role) {
				continue
			}
			seen++
			if name, _ := n.Name.Value.(string); strings.TrimSpace(name) == "" {
				t.Errorf("%s: a %s has no name", part, role)
			}
		}
		if seen < 5 {
			t.Errorf("%s: %d active elements", part, seen)
		}
	}
	check("text")
	b.JS(id("view-tokens") + ".click()")
	b.finished()
	check("tokens")
	b.JS(id("code") + ".click()")
	b.shown()
	check("code")
}

func TestEveryWindowInABrowser(t *testing.T) {
	t.Parallel()
	b := inABrowser(t, nil)
	b.Press("Control+Enter")
	b.finished()
	for turn, scheme := range []string{"light", "dark"} {
		for _, width := range cases.Some([]int{1280, 700, 320, 360}, 2, turn) {
			b.Window(width, 740, scheme)
			b.shown()
			b.token(2)
			b.want("document.documentElement.scrollWidth <= innerWidth", "true")
			b.want("(r => r.left >= 0 && r.right <= innerWidth && r.bottom <= innerHeight + 1)("+
				id("alternatives")+".getBoundingClientRect())", "true")
			b.want("(r => r.top >= 0 && r.bottom <= document.querySelector('.narrow, #alternatives')"+
				".getBoundingClientRect().top)(document.querySelector('.ring').getBoundingClientRect())",
				"true")
			// WCAG 2.2: nothing to press is smaller than 24 by 24.
			b.want("[...document.querySelectorAll('button, input, select, summary')].filter(e => "+
				"e.checkVisibility() && e.type !== 'range' && e.type !== 'checkbox' && "+
				"(e.offsetHeight < 24 || e.offsetWidth < 24)).map(e => e.id || e.textContent).join()", "")
			b.Press("Escape")
		}
	}
}
