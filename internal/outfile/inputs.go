// Inputs: the files that a process reads, each with its use.

package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// Inputs records the files that a process reads, so that no output replaces one. Files are compared
// by identity; a file that was replaced since it was opened is also compared by its path. The zero
// value can be used, and nil holds no files. Its methods may be called concurrently.
type Inputs struct {
	mu    sync.Mutex
	files []inputFile
}

type inputFile struct {
	path string // "" for a file that has none
	info fs.FileInfo
	use  string
}

// Continued is the use of a file that the process may write again, because its contents are
// continued.
const Continued = "continued"

// ErrInput is wrapped by the error for an output that is also an input.
var ErrInput = errors.New("that is the input")

// Open opens a file for reading and records it. The use is for messages, for example "--grammar";
// "" means the text or the model that the process works on.
func (in *Inputs) Open(path, use string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		in.addFile(path, f, use)
	}
	return f, err
}

// Add records a file that will be opened. It ignores a file that does not exist: opening it returns
// that error.
func (in *Inputs) Add(path, use string) {
	if info, err := os.Stat(path); err == nil {
		in.add(inputFile{path, info, use})
	}
}

// AddFile records an open file, such as stdin.
func (in *Inputs) AddFile(f *os.File, use string) { in.addFile("", f, use) }

func (in *Inputs) addFile(path string, f *os.File, use string) {
	if info, err := f.Stat(); err == nil {
		in.add(inputFile{path, info, use})
	}
}

func (in *Inputs) add(file inputFile) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !slices.ContainsFunc(in.files, func(known inputFile) bool {
		return known.path == file.path && known.use == file.use && os.SameFile(known.info, file.info)
	}) {
		in.files = append(in.files, file)
	}
}

// Refuse returns an error if the file is an input, and nil if it may be written.
func (in *Inputs) Refuse(info fs.FileInfo) error {
	if in == nil {
		return nil
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, file := range in.files {
		switch {
		case file.use == Continued || !file.is(info):
		case file.use == "":
			return ErrInput
		default:
			return fmt.Errorf("%w of %s", ErrInput, file.use)
		}
	}
	return nil
}

func (file *inputFile) is(info fs.FileInfo) bool {
	if os.SameFile(file.info, info) {
		return true
	}
	if file.path == "" {
		return false
	}
	now, err := os.Stat(file.path)
	return err == nil && os.SameFile(now, info)
}
