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
	"strings"
	"testing"
	"time"
)

// A Tab is one tab of a browser, with storage and permissions of its own. If the browser fails, its
// methods end the test.
type Tab struct {
	*browser
	t       testing.TB
	session string
	context string // of storage and permissions

	Requests []string // URLs that pages requested
	Troubles []string // exceptions and messages of pages, also violations of their policy
}

// A browser is a process that is spoken to through a pipe.
type browser struct {
	cmd      *exec.Cmd
	watchdog *time.Timer
	in       *os.File
	out      *bufio.Reader
	id       int
}

// patience is how long a test may have a browser.
const patience = 2 * time.Minute

// ofMain holds the browser that the tests of a package share, nil before the first, and its folder.
var ofMain struct {
	folder  string
	browser *browser
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
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine; " + twin)
	}
	b := &Tab{t: t, browser: ofMain.browser}
	if b.browser == nil {
		folder := ofMain.folder
		if folder == "" {
			folder = t.TempDir()
		}
		b.browser = start(t, path, folder)
		if ofMain.folder != "" {
			ofMain.browser = b.browser
		} else {
			t.Cleanup(b.browser.close)
		}
	}
	b.watchdog.Reset(patience)
	var context struct{ BrowserContextID string }
	b.Call("Target.createBrowserContext", nil, &context)
	b.context = context.BrowserContextID
	t.Cleanup(func() {
		b.session = ""
		b.call("Target.disposeBrowserContext", map[string]any{"browserContextId": b.context}, nil)
		b.watchdog.Stop()
	})
	var target struct{ TargetID string }
	b.Call("Target.createTarget", map[string]any{"url": "about:blank",
		"browserContextId": b.context}, &target)
	var attached struct{ SessionID string }
	b.Call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true},
		&attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.Call(domain+".enable", nil, nil)
	}
	return b
}

// Use sets the test that failures end, for a subtest that shares the tab.
func (b *Tab) Use(t testing.TB) { b.t = t }

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
		"--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+folder,
		"about:blank")
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // file descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toBrowser.Close()
	fromBrowser.Close()
	return &browser{cmd: cmd, in: in, out: bufio.NewReader(out),
		watchdog: time.AfterFunc(patience, func() { cmd.Process.Kill() })}
}

// close ends the browser.
func (b *browser) close() {
	(&Tab{browser: b}).call("Browser.close", nil, nil)
	b.in.Close() // which ends it, too
	b.cmd.Wait()
	b.watchdog.Stop()
}

// Call makes a call and waits for its answer. It records the events that arrive before it.
func (b *Tab) Call(method string, params map[string]any, result any) {
	b.t.Helper()
	if err := b.call(method, params, result); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
}

func (b *Tab) call(method string, params map[string]any, result any) error {
	b.id++
	message := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" && !strings.HasPrefix(method, "Browser.") {
		message["sessionId"] = b.session
	}
	raw, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(raw, 0)); err != nil {
		return err
	}
	for {
		raw, err := b.out.ReadBytes(0)
		if err != nil {
			return err
		}
		var m received
		if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
			return err
		}
		switch {
		case m.ID == 0:
			b.note(&m)
		case m.ID == b.id && m.Error != nil:
			return errors.New(string(m.Error))
		case m.ID == b.id && result != nil:
			return json.Unmarshal(m.Result, result)
		case m.ID == b.id:
			return nil
		}
	}
}

// A received is an answer or an event.
type received struct {
	ID     int
	Method string
	Error  json.RawMessage
	Result json.RawMessage
	Params json.RawMessage
}

// note stores events that tests check later.
func (b *Tab) note(m *received) {
	switch m.Method {
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if json.Unmarshal(m.Params, &p) == nil {
			b.Requests = append(b.Requests, p.Request.URL)
		}
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
		b.Troubles = append(b.Troubles, string(m.Params))
	}
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

// Wait waits until an expression is true.
func (b *Tab) Wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if b.JS("Boolean("+expression+")") == "true" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.t.Fatalf("it does not become true: %s", expression)
}
