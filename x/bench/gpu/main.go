// Command kit tests picogpt on the GPU of a machine that has neither Go nor a network, and compares
// the measurements with SPEED.md's predictions. `make gpu-kit` packs it with the programs that it
// runs.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const help = `kit: try picogpt on a GPU.

Usage:

  ./run.sh [RESULT.json]
  ./kit compare RESULT.json...

The first runs, in at most nine minutes: what the machine is; the probe of its devices; the tests of
the driver, of each kernel, of models in every number format, and of wide shapes; gpt bench of 124M
and 1.5B with 1, 8 and 64 texts; the same work in PyTorch and ONNX Runtime, where python3 has them;
and gpt bench on 1, 2, 4, 8 and 16 cores of a processor that has 16. After each part it writes all
that is known to RESULT.json (gpu.json where none is named), so that little is lost if it is stopped.
A part that fails or takes too long does not stop the next.

GPT_DEVICE names the device, as gpt --device does; without it the first GPU is taken. KIT_SHORT=1
runs a small part of everything, in less than a minute on a processor.

The second prints a table of results beside what SPEED.md predicts for an H200.
`

func main() {
	flag.Usage = func() { fmt.Fprint(os.Stderr, help) }
	flag.Parse()
	if err := command(flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "kit:", err)
		os.Exit(1)
	}
}

func command(args []string, stdout io.Writer) error {
	switch {
	case len(args) > 1 && strings.HasPrefix(args[1], "-"): // run.sh writes run before it
		flag.Usage()
		return nil
	case len(args) > 1 && args[0] == "compare":
		return compare(stdout, args[1:])
	case len(args) == 1 && args[0] == "run":
		return runHere("gpu.json")
	case len(args) == 2 && args[0] == "run":
		return runHere(args[1])
	}
	return fmt.Errorf("%q: want run [RESULT.json] or compare RESULT.json...; --help tells more", args)
}

// runHere runs the parts in the folder of this program.
func runHere(to string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir := filepath.Dir(self)
	work, err := os.MkdirTemp("", "gpu-kit-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP) // also if a connection is lost
	defer stop()
	version, _ := os.ReadFile(filepath.Join(dir, "VERSION"))
	short := os.Getenv("KIT_SHORT") != ""
	r := runner{
		to: to, stdout: os.Stdout, log: os.Stderr, exec: processes{dir: dir, work: work, grace: grace}.run,
		result: result{Version: oneLine(version), Date: time.Now().UTC().Format(time.RFC3339),
			Device: os.Getenv("GPT_DEVICE"), Short: short},
	}
	return r.run(ctx, parts(short, runtime.NumCPU(), dir, work))
}
