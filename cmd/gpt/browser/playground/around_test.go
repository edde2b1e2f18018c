package playground_test

// Everything around the writing: links, settings, code, keys, faults, and text that looks like
// markup.

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
)

var clipboard sync.Mutex // the browser has one for all tabs

func format(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

func TestAroundTheTextInABrowser(t *testing.T) {
	t.Parallel()
	group, anew := stories(t, inABrowser), stories(t, opened)
	unopened := stories(t, blank)

	anew("the address holds the text and the settings", nil, func(t *testing.T, b tab) {
		text := "A fish 🐟, שלום\nand <b>\"more\"</b> & 'more'"
		b.write(text)
		b.set("temperature", "0.35")
		b.set("stop", `\n\n`)
		b.set("seed", "12345")
		b.Elapse()
		b.Wait("location.hash.length > 10")
		link := b.JS("location.href")
		b.load(b.URL)
		b.want(value, text) // from the storage
		b.write("Another text")
		b.Elapse()
		b.load(link)
		b.want(value, text)
		b.Wait(id("model") + ".textContent === 'fake'")
		if b.Elapse() == 0 { // a link that is only opened is not stored
			t.Error("the page would have stored nothing")
		}
		b.want("['temperature', 'stop', 'seed', 'top_p'].map(n => "+
			"document.getElementById('set-' + n).value).join('|')",
			`0.35|\n\n|12345|1`)
		b.want("JSON.parse(localStorage.getItem('picogpt playground')).text", "Another text")
	})
	group("a link has a version and every setting", nil, func(t *testing.T, b tab) {
		b.want("['temperature', 'top_k'].map(n => document.getElementById('set-' + n).value).join()",
			"0.8,40")
		b.press("code")
		for i, want := range []string{`"temperature": 0.8,|"top_k": 40,`,
			`temperature=0.8,|"top_k": 40`, `"temperature": 0.8,|"top_k": 40,`} {
			b.JS(id(fmt.Sprint("tab-", i)) + ".click()")
			source := b.JS(id("code-source") + ".textContent")
			for line := range strings.SplitSeq(want, "|") {
				if !strings.Contains(source, line) {
					t.Errorf("no %s in\n%s", line, source)
				}
			}
		}
		b.press("close-code")
		b.write("A new text")
		clipboard.Lock()
		defer clipboard.Unlock()
		b.press("share")
		b.Wait(status + ".startsWith('The link is')")
		b.want(`(async () => {
			const { unpack } = await import('/page/link.js');
			const { ALL, VERSION } = await import('/page/settings.js');
			const { version, text, settings } = await unpack(location.hash);
			return [version === VERSION, version, text, ALL.every((s) => s.name in settings),
				settings.temperature, settings.top_k].join();
		})()`, "true,1,A new text,true,0.8,40")
	})
	unopened("what the checkpoint gives is there at first, is told, and is not the user's",
		func(f *fake) { f.saved = `{"temperature":0.25,"max_tokens":7,"top_k":5000}` },
		func(t *testing.T, b tab) {
			shown := "['temperature', 'max_tokens', 'top_k', 'top_p'].map(n => " +
				"document.getElementById('set-' + n).value + document.getElementById('from-' + n).hidden).join()"
			b.load(b.URL)
			b.Wait(id("model") + ".textContent === 'fake'")
			b.want(shown, "0.25false,7false,40false,1true")
			b.want(id("from-temperature")+".textContent", "0.25 in the checkpoint's generation_config.json.")
			b.Elapse()
			b.want("localStorage.getItem('picogpt playground') ?? 'nothing'", "nothing")
			b.set("temperature", "0.9")
			b.Elapse()
			b.press("reset")
			b.want(shown, "0.25false,7false,40false,1true")
			b.set("temperature", "0.8")
			b.Elapse()
			b.load(b.URL) // the user's last visit
			b.Wait(id("model") + ".textContent === 'fake'")
			b.want(shown, "0.8false,7false,40false,1true")
		})
	unopened("a link without a version is read with the defaults of its time", nil,
		func(t *testing.T, b tab) {
			// As the page made them: {text, settings: {}} and {text, settings: {stop, top_p, top_k}}.
			const plain = "#z=q1YqSa0oUbJScsxTyM9JUcjJzMtW0lEqTi0pycxLL1ayqq6tBQA"
			const three = "#z=q1YqSa0oUbJScsxTyM9JUcjJzMtW0lEqTi0pycxLL1ayqlYqLskvULJSionJU9JRKskvi" +
				"C9QsjLQs4Sws5WszGtrAQ"
			for link, want := range map[string]map[string]any{
				plain: {"temperature": nil, "top_k": nil, "top_p": nil, "stop": nil},
				three: {"temperature": nil, "top_k": 7.0, "top_p": 0.9, "stop": []any{"\n"}},
			} {
				b.load(b.URL + "/" + link)
				b.want(value, "An old link")
				b.Press("Control+Enter")
				b.finished()
				for name, value := range want {
					if got := b.last()[name]; !reflect.DeepEqual(got, value) {
						t.Errorf("%s: %s is sent as %v, want %v", link, name, got, value)
					}
				}
			}
		})
	group("a reload keeps the colours and the tokens", func(f *fake) {
		f.words = []string{" there", " é", "\n", " 日本"}
	}, func(t *testing.T, b tab) {
		b.Press("Control+Enter")
		b.finished()
		all := b.JS(coloured)
		if !strings.Contains(all, " é/1") {
			t.Errorf("the colours are %s", all)
		}
		b.Elapse()
		b.Call("Page.reload", nil, nil)
		b.Wait(id("model") + "?.textContent === 'fake'")
		b.Wait(coloured + " !== ''")
		b.want(coloured, all)
		b.token(1)
		b.want(id("token-text")+".textContent + "+id("token-facts")+".textContent", "␣étoken 1 of 0 to 3 · "+
			"id 101 · 30\u00a0% · 1.7 bits · first choice")
		b.want("document.querySelectorAll('#choices li').length", "4")
		b.Press("Escape")
		// another text, or another model, has none of them
		b.want(`(async () => {
			const { restorePieces, savePieces } = await import('/page/memory.js');
			const text = document.getElementById('text').value;
			const n = (...about) => restorePieces(...about).length;
			const counts = [n('fake', text), n('other', text), n('fake', text + ' ')];
			savePieces('fake', text, []);
			counts.push(n('fake', text));
			sessionStorage.setItem('picogpt pieces', '{"model":"fake","text":');
			return [...counts, n('fake', text)].join();
		})()`, "4,0,0,0,0")
	})
	group("a phone is told that words can be tapped", nil, func(t *testing.T, b tab) {
		shown := id("taps") + ".checkVisibility()"
		b.Window(360, 740, "light")
		b.shown()
		b.want(shown, "false") // nothing is coloured
		b.Press("Control+Enter")
		b.finished()
		b.want(shown, "true")
		b.press("colours")
		b.want(shown, "false")
		b.press("colours")
		b.Window(1280, 900, "light")
		b.shown()
		b.want(shown, "false")
		b.Call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": true}, nil)
		b.Wait("matchMedia('(pointer: coarse)').matches")
		b.want(shown, "true")
		b.Call("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": false}, nil)
	})
	unopened("nothing is lost before the scripts are ready", nil, func(t *testing.T, b tab) {
		b.fake.set(func() { b.bare = true })
		b.Open(b.URL, "document.readyState === 'complete'")
		const buttons = "[...document.querySelectorAll('button')].filter(e => e.checkVisibility())"
		b.want(buttons+".every(e => e.disabled) && "+buttons+".length > 8", "true")
		b.want(id("text")+".readOnly", "true")
		b.fake.set(func() { b.bare = false })
		b.load(b.URL)
		b.want("document.querySelectorAll('button:disabled').length + ' ' + "+id("text")+".readOnly",
			"0 false")
	})
	unopened("a broken link says so", nil, func(t *testing.T, b tab) {
		b.load(b.URL + "/#z=AAAA")
		b.want(value, "Once upon a time")
		b.Wait(problem + ".startsWith('The link cannot be read')")
	})
	group("a text too long for a link stays", nil, func(t *testing.T, b tab) {
		var text strings.Builder
		r := rand.New(rand.NewPCG(1, 2))
		for range 90_000 {
			text.WriteByte("abcdefghijklmnopqrstuvwxyz "[r.IntN(27)])
		}
		b.write(text.String())
		clipboard.Lock()
		defer clipboard.Unlock()
		b.press("share")
		b.Wait(status + ".includes('too long')")
		b.load(b.JS("location.href"))
		b.want(value+".length", "90000")
	})
	group("text is text only", func(f *fake) {
		f.words = []string{`<img src=x onerror="window.xss=1">`, `</script><script>xss=1</script>`,
			` <svg onload=xss=1>`, "\u202e\x1b[31m"}
	}, func(t *testing.T, b tab) {
		b.write(`<img src=y onerror="xss=1"></textarea><b>`)
		b.set("n", "2")
		b.Press("Control+Enter")
		b.finished()
		b.press("keep-0")
		b.token(1)
		b.Press("Escape")
		b.press("view-tokens")
		b.finished()
		b.press("code")
		b.JS(id("close-code") + ".click()")
		b.want("document.querySelectorAll('img, b, svg[onload], main script').length", "0")
		b.want("typeof window.xss", "undefined")
		want := `<img src=y onerror="xss=1"></textarea><b><img src=x`
		if got := b.JS(value); !strings.HasPrefix(got, want) {
			t.Errorf("the text is %q", got)
		}
	})
	group("paste is plain text", nil, func(t *testing.T, b tab) {
		clipboard.Lock()
		defer clipboard.Unlock()
		b.Grant("clipboardReadWrite", "clipboardSanitizedWrite")
		b.JS(`navigator.clipboard.write([new ClipboardItem({
			'text/html': new Blob(['<b>bold</b><img src=z>'], {type: 'text/html'}),
			'text/plain': new Blob(['plain'], {type: 'text/plain'})})])`)
		b.JS(id("text") + ".select()")
		b.Call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "v",
			"modifiers": 2, "commands": []string{"paste"}}, nil)
		b.shown()
		b.want(value, "plain")
		b.want("document.querySelectorAll('#sheet b, #sheet img').length", "0")
	})
	group("input methods", nil, func(t *testing.T, b tab) {
		b.write("")
		for _, composed := range []string{"ん", "に", "にほ", "にほん"} {
			b.Call("Input.imeSetComposition", map[string]any{"text": composed,
				"selectionStart": len([]rune(composed)), "selectionEnd": len([]rune(composed))}, nil)
			b.shown()
			b.want(value, composed)
		}
		b.Type("日本")
		b.shown()
		b.want(value, "日本")
	})
	group("every setting reaches the server", nil, func(t *testing.T, b tab) {
		for name, value := range map[string]string{"max_tokens": "3", "temperature": "0.7",
			"top_p": "0.9", "top_k": "30", "min_p": "0.05", "repetition_penalty": "1.2",
			"typical_p": "0.8", "top_n_sigma": "1.5", "top_h": "0.3", "epsilon_cutoff": "0.01",
			"eta_cutoff": "0.02", "xtc_probability": "0.5", "xtc_threshold": "0.2",
			"dynatemp_range": "0.4", "dynatemp_exponent": "2", "mirostat": "2", "mirostat_tau": "4",
			"mirostat_eta": "0.2", "no_repeat_ngram_size": "3", "dry_multiplier": "0.8",
			"dry_base": "2", "dry_allowed_length": "3",
			"frequency_penalty": "0.5", "presence_penalty": "-0.5", "min_tokens": "2",
			"stop": "END", "stop_token_ids": "13", "bad_words": "cat", "logit_bias": "11 -3",
			"seed": "9", "logprobs": "2"} {
			b.set(name, value)
		}
		b.JS(id("set-ignore_eos") + ".click()")
		b.JS("(s => { s.value = 'regex'; s.dispatchEvent(new Event('change')); })(" +
			id("set-structured_outputs") + ")")
		b.JS("(a => { a.value = '[a-z]+'; a.dispatchEvent(new Event('input')); })(" +
			"document.querySelector('[data-name=structured_outputs] textarea'))")
		b.JS("scrollTo(0, 0)")
		b.Press("Control+Enter")
		b.finished()
		got := fmt.Sprint(b.last())
		want := "map[bad_words:[cat] dry_allowed_length:3 dry_base:2 dry_multiplier:0.8 " +
			"dynatemp_exponent:2 dynatemp_range:0.4 epsilon_cutoff:0.01 eta_cutoff:0.02 " +
			"frequency_penalty:0.5 ignore_eos:true logit_bias:map[11:-3] " +
			"logprobs:2 max_tokens:3 min_p:0.05 min_tokens:2 mirostat:2 mirostat_eta:0.2 " +
			"mirostat_tau:4 model:fake no_repeat_ngram_size:3 presence_penalty:-0.5 " +
			"prompt:Once upon a time repetition_penalty:1.2 return_token_ids:true seed:9 stop:[END] " +
			"stop_token_ids:[13] stream:true structured_outputs:map[regex:[a-z]+] temperature:0.7 " +
			"top_h:0.3 top_k:30 top_n_sigma:1.5 top_p:0.9 typical_p:0.8 xtc_probability:0.5 " +
			"xtc_threshold:0.2]"
		if got != want {
			t.Errorf("it sends\n%s\nwant\n%s", got, want)
		}
		b.press("reset")
		b.Press("Control+Enter")
		b.finished()
		if got := len(b.last()); got != 9 {
			t.Errorf("after a reset it sends %v", b.last())
		}
	})
	group("a wrong setting is shown before anything is sent", nil, func(t *testing.T, b tab) {
		b.set("temperature", "9")
		b.Press("Control+Enter")
		b.shown()
		b.want(problem, "Temperature: Want a number from 0 to 2.")
		b.want(focused, "set-temperature")
		b.want(id("set-temperature")+".getAttribute('aria-invalid')", "true")
		if b.last() != nil {
			t.Errorf("it sends %v", b.last())
		}
	})
	anew("a setting that the server ignores is marked", func(f *fake) { f.ignored = "min_p, x" },
		func(t *testing.T, b tab) {
			b.set("min_p", "0.1")
			b.Press("Control+Enter")
			b.finished()
			b.want("[...document.querySelectorAll('[id^=ignored-]')].filter(e => !e.hidden)"+
				".map(e => e.id).join()",
				"ignored-min_p")
		})
	anew("faults in plain words", nil, func(t *testing.T, b tab) {
		b.set("max_tokens", "64")
		b.write(strings.TrimSpace(strings.Repeat("word ", 60)))
		b.Press("Control+Enter")
		b.finished()
		if got := b.last()["max_tokens"]; got != 4.0 {
			t.Errorf("max_tokens is %v, want what is left, 4", got)
		}
		b.want(status, "The context is full: 4 new tokens.")
		b.Press("Control+Enter")
		b.finished()
		b.want(problem, "The text fills the model's context of 64 tokens: there is no room for a "+
			"new one. Cut the text to continue.")
		b.write("Short")
		b.want(problem, "")
		b.fake.set(func() { b.failure = "the device is gone" })
		b.Press("Control+Enter")
		b.finished()
		b.want(problem, "The device is gone.")
		b.want(value, "Short there")
		b.fake.set(func() { b.failure, b.cut, b.hold = "", true, 1 })
		b.Press("Control+Enter")
		b.Wait(value + " === 'Short there there'")
		b.resume()
		b.finished()
		b.want(problem+".startsWith('The connection')", "true")
		b.want(value, "Short there there")
		b.fake.set(func() { b.cut = false })
		b.Elapse()
		b.Wait(status + " === 'The server is back.'")
		b.want(problem, "")
	})
	anew("a key", func(f *fake) { f.key = "s3cret" }, func(t *testing.T, b tab) {
		b.want(problem, "This server wants a key.")
		b.want(focused, "key")
		b.Type("wrong")
		b.Press("Enter")
		b.Wait(id("key-form") + ".hidden === false && document.getElementById('key').value === ''")
		b.Type("s3cret")
		b.Press("Enter")
		b.Wait(id("model") + ".textContent === 'fake'")
		b.Press("Control+Enter")
		b.finished()
		b.want(value, story)
		b.press("code")
		b.want(id("code-source")+".textContent.includes('s3cret')", "false")
		b.want("(JSON.stringify(localStorage) + location.href).includes('s3cret')", "false")
		b.load(b.URL)
		b.Wait(id("model") + ".textContent === 'fake'") // the tab's storage has it
		b.JS("sessionStorage.clear()")
	})
}

func TestTheLayoutInABrowser(t *testing.T) {
	t.Parallel()
	words := func(f *fake) {
		f.context = 4096
		f.words = nil
		r := rand.New(rand.NewPCG(3, 4))
		parts := []string{" the", " AVA", " fi", "ffl", ".", "\n", " שלום", " العربية", " 日本語", " é",
			" To", "\t", " extraordinarily", "--", " W.", " 🐟"}
		for range 1000 {
			f.words = append(f.words, parts[r.IntN(len(parts))])
		}
	}
	b := opened(t, words)
	b.set("max_tokens", "1000")
	b.JS("window.frames_ = 0; (function tick() { frames_++; requestAnimationFrame(tick); })()")
	before := b.layouts()
	b.Press("Control+Enter")
	b.finished()
	// However fast tokens come, the page is laid out a few times for each frame, not each token.
	layouts, frames := b.layouts()-before, 0
	fmt.Sscan(b.JS("frames_"), &frames)
	if layouts > 4*frames+20 {
		t.Errorf("%d layouts in %d frames", layouts, frames)
	}
	b.want("[...CSS.highlights].reduce((n, [, ranges]) => n + ranges.size, 0)", "1000")
	for _, width := range []int{1280, 800, 360} {
		b.Window(width, 800, "light")
		b.shown()
		// The colours lie under the letters: by itself, the textarea is as high as the mirror.
		b.want("(a => { a.style.alignSelf = 'start'; a.style.height = 0; const own = a.scrollHeight; "+
			"a.style.alignSelf = a.style.height = ''; return own - a.scrollHeight; })("+id("text")+")", "0")
		b.want(id("text")+".clientWidth - "+id("mirror")+".clientWidth", "0")
		b.want("document.documentElement.scrollWidth <= innerWidth", "true")
	}
}

// layouts counts how often the page was laid out.
func (b tab) layouts() int {
	b.t.Helper()
	b.Call("Performance.enable", nil, nil)
	var r struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	b.Call("Performance.getMetrics", nil, &r)
	for _, m := range r.Metrics {
		if m.Name == "LayoutCount" {
			return int(m.Value)
		}
	}
	b.t.Fatal("the browser counts no layouts")
	return 0
}
