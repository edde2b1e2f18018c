package main

// The parts of a run, in order.

import (
	"fmt"
	"path/filepath"
	"strconv"
	"time"
)

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
