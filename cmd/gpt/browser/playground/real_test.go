package playground_test

// The page with its own server, and the demo.

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"picogpt"
	"picogpt/dev/testmodel"
	"picogpt/internal/webparts"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// withTheDemo opens the page of a server of the demo.
func withTheDemo(t *testing.T, o serve.Options) tab {
	t.Helper()
	o.Name = "demo"
	s, err := serve.New(testmodel.Demo(t, model.Options{}), tokenizer.GPT2(), o)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		listener.Close()
	})
	b := tab{chromium(t), &fake{Server: listener}, t}
	if other, found := fakes.Load(b.Tab); found {
		other.(*fake).used = false
	}
	b.Forget()
	b.Window(1280, 900, "light")
	url := listener.URL
	if len(o.Keys) > 0 {
		url = strings.Replace(url, "://", "://gpt:"+o.Keys[0]+"@", 1)
	}
	b.load(url)
	t.Cleanup(b.good)
	return b
}

func TestTheDemoInABrowser(t *testing.T) {
	t.Parallel()
	b := withTheDemo(t, serve.Options{})
	gpt, err := picogpt.OpenFS(t.Context(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer gpt.Close()
	ended := func() { // what may end without a token or with few has a message at its end
		t.Helper()
		b.Wait(idle + " && !" + status + ".includes('Writing') && (" + status + " + " + problem + ") !== ''")
		b.shown()
	}

	// A seed's text is the library's.
	b.set("seed", "7")
	b.set("max_tokens", "30")
	b.Press("Control+Enter")
	ended()
	o := picogpt.Sampling()
	o.MaxTokens, o.Seed = 30, 7
	want, err := gpt.Complete(t.Context(), "Once upon a time", o)
	if err != nil {
		t.Fatal(err)
	}
	want = "Once upon a time" + want
	b.want(value, want)

	// The colours are those of gpt surprise, also where characters have several tokens.
	for _, text := range []string{want, "A 🐟 and an é: naïve 日本語\n\n“Oh!” said שלום\r\n\x00\x1b zzgx."} {
		b.JS(id("text") + ".value = " + quoted(strings.ReplaceAll(text, "\r", "␍")) + "; " +
			id("text") + ".dispatchEvent(new Event('input'))")
		b.JS(id("score") + ".click()")
		ended()
		scored, err := gpt.Score(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		var levels [webparts.Levels]int // in bytes: pieces are characters, tokens need not be
		for _, token := range scored.Tokens {
			if level := webparts.BySurprisal.Level(token.Rank, token.LogProb); level >= 0 {
				levels[level]++
			}
		}
		got := b.JS(fmt.Sprintf(`(async () => {
			const { levelOf, Piecer, readTokens, fitting } = await import('/page/pieces.js');
			const answer = await (await fetch('/v1/completions', {method: 'POST', body: JSON.stringify(
				{prompt: %s, max_tokens: 0, echo: true, logprobs: 8})})).json();
			const tokens = readTokens(answer.choices[0].logprobs), piecer = new Piecer(0);
			const pieces = fitting(%[1]s, [...piecer.add(tokens), ...piecer.end()]);
			const counts = [0, 0, 0, 0, 0];
			for (const t of tokens) if (levelOf(t) >= 0) counts[levelOf(t)]++;
			return counts.join(' ') + ' ' + (pieces.at(-1).end === %[1]s.length);
		})()`, quoted(text)))
		if want := fmt.Sprintf("%d %d %d %d %d true", levels[0], levels[1], levels[2], levels[3],
			levels[4]); got != want {
			t.Errorf("%q: levels and whether all is covered: %s, want %s", text, got, want)
		}
		b.want("[...CSS.highlights].reduce((n, [, ranges]) => n + ranges.size, 0) > 4", "true")
	}

	// A form, and the end of a text.
	b.write("Was she happy?")
	b.JS("(s => { s.value = 'choice'; s.dispatchEvent(new Event('change')); })(" +
		id("set-structured_outputs") + ")")
	b.JS("(a => { a.value = ' yes\\n no'; a.dispatchEvent(new Event('input')); })(" +
		"document.querySelector('[data-name=structured_outputs] textarea'))")
	b.JS(id("continue") + ".click()")
	ended()
	if got := b.JS(value); got != "Was she happy? yes" && got != "Was she happy? no" {
		t.Errorf("a choice of yes and no gives %q", got)
	}
	b.want(status+".startsWith('The text came to an end')", "true")

	// The context's end.
	b.JS(id("reset") + ".click()")
	b.set("max_tokens", "256")
	b.JS("(s => { s.checked = true; s.dispatchEvent(new Event('change')); })(" + id("set-ignore_eos") + ")")
	b.JS(id("continue") + ".click()")
	ended()
	b.want(status+".startsWith('The context is full')", "true")
	// The server's message about a mistake is shown.
	b.JS(id("reset") + ".click()")
	b.set("max_tokens", "2")
	b.set("min_tokens", "9")
	b.write("The")
	b.Press("Control+Enter")
	ended()
	if got := b.JS(problem); !strings.Contains(got, "Min_tokens: want at most max_tokens") {
		t.Errorf("min_tokens above max_tokens: %q", got)
	}
}

func TestAServerWithAKeyInABrowser(t *testing.T) {
	t.Parallel()
	b := withTheDemo(t, serve.Options{Keys: []string{"s3cret"}})
	b.set("max_tokens", "3")
	b.Press("Control+Enter")
	b.Wait(status + " === '3 new tokens.'")
	b.press("code")
	b.want(id("code-source")+".textContent.includes('s3cret')", "false")
}
