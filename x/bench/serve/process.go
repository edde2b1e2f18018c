package main

// A gpt serve process, and its /metrics.

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A server is a running gpt serve.
type server struct {
	*client
	command *exec.Cmd
	tail    *tail // of its stderr
	copied  sync.WaitGroup
}

// start starts gpt serve on a free port, with a model's directory ("" for the demo) and flags. It
// returns when the server listens.
func start(ctx context.Context, gpt, dir string, flags ...string) (*server, error) {
	args := append([]string{"serve", "--addr", "127.0.0.1:0", "--log", "off"}, flags...)
	if dir != "" {
		args = append(args, "-m", dir)
	}
	s := &server{command: exec.CommandContext(ctx, gpt, args...), tail: &tail{}}
	s.command.Cancel = func() error { return s.command.Process.Signal(syscall.SIGTERM) }
	s.command.WaitDelay = 20 * time.Second
	pipe, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	r := bufio.NewReader(pipe)
	line, err := r.ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "gpt: listening on ")
	if err != nil || !found {
		rest, _ := io.ReadAll(r)
		s.command.Wait()
		return nil, fmt.Errorf("%s %s: %s%s: want a line \"gpt: listening on\"", gpt,
			strings.Join(args, " "), line, rest)
	}
	s.copied.Go(func() { io.Copy(s.tail, r) })
	s.client = newClient(url)
	return s, nil
}

// stop ends the server with SIGTERM, and returns an error if it does not end properly.
func (s *server) stop() error {
	s.http.CloseIdleConnections()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	s.copied.Wait()
	if err := s.command.Wait(); err != nil {
		return fmt.Errorf("gpt serve after SIGTERM: %w: %s", err, s.tail)
	}
	return nil
}

// A tail holds the last 4 kB that were written to it.
type tail struct{ b []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-4096):]
	return len(b), nil
}

func (t *tail) String() string { return string(t.b) }

// metrics are the numbers of /metrics by name, without labels and without vLLM's prefix. Numbers
// that differ only in their labels are added.
type metrics map[string]float64

func (c *client) metrics(ctx context.Context) (metrics, error) {
	status, page, err := c.get(ctx, "/metrics")
	if err != nil || status != 200 {
		return nil, fmt.Errorf("/metrics: status %d, %w", status, err)
	}
	m := metrics{}
	for line := range strings.Lines(string(page)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "#") || !ok {
			continue
		}
		if i := strings.LastIndexByte(line, '}'); i >= 0 {
			value = strings.TrimSpace(line[i+1:])
		}
		name, _, _ = strings.Cut(name, "{")
		x, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return nil, fmt.Errorf("/metrics: %q: %w", line, err)
		}
		m[strings.TrimPrefix(name, "vllm:")] += x
	}
	for _, name := range []string{"num_requests_running", "go_goroutines"} {
		if _, ok := m[name]; !ok {
			return nil, fmt.Errorf("/metrics: no %s", name)
		}
	}
	return m, nil
}

// less returns what was added since before.
func (m metrics) less(before metrics) metrics {
	d := metrics{}
	for name, x := range m {
		d[name] = x - before[name]
	}
	return d
}

// settled waits until no text is generated or queued and at most `goroutines` goroutines run, and
// returns the metrics of that time. After ten seconds it returns the current metrics.
func (s *server) settled(ctx context.Context, goroutines float64) (metrics, error) {
	for i := 0; ; i++ {
		s.http.CloseIdleConnections()
		m, err := s.metrics(ctx)
		if err != nil || i == 100 || m["num_requests_running"]+m["num_requests_waiting"] == 0 &&
			m["go_goroutines"] <= goroutines {
			return m, err
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
