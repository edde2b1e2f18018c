//go:build unix

package main

// Runs command lines with one build of gpt.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"picogpt/weights/demo"
)

// hang is how long a line may take before it is killed. It measures nothing.
const hang = 3 * time.Minute

// A runner runs lines with one build, each from the same beginning.
type runner struct {
	binary string
	folder string // tools/gpt, tools/interrupt and start, the files of a line's folder
}

func newRunner(binary string) (*runner, error) {
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "record-")
	if err != nil {
		return nil, err
	}
	r := &runner{binary, folder}
	if err := r.prepare(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *runner) close() { os.RemoveAll(r.folder) }

// prepare makes the folder: the tools, and the files that every line finds.
func (r *runner) prepare() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	tools := filepath.Join(r.folder, "tools")
	files, err := fs.Sub(testdata, "testdata/files")
	if err != nil {
		return err
	}
	start := filepath.Join(r.folder, "start")
	return errors.Join(
		os.MkdirAll(tools, 0o755),
		os.Symlink(r.binary, filepath.Join(tools, "gpt")),
		os.Symlink(self, filepath.Join(tools, interruptName)),
		os.CopyFS(start, files),
		os.CopyFS(filepath.Join(start, "demo"), demo.FS()),
	)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644)
}

// answers runs the items: lines, as many in parallel as there are processors, and then the servers.
func (r *runner) answers(items []item) ([]answer, error) {
	out := make([]answer, len(items))
	errs := make([]error, len(items))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				out[i], errs[i] = r.line(i, items[i])
			}
		})
	}
	for i, it := range items {
		if !it.isRequest() {
			next <- i
		}
	}
	close(next)
	workers.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, r.requests(items, out)
}

// line runs one command line in a folder of its own.
func (r *runner) line(i int, it item) (answer, error) {
	folder := filepath.Join(r.folder, strconv.Itoa(i))
	before, err := r.begin(folder)
	if err != nil {
		return answer{}, err
	}
	defer os.RemoveAll(folder)
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", it.text)
	cmd.Dir = folder
	cmd.Env = r.environment(folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return answer{}, fmt.Errorf("%s: %w", it.text, err)
	}
	parts := map[string]string{
		"stdout": settle(stdout.String(), folder),
		"stderr": settle(stderr.String(), folder),
		"status": strconv.Itoa(cmd.ProcessState.ExitCode()),
	}
	if err := changed(folder, before, parts); err != nil {
		return answer{}, err
	}
	return answer{it.name(), parts}, nil
}

// environment returns the environment of a line, the same for every user.
func (r *runner) environment(folder string) []string {
	return []string{"PATH=" + filepath.Join(r.folder, "tools") + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + folder, "TERM=dumb", "COLUMNS=80", "LANG=C.UTF-8", "TMPDIR=" + r.folder}
}

// begin makes the folder of a line, and returns the names of its files. They are links to the files
// of start, which no line may write to.
func (r *runner) begin(folder string) (map[string]bool, error) {
	start := filepath.Join(r.folder, "start")
	names := map[string]bool{}
	err := filepath.WalkDir(start, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, start)
		names[name] = true
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(folder, name), 0o755)
		}
		if strings.HasSuffix(name, ".safetensors") {
			return os.Link(path, filepath.Join(folder, name))
		}
		return copyFile(path, filepath.Join(folder, name))
	})
	return names, err
}

// changed adds the files that a line left: small new ones whole, others by their checksums.
func changed(folder string, before map[string]bool, parts map[string]string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimPrefix(path, folder)
		if before[name] && strings.HasSuffix(name, ".safetensors") {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := settle(string(content), folder)
		if before[name] || len(text) > 1000 {
			text = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(text)))
		}
		parts["file "+name] = text
		return nil
	})
}

// interruptName is the tool of lines that end by a signal: interrupt SIGNAL BYTES COMMAND... sends
// the signal after so many bytes of stdout. It prints these bytes and drops the rest.
const interruptName = "interrupt"

func interrupt(args []string) int {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", interruptName, err)
		return 125
	}
	if len(args) < 3 {
		return fail(errors.New("want SIGNAL BYTES COMMAND"))
	}
	signal, known := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}[args[0]]
	count, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || !known {
		return fail(fmt.Errorf("want INT or TERM and a number, found %s %s", args[0], args[1]))
	}
	cmd := exec.Command(args[2], args[3:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fail(err)
	}
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	if _, err := io.CopyN(os.Stdout, stdout, count); err == nil {
		cmd.Process.Signal(signal)
	}
	io.Copy(io.Discard, stdout)
	cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
