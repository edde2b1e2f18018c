package bench

// Starting up: a process from exec to its first token.

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// StartUp runs the program with args several times, each a process of its own, and returns the
// median time from exec to the first byte of its standard output, in milliseconds. One run before
// the first is not counted: it brings the file into the page cache.
func StartUp(ctx context.Context, program string, args ...string) (float64, error) {
	times := make([]float64, 0, 7)
	for i := range cap(times) + 1 {
		took, err := firstByte(ctx, program, args)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			times = append(times, took.Seconds()*1e3)
		}
	}
	return median(times), nil
}

func firstByte(ctx context.Context, program string, args []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(out, make([]byte, 1))
	took := time.Since(start)
	io.Copy(io.Discard, out)
	if wait := cmd.Wait(); wait != nil || err != nil {
		return 0, fmt.Errorf("starting %s %s: %w: %s", program, strings.Join(args, " "), wait,
			strings.TrimSpace(stderr.String()))
	}
	return took, nil
}
