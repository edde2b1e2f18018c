//go:build unix

package page_test

// The page in a browser, with the fake server: the base of the tests in writing_test.go and
// around_test.go. Without Chromium, those in page_test.go check the files.

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"picogpt/internal/testing/testbrowser"
)

func TestMain(m *testing.M) { testbrowser.Main(m) }

// A tab is the page of a fake in a browser.
type tab struct {
	*testbrowser.Tab
	*fake
	t *testing.T
}

// inABrowser opens the page of a new fake in a wide window. All tests of a group share one browser.
func inABrowser(t *testing.T, b *testbrowser.Tab, change func(*fake)) tab {
	t.Helper()
	f := newFake(t)
	if change != nil {
		change(f)
	}
	b.Use(t)
	b.Leave()
	b.Requests, b.Troubles = nil, nil
	on := tab{b, f, t}
	b.Window(1280, 900, "light")
	on.load(f.URL)
	t.Cleanup(on.good)
	return on
}

func chromium(t *testing.T) *testbrowser.Tab {
	t.Helper()
	return testbrowser.Open(t, "TestThePage… check the files themselves")
}

func (b tab) load(url string) {
	b.t.Helper()
	b.Open(url, "document.activeElement?.id === 'text' || "+
		"document.getElementById('key-form')?.hidden === false")
	b.shown()
}

// good checks what holds in every test: no exception, message or violation of the policy, and no
// request to another host. A failed request is in the console, and is no fault of the page.
func (b tab) good() {
	b.t.Helper()
	for _, trouble := range b.Troubles {
		if !strings.Contains(trouble, "Failed to load resource") {
			b.t.Errorf("the browser complains: %s", trouble)
		}
	}
	home, _ := url.Parse(b.URL)
	for _, asked := range b.Requests {
		if u, err := url.Parse(asked); asked != "about:blank" && (err != nil || u.Host != home.Host) {
			b.t.Errorf("the page asks for %s", asked)
		}
	}
}

// want compares the value of an expression.
func (b tab) want(expression, want string) {
	b.t.Helper()
	if got := b.JS(expression); got != want {
		b.t.Errorf("%s\nis   %q\nwant %q", expression, got, want)
	}
}

const (
	idle     = "document.getElementById('stop').hidden"
	busy     = "!" + idle
	value    = "document.getElementById('text').value"
	status   = "document.getElementById('status').textContent"
	problem  = "document.getElementById('error').textContent"
	focused  = "document.activeElement.id"
	coloured = "(text => [...CSS.highlights].flatMap(([name, ranges]) => [...ranges]" +
		".map(r => [r.startOffset, text.slice(r.startOffset, r.endOffset) + '/' + name.slice(-1)]))" +
		".sort((a, b) => a[0] - b[0]).map(m => m[1]).join('|'))(document.getElementById('mirror').textContent)"
)

func id(name string) string { return "document.getElementById('" + name + "')" }

// token clicks the n-th coloured piece of the text.
func (b tab) token(n int) {
	b.t.Helper()
	b.JS(fmt.Sprintf(`window.place = [...CSS.highlights].flatMap(([_, ranges]) => [...ranges]).
		sort((a, b) => a.startOffset - b.startOffset)[%d]`, n))
	b.Click(`(r => { const range = document.createRange();
		range.setStart(r.startContainer, r.startOffset); range.setEnd(r.endContainer, r.endOffset);
		range.scrollIntoView = () => {}; return range; })(place)`)
	b.shown()
}

// shown waits for the next frame, when the whole page is updated.
func (b tab) shown() {
	b.t.Helper()
	b.JS("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
}

// finished waits until no task is in progress.
func (b tab) finished() {
	b.t.Helper()
	b.shown()
	b.Wait(idle)
	b.shown()
}

// press presses a button of the page.
func (b tab) press(name string) {
	b.t.Helper()
	b.Click(id(name))
	b.shown()
}

// set gives a setting a value, as typing does.
func (b tab) set(name, value string) {
	b.t.Helper()
	b.JS(id("set-"+name) + ".value = " + quoted(value) + "; " + id("set-"+name) +
		".dispatchEvent(new Event('input', {bubbles: true}))")
}

// write replaces the text, as typing does.
func (b tab) write(text string) {
	b.t.Helper()
	b.JS(id("text") + ".focus(); " + id("text") + ".select()")
	b.Type(text)
	b.shown()
}

// quoted returns a string as a literal of JavaScript.
func quoted(s string) string {
	b, _ := json.Marshal(s) // strings have a JSON
	return string(b)
}
