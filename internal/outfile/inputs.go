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

// Inputs remember the files that a process reads, so that no output takes the place of one. Files
// are compared by identity; one that was replaced since it was opened counts under its path, too.
// The zero value is ready, nil holds none. Its methods may be called by several goroutines.
type Inputs struct {
	mu    sync.Mutex
	files []inputFile
}

type inputFile struct {
	path string // "" for a file that has none
	info fs.FileInfo
	use  string
}

// Continued is the use of a file that the process may write anew: what it holds is continued.
const Continued = "continued"

// ErrInput is in the error for an output that is also an input.
var ErrInput = errors.New("that is the input")

// Open opens a file for reading and remembers it. The use is for messages, such as "--grammar"; ""
// is the text or the model that the process works on.
func (in *Inputs) Open(path, use string) (*os.File, error) {
	f, err := os.Open(path)
	if err == nil {
		in.addFile(path, f, use)
	}
	return f, err
}

// Add remembers a file that is going to be opened. Where there is none, opening it tells.
func (in *Inputs) Add(path, use string) {
	if info, err := os.Stat(path); err == nil {
		in.add(inputFile{path, info, use})
	}
}

// AddFile remembers a file that is open, such as stdin.
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

// Refuse returns the error for a file that is read, nil for one that may be written.
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
