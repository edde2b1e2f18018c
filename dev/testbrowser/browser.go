//go:build unix

// Package testbrowser drives headless Chromium for the tests of pages: tabs, through a pipe with the
// DevTools protocol. It does not depend on what it tests, and no program imports it.
package testbrowser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Tab is one tab of a browser, with storage and permissions of its own. Tabs may be used side by
// side, each by one goroutine. If the browser fails, a tab's methods end the test.
type Tab struct {
	*browser
	t       testing.TB
	session string
	context string // of storage and permissions

	requests, troubles []string // under the browser's mu
}

// A browser is a process that is spoken to through a pipe.
type browser struct {
	cmd *exec.Cmd
	out *bufio.Reader

	mu      sync.Mutex
	in      *os.File
	id      int                   // of the last call
	waiting map[int]chan received // for the answers of calls, by their ids
	tabs    map[string]*Tab       // by session
	ended   error                 // why the browser gives no more answers
}

// patience is how long a call may take, which may wait for what the page does.
const patience = 30 * time.Second

// ofMain holds the browser that the tests of a package share, nil before the first, its folder, and
// the tabs that no test uses.
var ofMain struct {
	sync.Mutex
	folder  string
	browser *browser
	free    []*Tab
}

// Main is a TestMain that makes the tests of a package share one browser: its start takes longer than
// most of them.
func Main(m *testing.M) {
	folder, err := os.MkdirTemp("", "browser")
	if err != nil {
		panic(err)
	}
	ofMain.folder = folder
	status := m.Run()
	if ofMain.browser != nil {
		ofMain.browser.close()
	}
	os.RemoveAll(folder)
	os.Exit(status)
}

// Open opens a tab, which ends with the test. Without Chromium it skips the test; twin names the test
// that covers the same without a browser.
func Open(t testing.TB, twin string) *Tab {
	t.Helper()
	path := find(t, twin)
	ofMain.Lock()
	defer ofMain.Unlock()
	b := ofMain.browser
	switch {
	case ofMain.folder == "":
		b = start(t, path, t.TempDir())
		t.Cleanup(b.close)
	case b == nil:
		b = start(t, path, ofMain.folder)
		ofMain.browser = b
	}
	tab := b.open(t)
	tab.Call("Network.enable", nil, nil)
	t.Cleanup(func() {
		tab.session = ""
		tab.call("Target.disposeBrowserContext", map[string]any{"browserContextId": tab.context}, nil)
	})
	return tab
}

// Borrow is Open for packages with Main. The tab that it returns may have been another test's: it
// shows the page of that test, with what that has stored. It costs less than a new one. It does not
// tell Requests.
func Borrow(t testing.TB, twin string) *Tab {
	t.Helper()
	path := find(t, twin)
	ofMain.Lock()
	defer ofMain.Unlock()
	if ofMain.browser == nil {
		ofMain.browser = start(t, path, ofMain.folder)
	}
	var tab *Tab
	if n := len(ofMain.free); n > 0 {
		tab, ofMain.free = ofMain.free[n-1], ofMain.free[:n-1]
		tab.t = t
	} else {
		tab = ofMain.browser.open(t)
	}
	t.Cleanup(func() {
		ofMain.Lock()
		defer ofMain.Unlock()
		ofMain.free = append(ofMain.free, tab)
	})
	return tab
}

// find returns the path of Chromium.
func find(t testing.TB, twin string) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("no Chromium on this machine; " + twin)
	return ""
}

// open opens a tab.
func (b *browser) open(t testing.TB) *Tab {
	t.Helper()
	tab := &Tab{t: t, browser: b}
	var context struct{ BrowserContextID string }
	tab.Call("Target.createBrowserContext", nil, &context)
	tab.context = context.BrowserContextID
	var target struct{ TargetID string }
	tab.Call("Target.createTarget", map[string]any{"url": "about:blank",
		"browserContextId": tab.context}, &target)
	var attached struct{ SessionID string }
	tab.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true},
		&attached)
	tab.session = attached.SessionID
	b.mu.Lock()
	b.tabs[tab.session] = tab
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		tab.Call(domain+".enable", nil, nil)
	}
	// Each tab has the focus, as far as its page can tell.
	tab.Call("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}, nil)
	tab.Call("Page.addScriptToEvaluateOnNewDocument", map[string]any{"source": clock}, nil)
	return tab
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
	b.Call("Browser.grantPermissions", map[string]any{"permissions": permissions,
		"browserContextId": b.context}, nil)
}

// start runs a browser and opens the pipe.
func start(t testing.TB, path, folder string) *browser {
	t.Helper()
	toBrowser, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, fromBrowser, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--remote-debugging-pipe", "--no-first-run", "--no-startup-window", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+folder,
		"about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{cmd: cmd, in: in, out: bufio.NewReader(out), waiting: map[int]chan received{},
		tabs: map[string]*Tab{}}
	go b.listen()
	return b
}

// close ends the browser.
func (b *browser) close() {
	(&Tab{browser: b}).call("Browser.close", nil, nil)
	b.in.Close() // which ends it, too
	b.cmd.Wait()
}

// Call makes a call and waits for its answer.
func (b *Tab) Call(method string, params map[string]any, result any) {
	b.t.Helper()
	if err := b.call(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *Tab) call(method string, params map[string]any, result any) error {
	message := map[string]any{"method": method, "params": params}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		message["sessionId"] = b.session
	}
	answer, err := b.send(message)
	if err != nil {
		return err
	}
	select {
	case m := <-answer:
		switch {
		case m.Error != nil:
			return errors.New(string(m.Error))
		case result != nil:
			return json.Unmarshal(m.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("no answer after %v", patience)
	}
}

// send sends a call, and returns where its answer comes.
func (b *browser) send(message map[string]any) (<-chan received, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended != nil {
		return nil, b.ended
	}
	b.id++
	message["id"] = b.id
	raw, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	answer := make(chan received, 1)
	b.waiting[b.id] = answer
	_, err = b.in.Write(append(raw, 0))
	return answer, err
}

// A received is an answer or an event.
type received struct {
	ID        int
	SessionID string
	Method    string
	Error     json.RawMessage
	Result    json.RawMessage
	Params    json.RawMessage
}

// listen hands answers to those who wait for them, and stores events, until the browser ends.
func (b *browser) listen() {
	for {
		var m received
		raw, err := b.out.ReadBytes(0)
		if err == nil {
			err = json.Unmarshal(raw[:len(raw)-1], &m)
		}
		b.mu.Lock()
		if err != nil {
			b.ended = err
			said, _ := json.Marshal(err.Error())
			for _, answer := range b.waiting {
				answer <- received{Error: said}
			}
			b.mu.Unlock()
			return
		}
		if answer := b.waiting[m.ID]; answer != nil {
			delete(b.waiting, m.ID)
			answer <- m
		} else if tab := b.tabs[m.SessionID]; tab != nil {
			tab.note(&m)
		}
		b.mu.Unlock()
	}
}

// note stores events that tests check later.
func (b *Tab) note(m *received) {
	switch m.Method {
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &p) == nil {
			b.requests = append(b.requests, p.Request.URL)
		}
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
		b.troubles = append(b.troubles, string(m.Params))
	}
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

// JS evaluates an expression and returns its value as fmt prints it.
func (b *Tab) JS(expression string) string {
	b.t.Helper()
	var r struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	return fmt.Sprint(r.Result.Value)
}

// Wait waits until an expression is true. It looks again whenever the document has changed, and now
// and then for what is no part of it.
func (b *Tab) Wait(expression string) {
	b.t.Helper()
	if b.JS(`new Promise((done, failed) => {
		const end = (report, value) => { clearInterval(timer); observer.disconnect(); report(value); };
		const look = () => {
			try {
				if (`+expression+`) end(done, true);
				else if (performance.now() > late) end(done, false);
			} catch (e) { end(failed, e); }
		};
		const late = performance.now() + `+fmt.Sprint((patience/2).Milliseconds())+`;
		const observer = new MutationObserver(look), timer = setInterval(look, 20);
		observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
		look();
	})`) != "true" {
		b.t.Fatalf("it does not become true: %s", expression)
	}
}
