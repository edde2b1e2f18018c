// Package browser shows pages in headless Chromium, by chromedp: the tests of what gpt serve and other
// commands show, which are below it. It is a module of its own, so that picogpt needs no chromedp.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A Tab is one tab of a browser, with storage and permissions of its own. Tabs may be used side by
// side, each by one goroutine. If the browser fails, a tab's methods end the test.
type Tab struct {
	t   testing.TB
	ctx context.Context

	mu                 sync.Mutex
	requests, troubles []string
}

// patience is how long a call may take, which may wait for what the page does.
const patience = 30 * time.Second

// shared is the browser of a package's tests: its start takes longer than most of them. Free are the
// tabs that no test uses.
var shared struct {
	sync.Mutex
	ctx  context.Context
	free []*Tab
}

// Main is a TestMain that ends the browser.
func Main(m *testing.M) {
	status := m.Run()
	if shared.ctx != nil {
		chromedp.Cancel(shared.ctx)
	}
	os.Exit(status)
}

// Open opens a tab, which ends with the test. The tests' package has Main.
func Open(t testing.TB) *Tab {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	b, end := open(t)
	t.Cleanup(end)
	return b
}

// Borrow is Open, but the tab may have been another test's: it shows the page of that test, with what
// that has stored. It costs less than a new one.
func Borrow(t testing.TB) *Tab {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	var b *Tab
	if n := len(shared.free); n > 0 {
		b, shared.free = shared.free[n-1], shared.free[:n-1]
		b.t = t
	} else {
		b, _ = open(t)
	}
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		shared.free = append(shared.free, b)
	})
	return b
}

// open opens a tab, and the browser before the first one.
func open(t testing.TB) (*Tab, context.CancelFunc) {
	t.Helper()
	if shared.ctx == nil {
		allocator, _ := chromedp.NewExecAllocator(context.Background(), append(
			chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("hide-scrollbars", false), chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-quic", true))...)
		ctx, _ := chromedp.NewContext(allocator)
		if err := chromedp.Do(ctx); err != nil {
			t.Fatal(err)
		}
		shared.ctx = ctx
	}
	b := &Tab{t: t}
	ctx, end := chromedp.NewContext(shared.ctx, chromedp.WithNewBrowserContext(),
		chromedp.WithListener(b.note))
	b.ctx = ctx
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	// Each tab has the focus, as far as its page can tell.
	b.Call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	b.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": clock}, nil)
	return b, end
}

// note stores events that tests check later.
func (b *Tab) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventExceptionThrown, *runtime.EventConsoleAPICalled, *log.EventEntryAdded:
		text, err := json.Marshal(e)
		b.troubles = append(b.troubles, fmt.Sprintf("%s %v", text, err))
	}
}

// Requests returns the URLs that pages requested since Forget.
func (b *Tab) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.requests)
}

// Troubles returns exceptions and messages of pages since Forget, also violations of their policy.
func (b *Tab) Troubles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.troubles)
}

// Forget empties Requests and Troubles.
func (b *Tab) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests, b.troubles = nil, nil
}

// Grant grants pages permissions that a person would be asked for.
func (b *Tab) Grant(permissions ...string) {
	b.t.Helper()
	_, err := chromedp.CallBrowser(b.ctx, command{Method: "Browser.grantPermissions"}, map[string]any{
		"permissions": permissions, "browserContextId": chromedp.FromContext(b.ctx).BrowserContextID})
	if err != nil {
		b.t.Fatal(err)
	}
}

type command = cdp.Command[map[string]any, json.RawMessage]

// Call makes a call of the protocol that chromedp has no action for, and waits for its answer.
func (b *Tab) Call(method string, params map[string]any, result any) {
	b.t.Helper()
	answer := do(b, func(ctx context.Context, tab *chromedp.Target) (json.RawMessage, error) {
		return cdp.Call(ctx, tab, command{Method: method}, params)
	})
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

// do runs an action.
func do[T any](b *Tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	result, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

// clock makes the long timers of a page wait for Elapse.
const clock = `{
	const set = setTimeout, clear = clearTimeout, held = new Map();
	let last = 0;
	window.setTimeout = (f, ms, ...more) => {
		if (!(ms >= 300)) return set(f, ms, ...more);
		held.set(--last, f);
		return last;
	};
	window.clearTimeout = (id) => held.delete(id) || clear(id);
	window.elapse = () => {
		const all = [...held.values()];
		held.clear();
		for (const f of all) f();
		return all.length;
	};
}`

// Elapse lets the time pass that the page waits for: its timers of 0.3 s and more run now, and never
// by themselves. It returns how many there were.
func (b *Tab) Elapse() (timers int) {
	b.t.Helper()
	fmt.Sscan(b.JS("elapse()"), &timers)
	return timers
}
