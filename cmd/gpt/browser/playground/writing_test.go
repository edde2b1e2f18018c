package playground_test

// Writing with the model: completions, alternatives, samples, undo, surprise.

import (
	"strings"
	"testing"
)

const story = "Once upon a time there was a little girl."

func TestWritingInABrowser(t *testing.T) {
	t.Parallel()
	group, anew := stories(t, inABrowser), stories(t, opened)
	hold := func(n int) func(*fake) { return func(f *fake) { f.hold = n } }

	group("a completion streams into the text", hold(2), func(t *testing.T, b tab) {
		b.JS(`window.heard = []; new MutationObserver(() => heard.push(` + status + `))
			.observe(` + id("status") + `, {childList: true, characterData: true, subtree: true})`)
		b.want(value, "Once upon a time")
		b.Press("Control+Enter")
		b.Wait(value + ".endsWith('there was')")
		b.want(idle, "false")
		b.resume()
		b.finished()
		b.want(value, story)
		b.want(coloured, " there/0| was/1| a/2| little/3| girl/4|./0")
		b.want("heard.join('|')", "Writing…|6 new tokens.")
		b.want(focused, "text")
		b.want(id("text")+".selectionStart", "41")
		q := b.last()
		for name, want := range map[string]any{"model": "fake", "prompt": "Once upon a time",
			"max_tokens": 40.0, "logprobs": 8.0, "stream": true, "return_token_ids": true} {
			if q[name] != want {
				t.Errorf("%s: %v, want %v", name, q[name], want)
			}
		}
		if seed, ok := q["seed"].(float64); !ok || b.JS(id("seed-used")+".textContent*1") !=
			b.JS(strings.TrimSpace(format(seed))) {
			t.Errorf("seed %v is not the one that is shown", q["seed"])
		}
	})
	group("a click on a token shows its alternatives", nil, func(t *testing.T, b tab) {
		b.Press("Control+Enter")
		b.finished()
		b.token(3)
		b.want(id("token-text")+".textContent", "␣little")
		b.want(id("token-facts")+".textContent",
			"token 3 of 0 to 5 · id 103 · 0.5\u00a0% · 7.6 bits · choice 4")
		b.want("[...document.querySelectorAll('#choices li')].map(l => l.textContent).join('|')",
			"␣dog 4\u00a0%|<b>x</b> 2\u00a0%|e2 80 1\u00a0%|␣little 0.5\u00a0%")
		b.want(focused, "text")
		b.Shoot("fake-alternatives.png")
		b.Click("document.querySelector('#choices li')")
		b.finished()
		b.want(value, "Once upon a time there was a dog there was a little girl.")
		if got := b.last()["prompt"]; got != "Once upon a time there was a dog" {
			t.Errorf("it continues from %q", got)
		}
		b.want(id("alternatives")+".hidden", "true")
		b.Press("Control+z")
		b.shown()
		b.want(value, story)
		b.want(coloured, " there/0| was/1| a/2| little/3| girl/4|./0")
	})
	group("a part of a character cannot be chosen", nil, func(t *testing.T, b tab) {
		b.Press("Control+Enter")
		b.finished()
		b.token(1)
		b.Click("document.querySelectorAll('#choices li')[3]")
		b.shown()
		b.want(problem, "This token is a part of a character: the text cannot continue from it.")
		b.want(value, story)
	})
	anew("undo and redo go over completions and edits", nil, func(t *testing.T, b tab) {
		b.Press("Control+Enter")
		b.finished()
		b.Type(" The end")
		b.shown()
		b.Press("Control+z")
		b.shown()
		b.want(value, story)
		b.press("undo")
		b.want(value, "Once upon a time")
		b.want(id("undo")+".ariaDisabled", "true")
		b.press("redo")
		b.Press("Control+y")
		b.shown()
		b.want(value, story+" The end")
		b.want(coloured, " there/0| was/1| a/2| little/3| girl/4|./0")
		b.JS(id("text") + ".focus(); " + id("text") + ".setSelectionRange(27, 27)")
		b.Type("X")
		b.shown()
		b.want(coloured, " there/0| was/1")
		b.Press("Control+z")
		b.Press("Control+z", "Control+Shift+z", "Control+z")
		b.shown()
		b.want(value, story)
	})
	group("escape stops, and what came stays", hold(2), func(t *testing.T, b tab) {
		b.Press("Control+Enter")
		b.Wait(value + ".endsWith('there was')")
		b.Type("x")
		b.Press("Escape")
		b.finished()
		b.want(status, "Stopped.")
		b.want(value, "Once upon a time there was")
		b.Press("Control+z")
		b.shown()
		b.want(value, "Once upon a time")
	})
	group("samples wait side by side for a choice", hold(1), func(t *testing.T, b tab) {
		b.set("n", "3")
		b.set("seed", "5")
		b.Press("Control+Enter")
		b.Wait("document.querySelectorAll('#branch-list li').length === 3")
		b.want(id("keep-1")+".ariaDisabled", "true")
		b.resume()
		b.finished()
		b.want("[...document.querySelectorAll('.branch-text')].map(p => p.textContent).join('|')",
			strings.Repeat("| there was a little girl.", 3)[1:])
		b.want("[...document.querySelectorAll('#branch-list .quiet')]"+
			".map(p => p.textContent.slice(0, 6)).join()",
			"seed 5,seed 6,seed 7")
		b.want(value, "Once upon a time")
		b.Shoot("fake-samples.png")
		b.press("keep-1")
		b.want(value, story)
		b.want(coloured, " there/0| was/1| a/2| little/3| girl/4|./0")
		b.want(id("branches")+".hidden", "true")
		b.Press("Control+z")
		b.shown()
		b.want("document.querySelectorAll('#branch-list li').length", "3")
		// Other samples of the same letters have their own colours.
		const levels = "[...document.querySelectorAll('#branch-0 span')].map(e => " +
			"e.className.slice(-1)).join('')"
		b.want(levels, "012340")
		b.fake.set(func() { b.shift, b.hold = 1, 0 })
		b.Press("Control+Enter")
		b.finished()
		b.want(levels, "123401")
		b.press("drop-branches")
		b.want(id("branches")+".hidden", "true")
		b.want(value, "Once upon a time")
	})
	group("surprise colours any text", nil, func(t *testing.T, b tab) {
		b.write("The cat sat on the mat")
		b.press("score")
		b.finished()
		q := b.last()
		if q["echo"] != true || q["max_tokens"] != 0.0 || q["prompt"] != "The cat sat on the mat" {
			t.Errorf("it asks %v", q)
		}
		b.want(coloured, " cat/1| sat/2| on/3| the/4| mat/0")
		b.want(status, "5 tokens scored, 4.96 bits each, 60\u00a0% of them the model's first choice.")
		b.Press("End")
		b.Type("!")
		b.shown()
		b.want(coloured, " cat/1| sat/2| on/3| the/4| mat/0")
	})
	group("bytes and tokens", nil, func(t *testing.T, b tab) {
		b.write("The cat\nsat")
		b.press("view-tokens")
		b.finished()
		b.want("[...document.querySelectorAll('#tokens [role=option]')]"+
			".map(e => e.textContent).join(' ')",
			"The 1000 ␣cat 1001 ↵sat 1002")
		b.want(id("editor")+".hidden", "true")
		b.press("view-tokens")
		b.want(id("editor")+".hidden", "false")
	})
	group("an empty text begins by itself", nil, func(t *testing.T, b tab) {
		b.JS(id("text") + ".select()")
		b.Press("Backspace")
		b.Press("Control+Enter")
		b.finished()
		b.want(value, " there was a little girl.")
		if _, found := b.last()["prompt"]; found {
			t.Errorf("it sends a prompt: %v", b.last())
		}
	})
}
