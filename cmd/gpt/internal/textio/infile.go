package textio

// The files that a user names to be read, and stdin for "-". They are remembered, so that no output
// takes the place of one.

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/outfile"
	"picogpt/internal/rows"
)

// Files are the inputs of a command. The use that its methods take is the flag that names a file,
// "" for what the command works on.
type Files struct {
	Stdin  *os.File
	Inputs outfile.Inputs                   // what was opened, or is going to be
	Note   func(format string, args ...any) // writes a line for the user

	StdinTaken bool // a flag has stdin for its file
	left       bool // the text comes from elsewhere, and nothing was said yet of bytes on stdin
}

// Open opens a file, or gives stdin for "-", which must stay open.
func (f *Files) Open(name, use string) (*os.File, error) {
	if name == "-" {
		f.Inputs.AddFile(f.Stdin, use)
		return f.Stdin, nil
	}
	opened, err := f.Inputs.Open(name, use)
	return opened, Error(name, err)
}

// WillRead remembers a file that is going to be opened: outputs are checked before.
func (f *Files) WillRead(name, use string) {
	if name == "-" {
		f.Inputs.AddFile(f.Stdin, use)
	} else {
		f.Inputs.Add(name, use)
	}
}

// OpenText opens a file, or stdin for "-", without a byte order mark, or with it. Errors of Read
// name the file. Close leaves stdin open.
func (f *Files) OpenText(name, use string, mark bool) (io.ReadCloser, error) {
	opened, err := f.Open(name, use)
	switch {
	case err != nil:
		return nil, err
	case name == "-":
		return io.NopCloser(&input{opened, "stdin", bufio.NewReader(opened), mark}), nil
	}
	return &input{opened, name, bufio.NewReader(opened), mark}, nil
}

// An input is a file that is read, or stdin.
type input struct {
	*os.File
	name  string
	text  *bufio.Reader
	begun bool // with what is to be read: a byte order mark is no more looked for
}

// Read is io.Reader's.
func (in *input) Read(b []byte) (n int, err error) {
	if !in.begun {
		in.begun, err = true, rows.SkipMark(in.text)
	}
	if err == nil {
		n, err = in.text.Read(b)
	}
	if err != nil && err != io.EOF {
		err = Error(in.name, err)
	}
	return n, err
}

// Limited reads a file, or stdin for "-", of at most so many bytes, without a byte order mark.
func (f *Files) Limited(name, use string, most int64) (string, error) {
	in, err := f.OpenText(name, use, false)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := Whole(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: more than %d bytes", name, most)
	}
	return text, err
}

// Rows opens a file of rows, or stdin for "-", plain or compressed.
func (f *Files) Rows(name, use string) (*rows.Source, error) {
	opened, err := f.Open(name, use)
	if err != nil {
		return nil, err
	}
	return rows.FromFile(name, opened)
}

// Text returns a whole file as text, or stdin for "-", plain or compressed, without a byte order
// mark.
func (f *Files) Text(name, use string) (string, error) {
	s, err := f.Rows(name, use)
	if err != nil {
		return "", err
	}
	defer s.Close()
	text, err := s.Text()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(s.Size) + 512)
	_, err = io.Copy(&b, text)
	return b.String(), Error(s.Name, err)
}

// LeaveStdin says that the command takes its text from elsewhere. If bytes wait on stdin, a line
// says that they are not read: now, or at NoteStdinLeft if they come later.
func (f *Files) LeaveStdin() {
	if f.StdinTaken {
		return
	}
	f.left = true
	f.NoteStdinLeft()
}

// NoteStdinLeft writes that line, once.
func (f *Files) NoteStdinLeft() {
	if f.left && process.BytesWait(f.Stdin) {
		f.left = false
		f.Note("stdin is not read, because the text was given in the arguments; -f - reads stdin")
	}
}

// Whole reads to the end, without a second copy where the length is known.
func Whole(r io.Reader) (string, error) {
	var b strings.Builder
	if in, ok := r.(interface{ Stat() (os.FileInfo, error) }); ok {
		if info, err := in.Stat(); err == nil && info.Mode().IsRegular() {
			b.Grow(int(info.Size()) + 512)
		}
	}
	_, err := io.Copy(&b, struct{ io.Reader }{r})
	return b.String(), err
}

// Readable reports whether a file is there and is not a person's keyboard.
func Readable(f *os.File) bool {
	_, err := f.Stat()
	return err == nil && !terminal.Is(f)
}

// Error names the file and the reason, and not the system call. It returns nil for nil.
func Error(name string, err error) error {
	name = cmp.Or(name, `""`)
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
