package main

// Parts, one after the other, each within its time.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// grace is what a process has to end by itself once it is told to.
const grace = 3 * time.Second

// A runner runs parts.
type runner struct {
	to     string // the file of the result
	stdout io.Writer
	log    io.Writer
	exec   func(ctx context.Context, p *part, device string) ([]byte, error)
	result result
}

// run runs parts until ctx ends. Each must have ended when its share and those of the parts before
// it are over. A part that fails is no error. Where the result cannot be written to its file any
// more, as on a full disk, it goes to stdout.
func (r *runner) run(ctx context.Context, parts []part) error {
	start := time.Now()
	end := start
	r.result.Parts = []done{}                    // no null
	if err := r.result.write(r.to); err != nil { // now rather than in nine minutes
		return err
	}
	for i := range parts {
		end = end.Add(parts[i].share)
		r.result.Parts = append(r.result.Parts, r.part(ctx, &parts[i], end))
		last := &r.result.Parts[i]
		if last.Name == "probe" {
			r.choose()
		}
		r.result.Seconds = seconds(time.Since(start))
		r.result.Done = i == len(parts)-1
		unwritten := r.result.write(r.to)
		fmt.Fprintf(r.log, "%6.1f s  %-12s %-8s %s\n", r.result.Seconds, last.Name, last.Status,
			last.Why)
		if unwritten != nil && (r.result.Done || ctx.Err() != nil) {
			text, err := r.result.text()
			if err == nil {
				_, err = r.stdout.Write(text)
			}
			return errors.Join(fmt.Errorf("the result is on stdout: %w", unwritten), err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("stopped; %s has what was found until then", r.to)
		}
	}
	return nil
}

// part runs a part until some time.
func (r *runner) part(ctx context.Context, p *part, end time.Time) done {
	begun := time.Now()
	d := done{Name: p.name, About: p.about, Limit: seconds(end.Sub(begun))}
	if d.Why = r.skipped(p); d.Why != "" {
		d.Status = "skipped"
		return d
	}
	d.Command = withDevice(p.args, r.result.Device)
	own, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	output, err := r.exec(own, p, r.result.Device)
	d.Seconds = seconds(time.Since(begun))
	d.read(output)
	switch {
	case err == nil:
		d.Status = "ok"
		return d
	case errors.Is(err, errSkip):
		d.Status = "skipped"
	case ctx.Err() != nil:
		d.Status = "stopped"
	case own.Err() != nil:
		d.Status = "late"
	default:
		d.Status = "failed"
	}
	d.Why = oneLine([]byte(err.Error()))
	return d
}

// skipped says why a part is not run, or nothing.
func (r *runner) skipped(p *part) string {
	switch device := r.result.Device; {
	case len(p.args) == 0:
		return p.about
	case device == "" && !p.anywhere:
		return "there is no device"
	case p.driver != "" && !strings.HasPrefix(r.driver(), p.driver):
		return "the device is of another driver"
	}
	return ""
}

// A device is a row of gpt devices --json.
type device struct {
	Device   string `json:"device"` // as cuda:0
	Name     string `json:"name"`
	Platform string `json:"platform"`
	Probe    string `json:"probe"`
}

// devices returns what the probe has found, but for the processor's own kernels.
func (r *runner) devices() (all []device) {
	for _, p := range r.result.Parts {
		for _, row := range p.Rows {
			var d device
			if p.Name == "probe" && json.Unmarshal(row, &d) == nil && d.Device != "cpu" {
				all = append(all, d)
			}
		}
	}
	return all
}

// choose takes the first device that passed the probe, if none is named. Without one that passed it
// takes the first, whose tests then say what is wrong.
func (r *runner) choose() {
	all := r.devices()
	for _, passed := range []bool{true, false} {
		for _, d := range all {
			if r.result.Device == "" && (d.Probe == "passed" || !passed) {
				r.result.Device = d.Device
			}
		}
	}
	if d := r.named(); d.Device != "" { // a label is what all understand
		r.result.Device, r.result.Name = d.Device, d.Name
	}
}

// named returns the device that runs the parts, as far as the probe tells.
func (r *runner) named() device {
	name := strings.ToLower(r.result.Device)
	for _, d := range r.devices() {
		label := strings.ToLower(d.Device)
		if name == label || name != "" && (strings.HasPrefix(label, name+":") ||
			strings.Contains(strings.ToLower(d.Name+" "+d.Platform), name)) {
			return d
		}
	}
	return device{}
}

func (r *runner) driver() string { return r.named().Device }

// processes run in a kit's folder.
type processes struct {
	dir, work string
	grace     time.Duration
}

// run runs the process of a part. It returns what it has written, also where there is an error: to
// a file, which nobody waits for where a process of its own lives on. What the process leaves in
// its temporary directory is removed.
func (p processes) run(ctx context.Context, of *part, device string) ([]byte, error) {
	temp, err := os.MkdirTemp(p.work, "part-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	to, err := os.CreateTemp(p.work, "output-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(to.Name())
	defer to.Close()
	args := withDevice(of.args, device)
	c := exec.Command(args[0], args[1:]...)
	c.Dir = filepath.Join(p.dir, of.dir)
	c.Env = append(os.Environ(), "GPT_DEVICE="+device,
		// each process would compile the kernels anew where the home directory is not writable
		"CUDA_CACHE_PATH="+filepath.Join(p.work, "cuda"), "CUDA_CACHE_MAXSIZE=1073741824",
		"TMPDIR="+temp, "PYTHONUNBUFFERED=1")
	if cache, err := os.UserCacheDir(); err != nil || os.MkdirAll(cache, 0o700) != nil {
		c.Env = append(c.Env, "XDG_CACHE_HOME="+p.work) // without one pocl has no device
	}
	c.SysProcAttr = endsWithParent
	c.Stdout, c.Stderr = to, to
	err = p.wait(ctx, c, args[0])
	const skip = 77 // the status of what finds nothing to do, as GNU's Automake has it
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%s %w", args[0], errSkip)
	case errors.As(err, &exit) && exit.ExitCode() == skip:
		err = fmt.Errorf("what it needs %w", errSkip)
	case ctx.Err() != nil && err != nil:
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	output, e := os.ReadFile(to.Name())
	return output, errors.Join(err, e)
}

// wait runs a process. When ctx ends it is told to end, and after a while killed: a test then says
// where its goroutines are. One that a driver does not let end is left alone.
func (p processes) wait(ctx context.Context, c *exec.Cmd, name string) error {
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	told := os.Interrupt
	if filepath.Ext(name) == ".test" {
		told = syscall.SIGQUIT
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	for _, s := range []os.Signal{told, os.Kill} {
		_ = c.Process.Signal(s)
		select {
		case err := <-ended:
			return err
		case <-time.After(p.grace):
		}
	}
	return errors.New("the process does not end, although it was killed")
}

var errSkip = errors.New("is not installed")

// withDevice puts the device's name where it belongs.
func withDevice(args []string, device string) (all []string) {
	for _, a := range args {
		if a == deviceName {
			a = device
		}
		all = append(all, a)
	}
	return all
}

func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1e3 }
