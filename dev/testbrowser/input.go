//go:build unix

package testbrowser

// Users' actions: windows, keys, clicks; and screenshots.

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Window sets the size of the window and the colour scheme: light or dark.
func (b *Tab) Window(width, height int, scheme string) {
	b.t.Helper()
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
	}, nil)
	b.Call("Emulation.setEmulatedMedia", map[string]any{"features": []any{
		map[string]any{"name": "prefers-color-scheme", "value": scheme},
	}}, nil)
}

// Leave leaves the page, which ends everything that it still does.
func (b *Tab) Leave() {
	b.t.Helper()
	b.Call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
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

// codes are the key codes of keys other than letters.
var codes = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "End": 35, "Home": 36,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Backspace": 8}

// modifiers are the bits of modifier keys.
var modifiers = map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}

// Press presses and releases keys: a, Tab, Control+Enter.
func (b *Tab) Press(keys ...string) {
	b.t.Helper()
	for _, written := range keys {
		parts := strings.Split(written, "+")
		key, held := parts[len(parts)-1], 0
		for _, modifier := range parts[:len(parts)-1] {
			held |= modifiers[modifier]
		}
		p := map[string]any{"key": key, "code": key, "modifiers": held,
			"windowsVirtualKeyCode": codes[key]}
		switch {
		case key == "Space":
			p["key"], p["text"] = " ", " "
		case key == "Enter" && held == 0:
			p["text"] = "\r"
		case len(key) == 1:
			p["windowsVirtualKeyCode"] = int(strings.ToUpper(key)[0])
			if held == 0 {
				p["text"] = key
			}
		}
		p["type"] = "keyDown"
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
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.Call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": x, "y": y,
			"button": "left", "clickCount": 1}, nil)
	}
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
	var r struct{ Data string }
	b.Call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	png, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return png
}
