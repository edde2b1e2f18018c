package playground_test

// The panel of what the model computed for a token, with the demo.

import (
	"fmt"
	"strings"
	"testing"

	"picogpt/serve"
)

const loaded = "document.getElementById('inside').getAttribute('aria-busy') === 'false'"

// written opens the page of a server of the demo, which continues a text.
func written(t *testing.T, o serve.Options) tab {
	t.Helper()
	b := withTheDemo(t, o)
	b.set("seed", "7")
	b.set("max_tokens", "20")
	b.Press("Control+Enter")
	b.Wait(idle + " && " + status + ".endsWith('new tokens.')")
	b.press("score")
	b.Wait(idle + " && " + status + ".includes('scored')")
	b.shown()
	b.JS(id("text") + ".focus()")
	return b
}

func TestLookingInsideWithTheKeyboardOnlyInABrowser(t *testing.T) {
	t.Parallel()
	b := written(t, serve.Options{})
	text := b.JS(value)
	b.Press("Alt+ArrowDown")
	b.want(focused, "choices")
	token := b.JS(id("token-text") + ".textContent")
	likeliest := b.JS("document.querySelector('#choices .name').textContent")
	b.Press("Tab")
	b.want(focused, "look")
	b.Press("Enter")
	b.want(focused, "heads")
	b.Wait(loaded)
	b.want(id("alternatives")+".hidden", "true")
	b.want(id("inside-title")+".textContent", "Inside: "+token)
	b.want("document.querySelectorAll('#heads [role=option]').length", "16")
	b.want(id("lens")+".rows.length + "+id("lens")+".rows[4].cells[1].textContent", "5"+likeliest)
	b.want(id("ranks")+".textContent.startsWith("+quoted(token+" is choice ")+")", "true")

	// What is underlined is what the chosen head looks at, as the server says it.
	b.Press("ArrowDown", "ArrowRight", "ArrowRight")
	b.want(id("head-name")+".textContent", "Layer 1, head 2 looks at")
	b.JS(`(async () => {
		const ids = (await (await fetch('/tokenize', {method: 'POST',
			body: JSON.stringify({prompt: ` + value + `})})).json()).tokens;
		window.found = await (await fetch('/inside', {method: 'POST', body: JSON.stringify(
			{prompt: ids.slice(0, -1), target: ids.at(-1), sources: 16})})).json();
		window.ids = ids;
	})()`)
	b.want(`[1, 2, 3, 4].flatMap(n => [...CSS.highlights.get('look-' + n)]).map(r => r.startOffset).
		sort((a, b) => a - b).join()`, b.JS(`found.attention[1][2].filter(([, w]) => w >= 0.02).
		map(([at]) => found.texts.slice(0, at).join('').length).sort((a, b) => a - b).join()`))
	b.want(id("sources")+".rows[0].cells[1].textContent", b.JS(
		"found.texts[found.attention[1][2][0][0]].replaceAll(' ', '␣')"))
	b.want("[...document.querySelectorAll('#contributions th')].map(th => th.textContent).join()",
		b.JS("Object.keys(found.attribution.parts).slice(0, 12).join()"))
	b.Press("Home", "ArrowUp", "ArrowUp", "End")
	b.want(id("head-name")+".textContent", "Layer 0, head 3 looks at")

	// A head that is switched off changes the numbers, and how the text continues.
	b.want(id("without")+".hidden", "true")
	told := b.JS(id("told") + ".textContent")
	b.Press("Enter")
	b.Wait(id("without") + ".hidden === false && " + loaded)
	b.Press("ArrowDown", "ArrowDown", "Space")
	b.Wait(id("retold-by") + ".textContent === 'Without 0.3, 2.3' && " + loaded)
	b.want("[...document.querySelectorAll('#heads .off')].map(o => o.title).join()",
		"layer 0, head 3, off,layer 2, head 3, off")
	b.want(id("told")+".textContent", told)
	b.want(id("retold")+".textContent", b.JS(`(async () => (await (await fetch('/v1/completions', {
		method: 'POST', body: JSON.stringify({prompt: ids.slice(0, -1), temperature: 0, max_tokens: 24,
		edits: [0, 2].map(l => ({at: 'z.' + l, head: 3, op: 'set', values: [0]}))})})).json()).
		choices[0].text)()`))
	if told == b.JS(id("retold")+".textContent") {
		t.Error("without two heads the text is the same")
	}
	b.want(id("retold")+".querySelector('mark').textContent.length > 0", "true")
	b.want(id("switch")+".textContent", "Switch 2.3 on")
	for _, w := range []struct {
		width  int
		scheme string
	}{{375, "light"}, {768, "dark"}, {1440, "light"}, {1440, "dark"}, {375, "dark"}} {
		b.Window(w.width, 1000, w.scheme)
		b.shown()
		b.JS(id("inside") + ".scrollIntoView()")
		b.want("document.documentElement.scrollWidth <= innerWidth", "true")
		b.Shoot(fmt.Sprintf("inside-%d-%s.png", w.width, w.scheme))
	}
	b.Window(1280, 900, "light")
	b.JS("scrollTo(0, 0)")
	b.Shoot("inside-text.png")
	b.JS(id("all-on") + ".focus()")
	b.Press("Enter")
	b.Wait("document.querySelectorAll('#heads .off').length === 0 && " + loaded)
	b.want(focused, "heads")
	b.Press("Escape")
	b.want(focused, "text")
	b.want(id("inside")+".hidden", "true")
	b.want("[1, 2, 3, 4].reduce((n, i) => n + CSS.highlights.get('look-' + i).size, 0)", "0")
	b.want(value, text)
}

func TestLookingInsideEndsWithTheTextInABrowser(t *testing.T) {
	t.Parallel()
	b := written(t, serve.Options{})
	b.token(3)
	b.press("look")
	b.Wait(loaded)
	b.Press("ArrowRight") // the heads have the focus
	b.want(id("head-name")+".textContent", "Layer 0, head 1 looks at")
	b.JS(id("text") + ".focus()")
	b.write("Tom")
	b.want(id("inside")+".hidden", "true")
	// Nothing stands before the first token.
	b.press("score")
	b.Wait(idle)
	b.JS(id("text") + ".focus()")
	b.Press("Alt+ArrowDown")
	b.want(id("token-text")+".textContent", "Tom")
	b.want(id("look")+".hidden", "true")
}

// Texts whose tokens are parts of characters, or read from right to left, or are markup.
func TestLookingInsideOfHostileTextsInABrowser(t *testing.T) {
	t.Parallel()
	b := withTheDemo(t, serve.Options{})
	const text = "<script>alert(1)</script> \"q\" &amp; 👩\u200d👧 é\n\nשלום \u202eabc"
	b.JS(id("text") + ".value = " + quoted(text) + "; " + id("text") + ".dispatchEvent(new Event('input'))")
	b.press("score")
	b.Wait(idle + " && " + status + ".includes('scored')")
	b.shown()
	b.JS(id("text") + ".focus(); " + id("text") + ".setSelectionRange(999, 999)")
	b.Press("Alt+ArrowDown", "Tab", "Enter")
	b.Wait(loaded)
	b.want(id("inside-error")+".hidden", "true")
	b.want(id("inside-title")+".textContent", "Inside: abc")
	// Underlines are whole characters of the text, and each is found in it.
	b.Press("ArrowDown", "ArrowDown", "ArrowRight")
	b.want(`[1, 2, 3, 4].flatMap(n => [...CSS.highlights.get('look-' + n)]).every(r =>
		r.toString() !== '' && r.toString().isWellFormed() && `+quoted(text)+`.includes(r.toString()))`, "true")
	b.want("[1, 2, 3, 4].reduce((n, i) => n + CSS.highlights.get('look-' + i).size, 0) > 0", "true")
	b.Press("Enter")
	b.Wait(id("without") + ".hidden === false && " + loaded)
	b.Window(375, 1000, "dark")
	b.shown()
	b.JS(id("inside") + ".scrollIntoView()")
	b.want("document.documentElement.scrollWidth <= innerWidth", "true")
	b.Shoot("inside-hostile.png")
	b.Window(1280, 900, "light")
}

func TestLookingInsideIsOfferedWhereTheServerDoes(t *testing.T) {
	t.Parallel()
	b := written(t, serve.Options{NoInside: true})
	b.token(3)
	b.want(id("alternatives")+".hidden", "false")
	b.want(id("look")+".hidden", "true")
	// A server that refuses later says so in the panel.
	b.JS("(async () => { const { Inside } = await import('/page/inside.js'); " +
		"const { Server } = await import('/page/api.js'); const server = new Server(); " +
		"window.panel = new Inside({ ask: (body, signal) => server.inside(body, signal), " +
		"tell: () => '', room: () => 9, mark: () => {}, closed: () => {} }); " +
		"panel.show({ prompt: [5], target: 6, text: 'x', name: 'x' }); })()")
	b.Wait(loaded)
	if got := b.JS(id("inside-error") + ".textContent"); !strings.Contains(got, "no such path") {
		t.Errorf("the panel says %q", got)
	}
	b.JS("panel.close()")
}
