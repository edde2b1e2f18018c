package cuda

// Recordings are graphs: many launches for the price of one.

import (
	"errors"
	"unsafe"

	"picogpt/gpu"
)

// Record implements gpu.Recorder: while the stream is captured, launches go into a graph.
func (d *driver) Record(launches func() error) (gpu.Recording, error) {
	const relaxed = 2 // whatever other threads call meanwhile
	if err := d.on(&d.l.streamBeginCapture, d.stream, relaxed); err != nil {
		return 0, err
	}
	err := launches()
	var graph, run uintptr
	// a capture is ended even if a launch failed; its graph is then none
	if e := d.on(&d.l.streamEndCapture, d.stream, uintptr(unsafe.Pointer(&graph))); err == nil {
		err = e
	}
	if err == nil {
		err = d.on(&d.l.graphInstantiate, uintptr(unsafe.Pointer(&run)), graph, 0)
	}
	if graph != 0 {
		err = errors.Join(err, d.on(&d.l.graphDestroy, graph))
	}
	if run != 0 {
		d.graphs[gpu.Recording(run)] = true
	}
	return gpu.Recording(run), err
}

// Replay implements gpu.Recorder.
func (d *driver) Replay(r gpu.Recording) error {
	return d.on(&d.l.graphLaunch, uintptr(r), d.stream)
}

// Forget implements gpu.Recorder.
func (d *driver) Forget(r gpu.Recording) {
	if d.graphs[r] {
		delete(d.graphs, r)
		_ = d.on(&d.l.graphExecDestroy, uintptr(r))
	}
}
