//go:build linux

package main

// Runs whose work is done in other processes: they leave what a run in one process leaves.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"picogpt/dev/watchdog"
	"picogpt/x/corpus/internal/testprogram"
)

// An elsewhere is a way to get workers, as flags of Beam, and whose children they are.
type elsewhere struct {
	name   string
	flags  []string
	parent *testprogram.Program
	server *testprogram.Program
}

// elsewheres are a Prism in a process of its own, and its ways to get workers in theirs.
func elsewheres(t *testing.T) []elsewhere {
	t.Helper()
	server := testprogram.Prism(t, exec.Command("corpus-prism"))
	pool := testprogram.Pool(t, exec.Command("corpus", "pool", "--address", "localhost:0"))
	self, err := exec.LookPath("corpus")
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--runner", "prism", "--endpoint", server.Address, "--environment_type"}
	return []elsewhere{
		{"PROCESS", append(flags[:len(flags):len(flags)], "PROCESS", "--environment_config",
			fmt.Sprintf(`{"command": %q}`, self)), server, server},
		{"EXTERNAL", append(flags[:len(flags):len(flags)], "EXTERNAL", "--environment_config",
			pool.Address), pool, server},
	}
}

func TestWorkersInOtherProcesses(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	input := forms[0].shards(t, makeDocuments(60), 7)
	args := []string{"--input", input, "-m", model, "--piece-bytes", "1KiB"}
	for _, command := range [][]string{{"score"}, {"filter", "--keep", "0.1..0.7"},
		{"generate", "--max-tokens", "5", "--form", "lines", "--overflow",
			"truncate"}} {
		whole := filepath.Join(dir, command[0])
		command = append(command, args...)
		succeed(t, append(command, "-o", whole)...)
		for _, e := range elsewheres(t) {
			out := filepath.Join(dir, command[0]+e.name)
			succeed(t, append(append(command, "-o", out), e.flags...)...)
			sameFolders(t, out, whole)
		}
	}
}

// TestSharesOfSevenProcesses: processes that divide the pieces among them, side by side.
func TestSharesOfSevenProcesses(t *testing.T) {
	model, dir := byteModel(t), t.TempDir()
	input := forms[0].shards(t, makeDocuments(60), 3)
	args := []string{"filter", "--keep", "10%..1", "--input", input, "-m", model, "--piece-bytes", "1KiB"}
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	succeed(t, append(args, "-o", whole)...)
	args = append(args, "-o", out)
	var all sync.WaitGroup
	for i := range 7 {
		all.Go(func() {
			cmd := exec.Command("corpus", append(args[:len(args):len(args)], "--share",
				fmt.Sprintf("%d/7", i+1))...)
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("share %d: %v: %s", i+1, err, said)
			}
		})
	}
	all.Wait()
	if m, _ := filepath.Glob(filepath.Join(out, "manifest.json")); len(m) > 0 {
		t.Error("shares have no manifest")
	}
	succeed(t, append(args, "--resume")...)
	sameFolders(t, out, whole)
}

// TestAWorkerElsewhereIsKilled: the run ends soon and says so, and --resume completes it.
func TestAWorkerElsewhereIsKilled(t *testing.T) {
	dir, args := t.TempDir(), slowly(t)
	whole := filepath.Join(dir, "whole")
	succeed(t, append(args, "-o", whole)...)
	for _, e := range elsewheres(t) {
		t.Run(e.name, func(t *testing.T) {
			out := filepath.Join(dir, e.name)
			args := append(args[:len(args):len(args)], "-o", out)
			var stderr strings.Builder
			cmd := exec.Command("corpus", append(args, e.flags...)...)
			cmd.Stderr = &stderr
			start(t, cmd, out)
			kill(t, e.parent.Cmd.Process.Pid)
			stop := watchdog.Start(t, "the run after its worker was killed")
			cmd.Wait()
			stop()
			t.Log(&stderr)
			said := stderr.String()
			if cmd.ProcessState.ExitCode() != 1 || strings.Count(said, "\n") != 1 ||
				!strings.HasPrefix(said, "corpus: ") || !strings.Contains(said, "worker") ||
				!strings.Contains(said, "--resume") {
				t.Errorf("%v, %q; want status 1 and one line", cmd.ProcessState, said)
			}
			succeed(t, append(args, "--resume")...)
			sameFolders(t, out, whole)
		})
	}
}

// kill kills the worker that is a child of a process.
func kill(t *testing.T, parent int) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range processes {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		pid, after, _ := strings.Cut(string(stat), " ")
		_, after, _ = strings.Cut(after, ") ") // of its name
		if fields := strings.Fields(after); fields[0] == "Z" || fields[1] != strconv.Itoa(parent) {
			continue
		}
		n, err := strconv.Atoi(pid)
		if err == nil {
			err = syscall.Kill(n, syscall.SIGKILL)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("there is no worker")
}

// TestAPrismIsKilled: the run ends with a line that names --resume, which completes it.
func TestAPrismIsKilled(t *testing.T) {
	dir, args := t.TempDir(), slowly(t)
	whole, out := filepath.Join(dir, "whole"), filepath.Join(dir, "out")
	succeed(t, append(args, "-o", whole)...)
	args = append(args, "-o", out)
	e := elsewheres(t)[1]
	var stderr strings.Builder
	cmd := exec.Command("corpus", append(args[:len(args):len(args)], e.flags...)...)
	cmd.Stderr = &stderr
	start(t, cmd, out)
	e.server.Cmd.Process.Kill()
	cmd.Wait()
	said := stderr.String()
	if cmd.ProcessState.ExitCode() != 1 || strings.Count(said, "\n") != 1 ||
		!strings.HasPrefix(said, "corpus: ") || !strings.HasSuffix(said, "; --resume continues the run\n") {
		t.Errorf("%v, %q; want status 1 and a line that ends with --resume", cmd.ProcessState, said)
	}
	succeed(t, append(args, "--resume")...)
	sameFolders(t, out, whole)
}
