//go:build unix

package surprise_test

// The page in a browser: headless Chromium, spoken to through a pipe in the DevTools protocol.
// Without Chromium, the tests in surprise_test.go check what can be checked in the file.

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"picogpt/internal/surprise"
)

// A browser is one tab.
type browser struct {
	t        *testing.T
	in       *os.File
	out      *bufio.Reader
	id       int
	session  string
	requests []string // URLs that the page asked for
	troubles []string // exceptions and messages of the page
}

func openBrowser(t *testing.T) *browser {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine; TestPage… check the file itself")
	}
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu",
		"--remote-debugging-pipe", "--no-first-run",
		"--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	watchdog := time.AfterFunc(2*time.Minute, func() { cmd.Process.Kill() })
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		cmd.Wait()
		watchdog.Stop()
		in.Close()
		out.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true},
		&attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call makes a call and waits for its answer, taking note of events on the way.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.id++
	message := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		message["sessionId"] = b.session
	}
	raw, err := json.Marshal(message)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(raw, 0)); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		raw, err := b.out.ReadBytes(0)
		if err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		var answer struct {
			ID     int
			Method string
			Error  json.RawMessage
			Result json.RawMessage
			Params json.RawMessage
		}
		if err := json.Unmarshal(raw[:len(raw)-1], &answer); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case answer.Method == "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			json.Unmarshal(answer.Params, &p)
			b.requests = append(b.requests, p.Request.URL)
		case answer.Method == "Runtime.exceptionThrown", answer.Method == "Log.entryAdded":
			b.troubles = append(b.troubles, string(answer.Params))
		case answer.ID == b.id && answer.Error != nil:
			b.t.Fatalf("%s: %s", method, answer.Error)
		case answer.ID == b.id:
			if result != nil {
				if err := json.Unmarshal(answer.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		}
	}
}

// js evaluates an expression whose value is a string.
func (b *browser) js(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	return fmt.Sprint(r.Result.Value)
}

// press presses and releases keys.
func (b *browser) press(keys ...string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
		"ArrowRight": 39, "ArrowDown": 40}
	for _, key := range keys {
		for _, kind := range []string{"keyDown", "keyUp"} {
			p := map[string]any{"type": kind, "key": key, "code": key,
				"windowsVirtualKeyCode": codes[key]}
			if len(key) == 1 && kind == "keyDown" {
				p["text"] = key
			}
			b.call("Input.dispatchKeyEvent", p, nil)
		}
	}
}

func (b *browser) open(path string, width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false},
		nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + path}, nil)
	for range 200 {
		if b.js("document.readyState + (document.getElementById('text') ? ' page' : '')") == "complete page" {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.t.Fatal("the page does not load")
}

// shoot keeps a picture of the window in the folder that $SCREENSHOTS names, if it names one.
func (b *browser) shoot(name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), png, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

const detail = "['token','probability','rank','entropy'].map(n => document.getElementById('d-' + n).textContent).join('|')"

func TestPageInABrowserWithTheKeyboardOnly(t *testing.T) {
	p := picture(t, text+strings.Repeat("One day, the girl went to the park with her mom. ", 30),
		surprise.ByRank)
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page(t, p)), 0o666); err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t)
	b.open(path, 1280, 1100, "light")
	b.shoot("light.png")

	// Tab reaches the colours, then the text.
	focus := func() string { return b.js("document.activeElement.id || document.activeElement.value") }
	var seen []string
	for range 6 {
		b.press("Tab")
		if seen = append(seen, focus()); seen[len(seen)-1] == "text" {
			break
		}
		if seen[len(seen)-1] == "rank" {
			b.press("ArrowRight")
			if by := b.js("document.body.dataset.by"); by != "surprisal" {
				t.Errorf("the arrow key on the colours chose %q", by)
			}
			b.press("ArrowLeft")
		}
	}
	if got := strings.Join(seen, " "); got != "rank text" {
		t.Fatalf("Tab leads to %q, want rank text", got)
	}
	if got := b.js("document.activeElement.matches(':focus-visible') + getComputedStyle(document.activeElement).outlineStyle"); got != "truesolid" {
		t.Errorf("focus is not to be seen: %s", got)
	}
	if got := b.js("document.getElementById('d-place').textContent"); !strings.HasPrefix(got,
		"token 1 of ") {
		t.Errorf("focus chooses %q", got)
	}

	// Arrows move through the tokens.
	want := func(keys string, i int) {
		t.Helper()
		token := p.Score.Tokens[i]
		got := b.js(detail)
		rank := fmt.Sprint(token.Rank)
		if token.Rank < 0 {
			rank = "–"
		}
		if found := strings.Split(got, "|")[2]; strings.ReplaceAll(found, ",", "") != rank {
			t.Errorf("after %s: %s, want token %d with rank %d", keys, got, i, token.Rank)
		}
		if place := b.js("document.getElementById('d-place').textContent"); !strings.HasPrefix(place, fmt.Sprintf("token %d of ", i+1)) {
			t.Errorf("after %s: %s, want token %d", keys, place, i+1)
		}
		if selected := b.js("document.querySelectorAll('#text [aria-selected=true]').length + document.querySelector('[aria-selected=true]').id"); selected !=
			"1"+b.js("document.getElementById('text').getAttribute('aria-activedescendant')") {
			t.Errorf("after %s: selected %s", keys, selected)
		}
	}
	b.press("ArrowRight", "ArrowRight")
	want("two steps", 2)
	if got := b.js("document.getElementById('d-top').rows.length + document.getElementById('d-top').textContent"); !strings.HasPrefix(got, "5␣") {
		t.Errorf("alternatives %q", got)
	}
	if got := b.js("document.querySelector('[aria-selected=true]').getAttribute('aria-label')"); !strings.Contains(got, "probability") || !strings.Contains(got, "rank") {
		t.Errorf("the token's label is %q", got)
	}
	b.shoot("chosen.png")
	b.press("ArrowLeft")
	want("a step back", 1)
	b.press("End")
	want("End", len(p.Score.Tokens)-1)
	if got := b.js("(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('[aria-selected=true]').getBoundingClientRect())"); got != "true" {
		t.Error("the last token is chosen and out of sight")
	}
	b.press("Home")
	b.press("ArrowDown")
	if got := b.js("document.querySelector('[aria-selected=true]').getClientRects()[0].top > document.getElementById('p0').getClientRects()[0].top"); got != "true" {
		t.Error("the down key stays in its line")
	}
	b.press("ArrowUp")
	want("down and up", 0)
	b.press("n")
	for i, token := range p.Score.Tokens {
		if surprise.ByRank.Level(&token) >= 3 {
			want("n", i)
			break
		}
	}
	b.press("Tab")
	if got := focus(); got == "text" {
		t.Error("Tab does not leave the text")
	}

	// Dark, and narrow: nothing wider than the window, the panel in sight.
	b.open(path, 1280, 1100, "dark")
	if got := b.js("getComputedStyle(document.body).backgroundColor"); got == "rgb(255, 255, 255)" {
		t.Error("the page is not dark")
	}
	b.shoot("dark.png")
	b.open(path, 360, 740, "light")
	if got := b.js("document.documentElement.scrollWidth <= innerWidth"); got != "true" {
		t.Error("the page is wider than a window of 360")
	}
	if got := b.js("(r => r.top >= 0 && r.bottom <= innerHeight + 1)(document.getElementById('details').getBoundingClientRect())"); got != "true" {
		t.Error("the token's panel is out of sight in a narrow window")
	}
	b.press("Tab", "Tab", "ArrowRight", "ArrowRight")
	b.shoot("narrow.png")

	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") &&
			url != "about:blank" {
			t.Errorf("the page asks for %s", url)
		}
	}
	if len(b.troubles) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(b.troubles, "\n"))
	}
}
