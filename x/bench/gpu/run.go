package main

// Running the parts one after the other, each within its time.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// grace is the time that a process has to end after it was told to.
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
// it are over. A part that fails is no error. If the result can no longer be written to its file,
// for example because the disk is full, it goes to stdout.
func (r *runner) run(ctx context.Context, parts []part) error {
	start := time.Now()
	end := start
	r.result.Parts = []done{} // no null
	// so that an error shows now and not in nine minutes
	if err := r.result.write(r.to); err != nil {
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

// part runs a part, at most until end.
func (r *runner) part(ctx context.Context, p *part, end time.Time) done {
	started := time.Now()
	d := done{Name: p.name, About: p.about, Limit: seconds(end.Sub(started))}
	if d.Why = r.skipped(p); d.Why != "" {
		d.Status = "skipped"
		return d
	}
	d.Command = withDevice(p.args, r.result.Device)
	own, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	output, err := r.exec(own, p, r.result.Device)
	d.Seconds = seconds(time.Since(started))
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

// skipped returns why a part is not run, or "".
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

// devices returns the devices of the probe, without the processor's own kernels.
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

// choose chooses the first device that has passed the probe, unless one is named. If none has
// passed it chooses the first, whose tests then show the error.
func (r *runner) choose() {
	all := r.devices()
	for _, passed := range []bool{true, false} {
		for _, d := range all {
			if r.result.Device == "" && (d.Probe == "passed" || !passed) {
				r.result.Device = d.Device
			}
		}
	}
	if d := r.named(); d.Device != "" { // all parts understand a label
		r.result.Device, r.result.Name = d.Device, d.Name
	}
}

// named returns the device that runs the parts, as described by the probe.
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

// processes runs processes in a kit's folder.
type processes struct {
	dir, work string
	grace     time.Duration
}

// run runs the process of a part and returns its output, also after an error. The output goes to a
// file, so that run does not wait for a subprocess that keeps running. It removes the files that
// the process leaves in its temporary directory.
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
		// each process would compile the kernels again if the home directory is not writable
		"CUDA_CACHE_PATH="+filepath.Join(p.work, "cuda"), "CUDA_CACHE_MAXSIZE=1073741824",
		"TMPDIR="+temp, "PYTHONUNBUFFERED=1")
	if cache, err := os.UserCacheDir(); err != nil || os.MkdirAll(cache, 0o700) != nil {
		c.Env = append(c.Env, "XDG_CACHE_HOME="+p.work) // without it, pocl has no device
	}
	c.SysProcAttr = endsWithParent
	c.Stdout, c.Stderr = to, to
	err = p.wait(ctx, c, args[0])
	const skip = 77 // the status of a test that was not run, as in GNU's Automake
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

// wait runs a process. When ctx ends it tells the process to end, and later kills it: a test then
// prints its goroutines. A process that a driver keeps from ending is left running.
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

// withDevice replaces deviceName by the device's name.
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

// The parts of a run, in order.

// A part is one process.
type part struct {
	name, about string
	share       time.Duration // its time, besides the time that earlier parts have left over
	dir         string        // in the kit, where it runs
	args        []string      // deviceName stands for the device's name
	anywhere    bool          // runs without a device too
	driver      string        // only for devices of this driver; "" means any
}

const (
	deviceName = "DEVICE"
	limit      = 9 * time.Minute // of all parts, with the time to end the last one
	least      = 10 * time.Second
)

// manyCores is how many cores a machine must have for its processor to be measured too, with each
// number of workers: how the engine scales is not known otherwise.
const manyCores = 16

var workers = [...]int{1, 2, 4, 8, 16}

// parts returns the parts of a kit in a folder, for a machine of so many cores. They write large
// files to work.
func parts(short bool, cores int, dir, work string) []part {
	gpt := filepath.Join(dir, "gpt")
	test := func(of string, args ...string) []string {
		name := filepath.Join(dir, of, filepath.Base(of)+".test")
		return append([]string{name, "-test.v"}, args...)
	}
	table := func(args ...string) []string {
		return append([]string{gpt, "bench", "table", "--json", "--device", deviceName}, args...)
	}
	python := []string{"python3", filepath.Join(dir, "peers.py")}
	s := time.Second
	all := []part{
		{name: "machine", about: "what it is", share: 10 * s, anywhere: true,
			args: []string{"sh", filepath.Join(dir, "machine.sh")}},
		{name: "probe", about: "the devices, each compared with the processor", share: 50 * s,
			anywhere: true, args: []string{gpt, "devices", "--json"}},
		{name: "cuda", about: "the driver, called directly", share: 30 * s, dir: "model/gpu/cuda",
			driver: "cuda", args: test("model/gpu/cuda", "-test.run=OnARealDevice")},
		{name: "opencl", about: "the driver, called directly", share: 20 * s, dir: "model/gpu/opencl",
			driver: "opencl", args: test("model/gpu/opencl", "-test.run=ADevice|ADriver")},
		{name: "kernels", about: "each kernel, bit for bit", share: 60 * s, dir: "model/gpu",
			args: test("model/gpu", "-test.skip=Wide|FailsAtAnyCall")},
		{name: "models", about: "models in every number format and cache, bit for bit",
			share: 84 * s, dir: "model", args: test("model", "-test.run=ADevice|AModel")},
		{name: "wide", about: "the widths of 124M and 1.5B, bit for bit", share: 40 * s, dir: "model/gpu",
			args: test("model/gpu", "-test.run=Wide")},
		{name: "bench 124M", about: "1, 8 and 64 texts, and a prompt", share: 50 * s,
			args: table("--shapes=gpt2", "--dtypes=f16,q8,f32")},
		{name: "bench 1.5B", about: "1, 8 and 64 texts, and a prompt", share: 90 * s,
			args: table("--shapes=gpt2-xl", "--dtypes=f16,q8,f32")},
		{name: "torch", about: "the same in PyTorch", share: 40 * s, anywhere: true,
			args: append(python, "torch")},
		{name: "onnxruntime", about: "the same in ONNX Runtime", share: 10 * s, anywhere: true,
			args: append(python, "onnxruntime")},
	}
	for _, n := range workers {
		if cores >= manyCores {
			all = append(all, part{name: fmt.Sprintf("threads %d", n), share: least, anywhere: true,
				about: "124M in q8 on the processor", args: []string{gpt, "bench", "--json",
					"--device=cpu", "--random=gpt2", "--dtype=q8", "--rounds=1",
					"--threads=" + strconv.Itoa(n)}})
		}
	}
	if !short {
		return all
	}
	small := filepath.Join(work, "small")
	for i := range all {
		switch p := &all[i]; p.name {
		case "threads 1", "threads 2", "threads 4", "threads 8", "threads 16":
			p.about = "the demo checkpoint in its place"
			p.args = append(p.args[:4:4], "--model="+small, "--prompt-tokens=32", "--gen-tokens=4",
				"--rounds=1", p.args[len(p.args)-1])
		case "opencl":
			p.args = test("model/gpu/opencl", "-test.run=ADevicePasses|ADriver")
		case "kernels":
			p.args = test("model/gpu", "-test.run=Probe|TheBestOnADevice|Replayed")
		case "models":
			p.args = test("model", "-test.run=ModelsShareADevice|BestOfRows|SameHidden")
		case "wide":
			p.args = test("model/gpu", "-test.run=WideRecordings")
		case "bench 124M":
			p.about = "the demo checkpoint in its place"
			p.args = table("--model="+small, "--dtypes=f16,q8", "--sessions=1,8", "--gen-tokens=4",
				"--prompt-tokens=32", "--rounds=1")
		case "bench 1.5B":
			p.about = "not in the short form"
			p.args = nil
		case "torch", "onnxruntime":
			p.args = append(p.args, "--small")
		}
	}
	demo := part{name: "demo", about: "a small checkpoint", share: limit - 2*grace, anywhere: true,
		args: []string{gpt, "quantize", "demo", small, "--dtype=f32"}}
	for i := range all { // on a slow processor each of them may take all of the time
		all[i].share = least
		demo.share -= least
	}
	return append([]part{demo}, all...)
}
