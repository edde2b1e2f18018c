package browser

// What users do: windows, keys, clicks; and what they see.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Window sets the size of the window and the colour scheme: light or dark.
func (b *Tab) Window(width, height int, scheme string) {
	b.t.Helper()
	do(b, chromedp.EmulateViewport(int64(width), int64(height)))
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []any{
		map[string]any{"name": "prefers-color-scheme", "value": scheme},
	}}, nil)
}

// Leave leaves the page, which ends everything that it still does.
func (b *Tab) Leave() {
	b.t.Helper()
	do(b, chromedp.Navigate("about:blank"))
}

// Open loads a page, and waits until an expression is true in it.
func (b *Tab) Open(url, ready string) {
	b.t.Helper()
	var r struct{ LoaderID string }
	b.Call("Page.navigate", map[string]any{"url": url}, &r)
	if r.LoaderID == "" { // the URL differs from the page's at most in its fragment
		b.Leave()
		b.Call("Page.navigate", map[string]any{"url": url}, nil)
	}
	b.Wait("document.readyState === 'complete' && (" + ready + ")")
}

// JS evaluates an expression and returns its value as fmt prints it.
func (b *Tab) JS(expression string) string {
	b.t.Helper()
	return fmt.Sprint(do(b, chromedp.Evaluate[any](expression, chromedp.EvalAwaitPromise)))
}

// Wait waits until an expression is true. chromedp.Poll would be at home in the document that is left
// by a call of the protocol, such as Page.reload.
func (b *Tab) Wait(expression string) {
	b.t.Helper()
	for late := time.Now().Add(patience / 2); b.JS("!!("+expression+")") != "true"; {
		if time.Now().After(late) {
			b.t.Fatalf("it does not become true: %s", expression)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

var keys = strings.NewReplacer("Tab", kb.Tab, "Enter", kb.Enter, "Escape", kb.Escape, "Space", " ",
	"End", kb.End, "Home", kb.Home, "ArrowLeft", kb.ArrowLeft, "ArrowUp", kb.ArrowUp,
	"ArrowRight", kb.ArrowRight, "ArrowDown", kb.ArrowDown, "Backspace", kb.Backspace)

var modifiers = map[string]kb.Modifier{"Alt": kb.ModifierAlt, "Control": kb.ModifierCtrl,
	"Meta": kb.ModifierMeta, "Shift": kb.ModifierShift}

// Press presses and releases keys: a, Tab, Control+Enter. chromedp.KeyEvent would send a key and its
// character one after the other, and the character to what the key has given the focus.
func (b *Tab) Press(written ...string) {
	b.t.Helper()
	for _, w := range written {
		parts, held := strings.Split(w, "+"), kb.ModifierNone
		for _, modifier := range parts[:len(parts)-1] {
			held |= modifiers[modifier]
		}
		key := kb.Keys[[]rune(keys.Replace(parts[len(parts)-1]))[0]]
		p := map[string]any{"type": "keyDown", "key": key.Key, "code": key.Code, "modifiers": held,
			"windowsVirtualKeyCode": key.Windows}
		if key.Print && held == kb.ModifierNone {
			p["text"] = key.Text
		}
		b.Call("Input.dispatchKeyEvent", p, nil)
		delete(p, "text")
		p["type"] = "keyUp"
		b.Call("Input.dispatchKeyEvent", p, nil)
	}
}

// Type inserts text at the focus, as a paste or an input method does.
func (b *Tab) Type(text string) {
	b.t.Helper()
	b.Call("Input.insertText", map[string]any{"text": text}, nil)
}

// Click clicks the middle of an element, which an expression returns, after scrolling it into view.
func (b *Tab) Click(element string) {
	b.t.Helper()
	place := b.JS("(e => { e.scrollIntoView({block: 'nearest'}); const r = e.getClientRects()[0]; " +
		"return (r.left + r.width / 2) + ' ' + (r.top + r.height / 2); })(" + element + ")")
	var x, y float64
	if _, err := fmt.Sscan(place, &x, &y); err != nil {
		b.t.Fatalf("%s: no place: %s", element, place)
	}
	do(b, chromedp.MouseClickXY(x, y))
}

// Shoot saves a screenshot in the folder that $SCREENSHOTS names, if it is set.
func (b *Tab) Shoot(name string) {
	b.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), b.Screenshot(), 0o666); err != nil {
		b.t.Fatal(err)
	}
}

// Screenshot returns what the window shows, as PNG.
func (b *Tab) Screenshot() []byte {
	b.t.Helper()
	return do(b, chromedp.CaptureScreenshot())
}
