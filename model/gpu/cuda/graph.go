package cuda

// Recordings are graphs: many launches for the cost of one.

import (
	"errors"
	"sync"
	"unsafe"

	"picogpt/model/gpu"
)

// capturing is write-locked while a driver records, and read-locked by the other drivers: calls
// that wait for a context, as loading and freeing may, would end a recording in it. It belongs to
// the process, as contexts do.
var capturing sync.RWMutex

// Record implements gpu.Recorder: while the stream is captured, launches go into a graph.
func (d *driver) Record(launches func() error) (gpu.Recording, error) {
	graph, err := d.capture(launches)
	var run uintptr
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

// capture makes a graph of launches. The goroutine may change its thread meanwhile, which the
// library allows with a relaxed capture.
func (d *driver) capture(launches func() error) (graph uintptr, err error) {
	if err := d.idle(&d.l.streamBeginCapture); err != nil {
		return 0, err
	}
	capturing.Lock()
	d.recording = true
	defer func() {
		d.recording = false
		capturing.Unlock()
	}()
	const relaxed = 2
	if err := d.call(&d.l.streamBeginCapture, d.stream, relaxed); err != nil {
		return 0, err
	}
	defer func() { // also after a failed launch, which leaves no graph, or a panic
		e := d.call(&d.l.streamEndCapture, d.stream, uintptr(unsafe.Pointer(&graph)))
		if d.captured = e != nil; err == nil {
			err = e
		}
	}()
	return 0, launches()
}

// Replay implements gpu.Recorder.
func (d *driver) Replay(r gpu.Recording) error {
	return d.on(&d.l.graphLaunch, uintptr(r), d.stream)
}

// Forget implements gpu.Recorder. While launches are recorded it does nothing; Close frees the
// rest.
func (d *driver) Forget(r gpu.Recording) {
	if d.graphs[r] && !d.recording {
		delete(d.graphs, r)
		_ = d.on(&d.l.graphExecDestroy, uintptr(r))
	}
}
