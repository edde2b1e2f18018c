package playground_test

// Talking with the model: conversations in the place of the text.

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"picogpt/internal/chat"
	"picogpt/serve"
)

// turns is the conversation as it is shown.
const turns = "[...document.querySelectorAll('#turns li')].map(e => e.classList[0] + ': ' + " +
	"e.lastChild.textContent).join('|')"

const said = "document.getElementById('say').value"

func TestTalkingInABrowser(t *testing.T) {
	t.Parallel()
	anew := stories(t, func(t *testing.T, change func(*fake)) tab {
		b := opened(t, change)
		b.press("chat")
		b.want(focused, "say")
		return b
	})
	messages := func(b tab) string {
		var all []string
		for _, m := range b.last()["messages"].([]any) {
			m := m.(map[string]any)
			all = append(all, fmt.Sprint(m["role"], ": ", m["content"]))
		}
		return strings.Join(all, "|")
	}
	told := func(b tab, want string) {
		b.t.Helper()
		if got := messages(b); got != want {
			b.t.Errorf("it sends %q, want %q", got, want)
		}
	}
	const shown = "there was a little girl."
	const answer = " " + shown

	anew("turns", func(f *fake) { f.hold = 2 }, func(t *testing.T, b tab) {
		b.Type("Who was there?")
		b.Press("Enter")
		b.Wait(turns + ".endsWith('there was')")
		b.want(turns, "user: Who was there?|assistant: there was")
		b.want(said, "")
		b.want(id("again")+".ariaDisabled", "true")
		b.resume()
		b.finished()
		b.want(turns, "user: Who was there?|assistant: "+shown)
		told(b, "user: Who was there?")
		b.want(status, "The answer is cut here: settings have how many new tokens it may have.")
		b.want(focused, "say")
		for _, name := range []string{"logprobs", "n", "prompt"} {
			if _, found := b.last()[name]; found {
				t.Errorf("it sends %s", name)
			}
		}
		for name, want := range map[string]any{"model": "fake", "max_tokens": 40.0, "stream": true,
			"temperature": 0.8} {
			if got := b.last()[name]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		b.JS("document.querySelector('#talk details').open = true; " + id("system") + ".focus()")
		b.Type("Be brief.")
		b.JS(id("say") + ".focus()")
		b.Type("And then?")
		b.Press("Control+Enter")
		b.finished()
		told(b, "system: Be brief.|user: Who was there?|assistant: "+answer+
			"|user: And then?")
		b.Shoot("fake-chat.png")
		b.press("again")
		b.finished()
		told(b, "system: Be brief.|user: Who was there?|assistant: "+answer+
			"|user: And then?")
		b.press("undo")
		b.press("undo")
		b.want(turns, "user: Who was there?|assistant: "+shown)
		b.press("redo")
		b.want(turns, "user: Who was there?|assistant: "+shown+"|user: And then?|assistant: "+shown)
		b.press("new-chat")
		b.want(turns, "")
		b.press("undo")
		b.want(turns, "user: Who was there?|assistant: "+shown+"|user: And then?|assistant: "+shown)
		b.want(value, "Once upon a time")
	})
	anew("a line, and a stop", func(f *fake) { f.hold = 2 }, func(t *testing.T, b tab) {
		b.Type("One")
		b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Enter", "code": "Enter",
			"modifiers": kb.ModifierShift, "text": "\r", "windowsVirtualKeyCode": 13}, nil)
		b.Type("two")
		b.Press("Enter")
		b.Wait(turns + ".endsWith('there was')")
		b.want("JSON.parse(localStorage.getItem('picogpt chat')).turns.length", "1")
		b.press("stop")
		b.finished()
		b.want(focused, "say")
		b.want(status, "Stopped.")
		b.want(turns, "user: One\ntwo|assistant: there was")
		b.want("[...document.querySelectorAll('#turns .cut')].length", "1")
		b.Press("Enter") // nothing is said
		b.shown()
		b.want(turns, "user: One\ntwo|assistant: there was")
	})
	anew("what is not answered is not lost", func(f *fake) { f.context = 42 }, func(t *testing.T, b tab) {
		b.Type("Far too long")
		b.Press("Enter")
		b.finished()
		b.want(problem, "Messages: too long.")
		b.want(turns, "")
		b.want(said, "Far too long")
		b.want(id("undo")+".ariaDisabled", "true")
		b.fake.set(func() { b.context, b.key = 64, "secret" })
		b.Press("Enter")
		b.Wait("!" + id("key-form") + ".hidden")
		b.want(said, "Far too long")
		b.JS(id("key") + ".value = 'secret'; " + id("key-form") + ".requestSubmit()")
		b.Wait(turns + ".endsWith('girl.')")
		b.finished()
		b.want(turns, "user: Far too long|assistant: "+shown)
		b.want(said, "")
	})
	anew("a reload, a link, and the text", nil, func(t *testing.T, b tab) {
		b.Type("Hello")
		b.Press("Enter")
		b.finished()
		b.Type("a draft")
		b.Elapse()
		b.Call("Page.reload", nil, nil)
		b.Wait(id("model") + "?.textContent === 'fake' && " + turns + " !== ''")
		b.shown()
		b.want(turns, "user: Hello|assistant: "+shown)
		b.want(said, "a draft")
		b.want("getComputedStyle(document.querySelector('.sheet')).display", "none")
		b.press("code")
		b.want(id("code-source")+".textContent.includes('/v1/chat/completions')", "true")
		b.Press("Escape")
		b.press("chat")
		b.want(focused, "text")
		b.Press("Control+Enter")
		b.finished()
		b.want(value, story)
		b.Elapse()
		b.Window(1280, 300, "light")
		b.Call("Page.reload", nil, nil)
		b.Wait(id("model") + "?.textContent === 'fake' && " + turns + " !== ''")
		b.shown()
		b.want("document.documentElement.scrollHeight > innerHeight", "true")
		b.want("scrollY", "0") // the conversation is not shown
		b.Window(1280, 900, "light")
		b.press("chat")
		b.want(turns, "user: Hello|assistant: "+shown)
		b.Elapse()
		b.JS("sessionStorage.setItem('picogpt chat', '{\"turns\": [null, {\"role\": 1}, {\"role\": \"user\", ' +" +
			"'\"content\": \"Hi\"}], \"system\": 7, \"draft\": null}')")
		b.Call("Page.reload", nil, nil)
		b.Wait(id("model") + "?.textContent === 'fake' && " + turns + " === 'user: Hi'")
		b.want(id("system")+".value", "")
		b.Elapse()
		b.JS("sessionStorage.removeItem('picogpt chat')") // as another tab, or the next visit
		b.Call("Page.reload", nil, nil)
		b.Wait(id("model") + "?.textContent === 'fake' && " + turns + " === 'user: Hi'")
		b.want(id("talk")+".hidden", "true")
		b.Elapse()
		b.JS("sessionStorage.setItem('picogpt chat', '[{}')")
		b.Call("Page.reload", nil, nil)
		b.Wait(id("model") + "?.textContent === 'fake' && " + turns + " === ''")
		b.JS("location.hash = '#z='")
		b.Wait(id("talk") + ".hidden")
	})
}

// TestALostConversationInABrowser: what there is of an answer is kept, and what cannot be is told.
func TestALostConversationInABrowser(t *testing.T) {
	t.Parallel()
	b := opened(t, func(f *fake) { f.hold = 2 })
	b.press("chat")
	b.Type("Hello")
	b.Press("Enter")
	b.Wait(turns + ".endsWith('there was')")
	b.Call("Page.reload", nil, nil)
	b.Wait(id("model") + "?.textContent === 'fake' && " + turns + " !== ''")
	b.want(turns, "user: Hello|assistant: there was")
	b.want("document.querySelectorAll('#turns .cut').length", "1")
	b.resume()
	b.JS("Storage.prototype.setItem = () => { throw new Error('full'); }")
	b.press("again")
	b.Wait(turns + ".endsWith('girl.') && " + idle)
	b.Elapse()
	b.want(status, "The browser stores no more: this conversation ends with the page.")
}

// TestTenTurnsInABrowser with the demo: each answer is the server's own to the messages before it.
func TestTenTurnsInABrowser(t *testing.T) {
	t.Parallel()
	b := withTheDemo(t, serve.Options{Template: chat.Named[0].Source, TemplateNote: chat.Untrained})
	b.press("chat")
	b.set("seed", "5")
	b.set("max_tokens", "8")
	for turn := range 10 {
		b.JS(id("say") + ".focus()")
		b.Type(fmt.Sprintf("Tom met %d cats.", turn+1))
		b.Press("Enter")
		b.Wait(fmt.Sprintf("document.querySelectorAll('#turns li').length === %d && %s", 2*turn+2, idle))
		b.shown()
	}
	b.Shoot("demo-chat.png")
	b.Window(390, 700, "dark")
	b.shown()
	b.want("document.documentElement.scrollWidth <= 390", "true")
	b.Shoot("demo-chat-narrow.png")
	b.want(id("chat-note")+".textContent.startsWith('This model has no chat template')", "true")
	b.want(`(async () => {
		const messages = [...document.querySelectorAll('#turns li')].map(e => (
			{role: e.className.split(' ')[0], content: e.lastChild.textContent}));
		for (let i = 1; i < messages.length; i += 2) {
			const body = {messages: messages.slice(0, i), seed: 5, max_tokens: 8, temperature: .8, top_k: 40};
			const response = await fetch('v1/chat/completions', {method: 'POST', body: JSON.stringify(body),
				headers: {'Content-Type': 'application/json'}});
			const told = (await response.json()).choices[0].message.content;
			if (told.trimStart() !== messages[i].content) return i + ': ' + told;
		}
		return 'equal';
	})()`, "equal")
}
