package report

// The pages in headless Chromium. Without it, the other tests check what can be checked in the file.

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
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
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Skip("no Chromium on this machine; TestThePageIsWhole… check the file itself")
	}
	ctx, end := chromedp.NewContext(t.Context(), chromedp.WithAllocatorOptions(chromedp.NoSandbox,
		chromedp.Flag("hide-scrollbars", false)))
	defer end()
	var mu sync.Mutex
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if url := e.Request.URL; !strings.HasPrefix(url, "file:") &&
				!strings.HasPrefix(url, "data:") && url != "about:blank" {
				t.Errorf("a page asks for %s", url)
			}
		case *runtime.EventExceptionThrown, *runtime.EventConsoleAPICalled, *log.EventEntryAdded:
			t.Errorf("the browser complains: %+v", e)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	is := func(expression string) any {
		t.Helper()
		value, err := chromedp.Run(ctx, chromedp.Evaluate[any](expression))
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		return value
	}
	dir := t.TempDir()
	open := func(name, scheme string, width, height int64) {
		t.Helper()
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
		if err := errors.Join(err, chromedp.Do(ctx, chromedp.EmulateViewport(width, height),
			chromedp.Navigate("file://"+filepath.Join(dir, name+".html")))); err != nil {
			t.Fatal(err)
		}
		if shots := os.Getenv("SCREENSHOTS"); shots != "" {
			png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
			file := filepath.Join(shots, fmt.Sprintf("%s-%s-%d.png", name, scheme, width))
			if err := errors.Join(err, os.WriteFile(file, png, 0o666)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, r := range samples() {
		if err := os.WriteFile(filepath.Join(dir, name+".html"), []byte(page(t, r)), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, window := range [][2]int64{{1100, 1500}, {320, 1900}} {
			open(name, "light", window[0], window[1])
			if got := is(collisions); got != "" {
				t.Errorf("%s, %d wide: %s", name, window[0], got)
			}
			if is("document.documentElement.scrollWidth <= innerWidth") != true {
				t.Errorf("%s: wider than a window of %d", name, window[0])
			}
		}
		if n := is("document.querySelectorAll('script, img, iframe, [onerror]').length"); n != 0.0 {
			t.Errorf("%s: %v elements that the page does not have", name, n)
		}
	}
	open("kept", "dark", 800, 1500)
	for element, colour := range map[string]string{"body": "backgroundColor", "svg .ground": "fill"} {
		if is(fmt.Sprintf("getComputedStyle(document.querySelector('%s')).%s.match(/\\d+/g).every(n => n < 64)",
			element, colour)) != true {
			t.Errorf("%s is not dark", element)
		}
	}
}
