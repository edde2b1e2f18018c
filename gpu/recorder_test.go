package gpu

// A recorder over any driver, for tests: it keeps launches and makes them again one by one, counts,
// and is as strict as the strictest of drivers.

import "fmt"

// WithRecorder returns d with a driver that records, and what it counts.
func WithRecorder(d *Device) (*Device, *Recorded) {
	r := &Recorded{Launches: map[string]int{}}
	own := *d
	own.open = func() (Driver, error) {
		driver, err := d.open()
		return &recorder{Driver: driver, Recorded: r, known: map[string]bool{},
			kept: map[Recording][]Launch{}}, err
	}
	return &own, r
}

// Recorded counts what has been recorded, replayed and forgotten, the launches of each kernel, and
// the bytes that have been read.
type Recorded struct {
	Recorded, Replayed, Forgotten int
	Launches                      map[string]int
	Read                          int
}

type recorder struct {
	Driver
	*Recorded
	known map[string]bool // the kernels that have been launched
	now   []Launch        // while recording
	on    bool
	wrong error // the first call that was not allowed then
	next  Recording
	kept  map[Recording][]Launch
}

// refused is an error while launches are recorded, as it is of CUDA, which then also ends the
// recording.
func (r *recorder) refused(call string) error {
	if !r.on {
		return nil
	}
	err := fmt.Errorf("%s while launches are recorded", call)
	if r.wrong == nil {
		r.wrong = err
	}
	return err
}

func (r *recorder) Launch(l *Launch) error {
	if !r.on {
		r.Launches[l.Kernel]++
		r.known[l.Kernel] = true
		return r.Driver.Launch(l)
	}
	if !r.known[l.Kernel] {
		return r.refused("the first launch of " + l.Kernel)
	}
	own := *l
	own.Args = append([]Arg(nil), l.Args...)
	r.now = append(r.now, own)
	return nil
}

func (r *recorder) Alloc(bytes int64) (Buffer, error) {
	if err := r.refused("Alloc"); err != nil {
		return 0, err
	}
	return r.Driver.Alloc(bytes)
}

func (r *recorder) Free(b Buffer) {
	_ = r.refused("Free")
	r.Driver.Free(b)
}

func (r *recorder) Write(to Buffer, at int64, from []byte) error {
	if err := r.refused("Write"); err != nil {
		return err
	}
	return r.Driver.Write(to, at, from)
}

func (r *recorder) Read(to []byte, from Buffer, at int64) error {
	if err := r.refused("Read"); err != nil {
		return err
	}
	r.Recorded.Read += len(to)
	return r.Driver.Read(to, from, at)
}

func (r *recorder) Copy(to Buffer, toAt int64, from Buffer, fromAt, n int64) error {
	if err := r.refused("Copy"); err != nil {
		return err
	}
	return r.Driver.Copy(to, toAt, from, fromAt, n)
}

func (r *recorder) Record(launches func() error) (Recording, error) {
	if err := r.refused("Record"); err != nil {
		return 0, err
	}
	r.now, r.on, r.wrong = nil, true, nil
	err := launches()
	r.on = false
	if err == nil {
		err = r.wrong
	}
	if err != nil {
		return 0, err
	}
	r.next++
	r.kept[r.next] = r.now
	r.Recorded.Recorded++
	return r.next, nil
}

func (r *recorder) Replay(n Recording) error {
	if err := r.refused("Replay"); err != nil {
		return err
	}
	launches, ok := r.kept[n]
	if !ok {
		return fmt.Errorf("there is no recording %d", n)
	}
	r.Replayed++
	for i := range launches {
		r.Launches[launches[i].Kernel]++
		if err := r.Driver.Launch(&launches[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *recorder) Forget(n Recording) {
	_ = r.refused("Forget")
	r.Forgotten++
	delete(r.kept, n)
}
