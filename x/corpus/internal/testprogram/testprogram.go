// Package testprogram starts programs for tests: Beam's job server Prism, and pools of workers, in
// processes of their own.
package testprogram

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

// ServePrism serves a Prism until stdin ends. It writes its endpoint to its log.
func ServePrism() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if _, err := prism.CreateJobServer(context.Background(), prism.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	io.Copy(io.Discard, os.Stdin) // until the test ends, in any way
}

// A Program is a process of a test. It ends with the test.
type Program struct {
	Cmd     *exec.Cmd
	Address string
	Lines   chan string // the rest of its output
}

// Prism starts a command that serves a Prism.
func Prism(t *testing.T, cmd *exec.Cmd) *Program {
	t.Helper()
	return start(t, cmd, func(line string) string {
		var entry struct{ Endpoint string }
		json.Unmarshal([]byte(line), &entry)
		return entry.Endpoint
	})
}

// Pool starts a command that is a pool.
func Pool(t *testing.T, cmd *exec.Cmd) *Program {
	t.Helper()
	return start(t, cmd, func(line string) string {
		address, _ := strings.CutPrefix(line, "corpus: pool: listening on ")
		return address
	})
}

// start starts a command and waits for the line with its address.
func start(t *testing.T, cmd *exec.Cmd, address func(line string) string) *Program {
	t.Helper()
	p := &Program{Cmd: cmd, Lines: make(chan string, 10000)}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for p.Address == "" {
		if !lines.Scan() {
			t.Fatalf("%q says no address", cmd.Args)
		}
		p.Address = address(lines.Text())
	}
	go func() {
		defer close(p.Lines)
		for lines.Scan() {
			select {
			case p.Lines <- lines.Text():
			default:
			}
		}
	}()
	return p
}
