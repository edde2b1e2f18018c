package serve_test

// The wire, byte by byte: exchanges with their headers and their streams' events, as files have
// them. Bits are equal everywhere, and so are answers.

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"picogpt/batch"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/internal/chat"
	"picogpt/model"
	"picogpt/serve"
)

var update = flag.Bool("update", false, "write testdata/wire anew")

// A file of testdata/wire begins with comments, and a line "server: NAME", of wireServers. Exchanges
// follow, each a request, a line "---", and its answer; a line "===" stands between two. They go to
// one server of the file, one after the other. What differs from run to run is masked: see masked.
const (
	beforeAnswer  = "\n---\n"
	beforeRequest = "\n===\n"
)

// wireServers are what files name. A setup is called once the server runs; it returns what ends it.
var wireServers = map[string]struct {
	options serve.Options
	setup   func(*client) (end func())
}{
	"plain":   {options: serve.Options{Version: "v1.2.3", Aliases: []string{"other/name"}}},
	"chat":    {options: serve.Options{Template: chat.DialoGPT}},
	"roles":   {options: serve.Options{Template: "{{.Text}}\n"}},
	"last":    {options: serve.Options{Pooling: "last"}},
	"closed":  {options: serve.Options{NoInside: true}},
	"small":   {options: serve.Options{MaxBody: 1000, MaxN: 2, MaxPrompts: 2}},
	"caching": {options: serve.Options{Batcher: batch.Options{PrefixBytes: 1 << 26}}},
	"guarded": {options: serve.Options{Origins: []string{"https://a.example", "null"}, Loopback: true,
		NamedKeys: []serve.Key{{Name: "ann", Value: "secret"}, {Name: "ben", Value: "other"}}}},
	"draining": {setup: func(c *client) func() { c.server.Drain(); return func() {} }},
	"full": {
		options: serve.Options{MaxQueue: 130, Batcher: batch.Options{MaxStreams: 2}},
		setup: func(c *client) (end func()) {
			one, two := c.begin(endless), c.begin(endless)
			eventually(c.t, "the queue is full", func() bool { return c.server.Waiting() > 200 })
			return func() { one(); two() }
		},
	},
}

func TestTheWire(t *testing.T) {
	cases.NotShort(t)
	files, err := filepath.Glob("testdata/wire/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files, %v, want 40", len(files), err)
	}
	m := testmodel.Demo(t, model.Options{Threads: 1})
	used := map[string]bool{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, server := replay(t, m, string(b))
		used[server] = true
		if got == string(b) {
			continue
		}
		if *update {
			if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		at := 0
		for at < min(len(got), len(b)) && got[at] == b[at] {
			at++
		}
		from := max(0, strings.LastIndexByte(got[:at], '\n')-200)
		t.Errorf("%s: found\n…%.600s\nwant\n…%.600s\n(go test ./serve -run TestTheWire -update writes "+
			"it anew)", name, got[from:], string(b)[from:])
	}
	for name := range wireServers {
		if !used[name] {
			t.Errorf("no file is of the server %s", name)
		}
	}
}

// replay sends a file's requests, and returns the file with the answers.
func replay(t *testing.T, m *model.Model, file string) (with, server string) {
	head, rest, _ := strings.Cut(file, "\n\n")
	_, server, _ = strings.Cut(head, "\nserver: ")
	s, ok := wireServers[server]
	if !ok {
		t.Fatalf("a file begins with %q, want comments, and a server at the end", head)
	}
	s.options.Fingerprint = "fp_wire"
	s.options.Batcher.MaxDelay = time.Hour // no step, and so no order of events, follows the clock
	began := time.Now()
	c := startWith(t, m, s.options)
	defer c.server.Close()
	if s.setup != nil {
		defer s.setup(c)()
	}
	var parts []string
	for exchange := range strings.SplitSeq(rest, beforeRequest) {
		request, _, _ := strings.Cut(exchange, beforeAnswer)
		parts = append(parts, request+beforeAnswer+c.exchange(t, request, began))
	}
	return head + "\n\n" + strings.Join(parts, beforeRequest), server
}

// exchange sends a request, and returns the answer, masked.
func (c *client) exchange(t *testing.T, request string, began time.Time) string {
	t.Helper()
	lines, body, _ := strings.Cut(request, "\n\n")
	first, fields, _ := strings.Cut(lines, "\n")
	method, path, _ := strings.Cut(first, " ")
	var header []string
	for line := range strings.Lines(fields) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		header = append(header, name, value)
	}
	r, text := c.do(method, path, body, header...)
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n", r.Status)
	if r.TransferEncoding != nil {
		r.Header["Transfer-Encoding"] = r.TransferEncoding
	}
	if r.Close {
		r.Header.Set("Connection", "close")
	}
	for _, name := range slices.Sorted(keysOf(r.Header)) {
		fmt.Fprintf(&b, "%s: %s\n", name, strings.Join(r.Header[name], " | "))
	}
	return masked(t, b.String()+"\n"+text, request, began)
}

func keysOf(h http.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range h {
			if !yield(name) {
				return
			}
		}
	}
}

var (
	anID    = regexp.MustCompile(`(X-Request-Id: |"(?:chat)?cmpl-)([A-Z2-7]{26})\b`)
	aCall   = regexp.MustCompile(`"id":"([0-9a-f]{9})"`)
	aTime   = regexp.MustCompile(`"created":(\d{10})\b`)
	aDate   = regexp.MustCompile(`(?m)^Date: (.*)$`)
	aTrace  = regexp.MustCompile(`(?m)^Traceparent: 00-([0-9a-f]{32})-([0-9a-f]{16})-(\d\d)$`)
	aSeed   = regexp.MustCompile(`(?m)^X-Seed: \d+$`)
	waiting = regexp.MustCompile(`"2[0-5]\d texts wait`)
	aRetry  = regexp.MustCompile(`Retry-After: [1-9]\d*`)
	inTrace = regexp.MustCompile(`(?m)^traceparent: 00-([0-9a-f]{32})-`)
)

// masked replaces what differs from run to run by names: the server's id of a request, the trace
// unless the client began it, the date, times of creation, a seed that the server drew, and how many
// texts of a full queue wait. Equal ones have equal names, and each must have its form and be of this run.
func masked(t *testing.T, text, request string, began time.Time) string {
	t.Helper()
	names := map[string]string{}
	name := func(kind, value string) string {
		if names[kind+value] == "" {
			n := 1
			for known := range names {
				if strings.HasPrefix(known, kind) {
					n++
				}
			}
			names[kind+value] = fmt.Sprintf("%s%d", kind, n)
		}
		return names[kind+value]
	}
	replace := func(re *regexp.Regexp, with func(m []string) string) {
		text = re.ReplaceAllStringFunc(text, func(s string) string {
			return with(re.FindStringSubmatch(s))
		})
	}
	now := time.Now().Unix()
	replace(anID, func(m []string) string { return m[1] + name("ID", m[2]) })
	replace(aCall, func(m []string) string { return `"id":"` + name("CALL", m[1]) + `"` })
	replace(aTime, func(m []string) string {
		if at, _ := strconv.ParseInt(m[1], 10, 64); at < began.Unix() || at > now {
			return m[0]
		}
		return `"created":` + name("TIME", m[1])
	})
	replace(aDate, func(m []string) string {
		if at, err := http.ParseTime(m[1]); err != nil || at.Unix() < began.Unix() || at.Unix() > now {
			return m[0]
		}
		return "Date: DATE"
	})
	replace(aTrace, func(m []string) string {
		if from := inTrace.FindStringSubmatch(request); from == nil || from[1] != m[1] {
			m[1] = name("TRACE", m[1])
		}
		return "Traceparent: 00-" + m[1] + "-SPAN-" + m[3]
	})
	if !strings.Contains(request, `"seed"`) {
		replace(aSeed, func([]string) string { return "X-Seed: SEED" })
	}
	if waiting.MatchString(text) { // for how long depends on the machine
		replace(aRetry, func([]string) string { return "Retry-After: SECONDS" })
	}
	return waiting.ReplaceAllString(text, `"MANY texts wait`)
}
