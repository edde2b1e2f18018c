package bench

// Processes: from exec to the first token, and the memory that one takes.

// Starting up: a process from exec to its first token.

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"picogpt/model"
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

// MeasureStart measures the first token of processes of a program, with a prompt of ids and with
// one of text, and these arguments beside.
func (r *Result) MeasureStart(
	ctx context.Context, c model.Config, program string, args []string,
	logf func(format string, args ...any),
) (err error) {
	ids := make([]string, min(5, c.Positions))
	for i := range ids {
		ids[i] = strconv.Itoa((i + 1) % c.VocabSize)
	}
	withIDs := append(slices.Clone(args), "--tokens="+strings.Join(ids, ","))
	if r.Start.IDsMS, err = StartUp(ctx, program, withIDs...); err != nil {
		return err
	}
	withText := append(args, "--overflow=truncate", "Once upon a time")
	if r.Start.TextMS, err = StartUp(ctx, program, withText...); err != nil {
		logf("no text start-up: %v", err) // a checkpoint without a tokenizer
		r.Start.TextMS = 0
	}
	return ctx.Err()
}

// resident returns the process's resident memory in 10⁶ bytes: its own, and pages of mapped files.
// Where the system does not tell, it is what Go took from the system, and 0.
func resident() (own, mapped float64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Sys-m.HeapReleased) / 1e6, 0
	}
	mb := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, ":")
		kb, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		mb[name] = kb * 1024 / 1e6
	}
	return mb["RssAnon"] + mb["RssShmem"], mb["RssFile"]
}
