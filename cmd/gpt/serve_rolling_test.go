//go:build unix

package main

// gpt serve begins and ends: what it answers while its model is loaded, and a rolling restart under
// load, in which no text is lost or cut.

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
)

// A balancer sends each request to one of the servers, and to another where one takes none.
type balancer struct {
	t       *testing.T
	mu      sync.Mutex
	servers []*served
	turn    atomic.Int64
}

func (b *balancer) add(s *served) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers = append(b.servers, s)
}

// errNotTaken says that a server took a request not, so that another may.
var errNotTaken = errors.New("not taken")

// ask returns the text of an answer.
func (b *balancer) ask(body string) (string, error) {
	for {
		b.mu.Lock()
		s := b.servers[int(b.turn.Add(1))%len(b.servers)]
		b.mu.Unlock()
		if text, err := s.text(body); !errors.Is(err, errNotTaken) {
			return text, err
		}
	}
}

// text returns the text of a whole answer, or of a stream to its last event.
func (s *served) text(body string) (text string, err error) {
	a, err := http.Post(s.url+"/v1/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return "", errNotTaken
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	switch {
	case err == nil && a.StatusCode == http.StatusServiceUnavailable:
		return "", errNotTaken
	case err != nil || a.StatusCode != http.StatusOK:
		return "", fmt.Errorf("status %d, cut: %v: %s", a.StatusCode, err, all)
	}
	parts := []string{string(all)}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "text/event-stream") {
		data, done := strings.CutSuffix(string(all), "data: [DONE]\n\n")
		if !done {
			return "", fmt.Errorf("a stream without its end: %s", all)
		}
		parts = strings.Split(strings.TrimSuffix(data, "\n\n"), "\n\n")
	}
	for _, part := range parts {
		var got struct{ Choices []struct{ Text string } }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(part, "data: ")), &got); err != nil ||
			len(got.Choices) != 1 {
			return "", fmt.Errorf("%v in %s", err, part)
		}
		text += got.Choices[0].Text
	}
	return text, nil
}

func TestARollingRestartLosesNothing(t *testing.T) {
	cases.NotShort(t)
	clients, each, restarts := cases.Of(3, 16), cases.Of(4, 60), cases.Of(1, 4)
	server := func() *served {
		return serveDemo(t, nil, "--log", "off", "--grace", "20ms", "--drain", "1h", "--max-queue", "1000")
	}
	request := func(seed int, stream bool) string {
		return fmt.Sprintf(`{"prompt":"Once","max_tokens":40,"ignore_eos":true,"seed":%d,"stream":%v}`,
			seed, stream)
	}
	b, old := &balancer{t: t}, server()
	b.add(old)
	var want [3]string
	for seed := range want {
		var err error
		if want[seed], err = b.ask(request(seed, false)); err != nil {
			t.Fatal(err)
		}
	}
	var load sync.WaitGroup
	answered := make(chan int, clients*each)
	for i := range clients {
		load.Go(func() {
			for k := range each {
				seed := (i + k) % len(want)
				if got, err := b.ask(request(seed, k%2 == 0)); err != nil || got != want[seed] {
					t.Errorf("seed %d: %v: %q, want %q", seed, err, got, want[seed])
				}
				answered <- k
			}
		})
	}
	for range restarts {
		fresh := server()
		b.add(fresh)
		for range clients * each / (restarts + 2) { // while others are being answered
			<-answered
		}
		old.Process.Signal(syscall.SIGTERM)
		log := old.stderr()
		if got := status(old.Wait()); got != 0 || strings.Contains(log, "cut off") {
			t.Errorf("exit status %d: %s", got, log)
		}
		old = fresh
	}
	load.Wait()
}

// TestItAnswersWhileTheModelIsLoaded, or here a template, which comes by a pipe.
func TestItAnswersWhileTheModelIsLoaded(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "template")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	place, err := net.Listen("tcp", "127.0.0.1:0") // the first line, with a free port, comes too late
	if err != nil {
		t.Fatal(err)
	}
	address := place.Addr().String()
	place.Close()
	cmd := exec.Command("gpt", "serve", "--addr", address, "--template", pipe, "--log", "off")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	startWatched(t, cmd)
	ask := func(path string) (status int, retry string) {
		for end := time.Now().Add(watchdog.Wait); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if a, err := http.Get("http://" + address + path); err == nil { // else it does not listen yet
				a.Body.Close()
				return a.StatusCode, a.Header.Get("Retry-After")
			}
		}
		return 0, ""
	}
	for path, want := range map[string]string{"/health": "200 ", "/ready": "503 1", "/v1/models": "503 1"} {
		if status, retry := ask(path); fmt.Sprint(status, " ", retry) != want {
			t.Errorf("%s before: %d %s, want %s", path, status, retry, want)
		}
	}
	if err := os.WriteFile(pipe, []byte("{{.Text}}"), 0); err != nil { // once it is read
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stderr).ReadString('\n'); line != "gpt: listening on http://"+address+"\n" {
		t.Errorf("%q, %v", line, err)
	}
	if status, _ := ask("/ready"); status != 200 {
		t.Errorf("/ready after: %d", status)
	}
}
