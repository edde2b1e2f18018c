package playground_test

// The page in a browser, with the fake server: the base of the tests in writing_test.go and
// around_test.go. Without Chromium, those in page_test.go check the files.

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"

	"picogpt/cmd/gpt/browser"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "3") // tabs wait for frames more than they compute
	browser.Main(m)
}

// A tab is the page of a fake in a browser.
type tab struct {
	*browser.Tab
	*fake
	t *testing.T
}

// fakes holds the servers of tabs, one for each, and whether its page can be used again.
var fakes sync.Map

// inABrowser shows the page of a fake in a wide window of a tab that no other test uses. The page may
// have been another test's, of which nothing is left that users see, but edits that can be undone:
// to load it costs more than most tests.
func inABrowser(t *testing.T, change func(*fake)) tab {
	t.Helper()
	b := newTab(t, change, true)
	if b.used {
		b.begin()
	} else {
		b.load(b.URL)
	}
	return b
}

// opened is inABrowser with a new page, which no other test uses after this one.
func opened(t *testing.T, change func(*fake)) tab {
	t.Helper()
	b := newTab(t, change, false)
	b.load(b.URL)
	return b
}

// blank returns a tab that a test opens pages in by itself.
func blank(t *testing.T, change func(*fake)) tab {
	t.Helper()
	return newTab(t, change, false)
}

// newTab returns a tab whose page is not yet as tests want it, with a fake that is as good as new.
// again says that another test may use the page afterwards.
func newTab(t *testing.T, change func(*fake), again bool) tab {
	t.Helper()
	b := chromium(t)
	made, found := fakes.Load(b)
	if !found {
		made = newFake()
		fakes.Store(b, made)
	}
	on := tab{b, made.(*fake), t}
	on.reset()
	if change != nil {
		change(on.fake)
	}
	b.Forget()
	b.Window(1280, 900, "light")
	t.Cleanup(func() {
		on.used = again && !t.Failed()
		on.good()
		on.JS("dispatchEvent(new Event('pagehide')); localStorage.clear(); sessionStorage.clear()")
	})
	return on
}

// begin brings a page back to its beginning: a link without a text is opened in it.
func (b tab) begin() {
	b.t.Helper()
	b.JS("document.querySelector('dialog[open]')?.close(); scrollTo(0, 0); " +
		"if (" + id("tokens") + ".hidden === false) " + id("view-tokens") + ".click(); " +
		"history.replaceState(null, '', '#again'); location.hash = ''; " +
		"new Promise(done => addEventListener('hashchange', () => setTimeout(done), {once: true}))")
	b.shown() // what the page has read is shown now
	b.JS(id("text") + ".dispatchEvent(new Event('input')); " + id("text") + ".focus()")
	b.shown()
	b.want("["+value+", "+status+", "+problem+", "+coloured+", "+id("branches")+".hidden, "+
		id("alternatives")+".hidden, "+id("text")+".selectionStart, "+focused+"].join('|')",
		"Once upon a time||||true|true|16|text")
}

// stories returns a function that tells stories of one subject, side by side.
func stories(t *testing.T, begin func(*testing.T, func(*fake)) tab) func(
	name string, change func(*fake), test func(*testing.T, tab)) {
	return func(name string, change func(*fake), test func(*testing.T, tab)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, begin(t, change))
		})
	}
}

func chromium(t *testing.T) *browser.Tab {
	t.Helper()
	return browser.Borrow(t)
}

func (b tab) load(url string) {
	b.t.Helper()
	b.Open(url, "/fake|demo/.test(document.getElementById('model')?.textContent) || "+
		"document.getElementById('key-form')?.hidden === false")
	b.shown()
}

// good checks what holds in every test: no exception, message or violation of the policy (a request
// to another host is one), and no such request. A failed request is in the console, and is no fault
// of the page.
func (b tab) good() {
	b.t.Helper()
	for _, trouble := range b.Troubles() {
		if !strings.Contains(trouble, "Failed to load resource") {
			b.t.Errorf("the browser complains: %s", trouble)
		}
	}
	b.want("performance.getEntriesByType('resource').map(e => e.name)"+
		".filter(url => new URL(url).host !== location.host).join()", "")
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
