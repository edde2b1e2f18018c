//go:build unix

package report

// The pages in a browser. Without Chromium, the other tests check what can be checked in the file.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/dev/testbrowser"
)

// collisions are pairs of texts of the picture of which one covers a part of the other, and texts
// that stand outside of the window.
const collisions = `(() => {
	const texts = [...document.querySelectorAll('svg text')].map(e => [e.textContent, e.getBoundingClientRect()]).filter(t => t[1].width > 0);
	const found = [];
	texts.forEach(([a, r], i) => {
		if (r.left < 0 || r.right > innerWidth) found.push(a + ' outside');
		for (const [b, s] of texts.slice(i + 1))
			if (r.left < s.right && s.left < r.right && r.top + 2 < s.bottom && s.top + 2 < r.bottom) found.push(a + ' over ' + b);
	});
	return found.join(', ');
})()`

func TestPagesInABrowser(t *testing.T) {
	b := testbrowser.Open(t, "TestThePageIsWhole… check the file itself")
	dir := t.TempDir()
	for name, r := range samples() {
		path := filepath.Join(dir, name+".html")
		if err := os.WriteFile(path, []byte(page(t, r)), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, window := range []struct {
			name          string
			width, height int
		}{{"wide", 1100, 1500}, {"phone", 320, 1900}} {
			b.Window(window.width, window.height, "light")
			b.Open("file://"+path, "document.querySelector('main')")
			if got := b.JS(collisions); got != "" {
				t.Errorf("%s, %s: %s", name, window.name, got)
			}
			if got := b.JS("document.documentElement.scrollWidth <= innerWidth"); got != "true" {
				t.Errorf("%s: wider than a window of %d", name, window.width)
			}
			b.Shoot(name + "-" + window.name + ".png")
		}
		if got := b.JS("document.querySelectorAll('script, img, iframe, [onerror]').length"); got != "0" {
			t.Errorf("%s: %s elements that the page does not have", name, got)
		}
	}
	b.Window(800, 1500, "dark")
	b.Open("file://"+filepath.Join(dir, "kept.html"), "document.querySelector('main')")
	for element, colour := range map[string]string{"body": "backgroundColor", "svg .ground": "fill"} {
		dark := b.JS(fmt.Sprintf("getComputedStyle(document.querySelector('%s')).%s.match(/\\d+/g).every(n => n < 64)",
			element, colour))
		if dark != "true" {
			t.Errorf("%s is not dark", element)
		}
	}
	b.Shoot("kept-dark.png")
	for _, url := range b.Requests() {
		if !strings.HasPrefix(url, "file:") && !strings.HasPrefix(url, "data:") &&
			url != "about:blank" {
			t.Errorf("a page asks for %s", url)
		}
	}
	if troubles := b.Troubles(); len(troubles) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(troubles, "\n"))
	}
}
