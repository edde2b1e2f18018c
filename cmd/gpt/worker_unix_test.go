//go:build unix

package main

import (
	"encoding/gob"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const hasWorkers = true

// work is the main function of a worker: its jobs come through descriptor 3, their results go to 4.
func work() {
	in, out := gob.NewDecoder(os.NewFile(3, "jobs")), gob.NewEncoder(os.NewFile(4, "results"))
	if fd, err := unix.Dup(2); err == nil {
		debug.SetCrashOutput(os.NewFile(uintptr(fd), "stderr"), debug.CrashOptions{})
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	for err == nil {
		var j job
		if err = in.Decode(&j); err == nil {
			var r result
			if r, err = j.here(null); err == nil {
				err = out.Encode(r)
			}
		}
	}
	if err != io.EOF {
		panic(err)
	}
	os.Exit(0)
}

// here runs a job in this process, with pipes for its standard streams, which are null afterwards.
func (j job) here(null *os.File) (r result, err error) {
	os.Clearenv()
	for _, variable := range j.Env {
		name, value, _ := strings.Cut(variable, "=")
		os.Setenv(name, value)
	}
	if err := os.Chdir(j.Dir); err != nil {
		return r, err
	}
	var read, write [3]*os.File
	for fd := range read {
		if read[fd], write[fd], err = os.Pipe(); err != nil {
			return r, err
		}
	}
	var all sync.WaitGroup
	stdin := func() {
		write[0].Write(j.Stdin) // an error if not all is read
		write[0].Close()
	}
	if len(j.Stdin) < 4096 { // it is there when the run looks
		stdin()
	} else {
		all.Go(stdin)
	}
	all.Go(func() { r.Stdout, _ = io.ReadAll(read[1]) })
	all.Go(func() { r.Stderr, _ = io.ReadAll(read[2]) })
	for fd, f := range []*os.File{read[0], write[1], write[2]} {
		unix.Dup2(int(f.Fd()), fd)
		unix.SetNonblock(fd, false)
		f.Close()
	}
	a := newApp()
	r.Status = a.report(run(a, j.Args))
	for fd := range read {
		unix.Dup2(int(null.Fd()), fd)
	}
	all.Wait()
	read[1].Close()
	read[2].Close()
	return r, nil
}
