//go:build unix

package main

// Requests to gpt serve.

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// requests starts each server that items name, and sends it their requests, one after the other.
func (r *runner) requests(items []item, out []answer) error {
	var servers []string
	for _, it := range items {
		if it.isRequest() && !slices.Contains(servers, it.server) {
			servers = append(servers, it.server)
		}
	}
	for _, server := range servers {
		if err := r.server(server, items, out); err != nil {
			return fmt.Errorf("%s: %w", server, err)
		}
	}
	return nil
}

// listening matches the line in which gpt serve prints its address.
var listening = regexp.MustCompile(`http://127\.0\.0\.1:\d+`)

// server answers the requests of one server.
func (r *runner) server(arguments string, items []item, out []answer) error {
	folder := filepath.Join(r.folder, "server")
	if _, err := r.begin(folder); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	cmd := exec.Command("sh", "-c", "exec gpt "+arguments+" --addr 127.0.0.1:0")
	cmd.Dir = folder
	cmd.Env = r.environment(folder)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(syscall.SIGTERM)
	lines := bufio.NewReader(stderr)
	address, said := "", ""
	for address == "" {
		line, err := lines.ReadString('\n')
		said += line
		if err != nil {
			return fmt.Errorf("no address: %s", said)
		}
		address = listening.FindString(line)
	}
	go io.Copy(io.Discard, lines)
	for i, it := range items {
		if it.server != arguments {
			continue
		}
		parts, err := send(address, it.text)
		if err != nil {
			return fmt.Errorf("%s: %w", it.text, err)
		}
		out[i] = answer{it.name(), parts}
	}
	return nil
}

// requestLine is METHOD PATH [HEADER: VALUE]... BODY. A body REPEAT(N,TEXT) stands for many texts.
var (
	requestLine = regexp.MustCompile(`^([A-Z]+) (\S+)((?: \[[^]]*\])*)(?: (.*))?$`)
	header      = regexp.MustCompile(`\[([^:\]]+): ([^]]*)\]`)
	repeat      = regexp.MustCompile(`REPEAT\((\d+),([^)]*)\)`)
)

// comparedHeaders are the headers of an answer that clients read.
var comparedHeaders = []string{"Content-Type", "X-Ignored-Fields", "X-Schema-Notes", "X-Seed",
	"Retry-After", "Allow", "Www-Authenticate", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Location",
	"Content-Security-Policy", "Cache-Control"}

// send returns the parts of one answer.
func send(address, line string) (map[string]string, error) {
	m := requestLine.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("want METHOD PATH [HEADER: VALUE] BODY")
	}
	body := repeat.ReplaceAllStringFunc(m[4], func(s string) string {
		p := repeat.FindStringSubmatch(s)
		n, _ := strconv.Atoi(p[1])
		return strings.Repeat(p[2], n)
	})
	request, err := http.NewRequest(m[1], address+m[2], strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for _, h := range header.FindAllStringSubmatch(m[3], -1) {
		if h[1] == "Host" {
			request.Host = h[2]
		}
		request.Header.Set(h[1], h[2])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	parts := map[string]string{
		"status": strconv.Itoa(response.StatusCode),
		"body":   settle(string(content), address),
	}
	if strings.HasPrefix(m[2], "/metrics") {
		parts["body"] = metricNames(string(content))
	}
	for _, name := range comparedHeaders {
		if v := response.Header.Values(name); len(v) > 0 && (name != "X-Seed" ||
			strings.Contains(body, `"seed"`)) {
			parts["header "+name] = strings.Join(v, ", ")
		}
	}
	return parts, nil
}

// metricNames removes the numbers of /metrics.
func metricNames(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			line = name + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
