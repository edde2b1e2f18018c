package main

// How scripts run gpt: usually in a process that runs one command line after the other, because a
// start takes longer than most of them do; with the build tag long in a process of its own.

import (
	"bytes"
	"encoding/gob"
	"errors"
	"io"
	"os"
	"os/exec"

	"picogpt/dev/cases"
)

// A job is a run of gpt.
type job struct {
	Args, Env []string
	Dir       string
	Stdin     []byte
}

// A result is what a job gave.
type result struct {
	Stdout, Stderr []byte
	Status         int
}

// start runs the job in a process of its own.
func (j job) start() (r result, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("gpt", j.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin = j.Dir, j.Env, bytes.NewReader(j.Stdin)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = nil
	}
	return result{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}, err
}

// workerName is what a process is called that runs jobs.
const workerName = "gpt-worker"

// A worker is such a process. Its zero value is not started yet.
type worker struct {
	cmd     *exec.Cmd
	jobs    *gob.Encoder
	results *gob.Decoder
	pipe    io.Closer    // of the jobs
	stderr  bytes.Buffer // what it says when it panics
}

// do runs a job.
func (w *worker) do(j job) (r result, err error) {
	if cases.Long || !hasWorkers {
		return j.start()
	}
	if w.cmd == nil {
		if err := w.start(); err != nil {
			return r, err
		}
	}
	if err = w.jobs.Encode(j); err == nil {
		err = w.results.Decode(&r)
	}
	if err != nil {
		w.close()
		err = errors.Join(err, errors.New(w.stderr.String()))
	}
	return r, err
}

func (w *worker) start() error {
	path, err := exec.LookPath("gpt")
	if err != nil {
		return err
	}
	w.cmd = &exec.Cmd{Path: path, Args: []string{workerName}, Stderr: &w.stderr}
	// one thread for each of the scripts that run side by side
	w.cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=200MiB")
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	back, results, err := os.Pipe()
	if err != nil {
		return err
	}
	w.cmd.ExtraFiles = []*os.File{in, results}
	err = w.cmd.Start()
	in.Close()
	results.Close()
	w.jobs, w.results, w.pipe = gob.NewEncoder(out), gob.NewDecoder(back), out
	return err
}

// close ends the process.
func (w *worker) close() {
	if w.cmd != nil {
		w.pipe.Close()
		w.cmd.Wait()
		w.cmd = nil
	}
}
