package main

// The files that a command reads. All of them are opened here, which remembers them, so that no
// output takes the place of one.

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/internal/process"
	"picogpt/internal/rows"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// openFile opens a file, or gives stdin for "-", which must stay open. The use is the flag that
// names the file, "" for the text that the command works on.
func (a *app) openFile(name, use string) (*os.File, error) {
	if name == "-" {
		a.inputs.AddFile(a.stdin, use)
		return a.stdin, nil
	}
	f, err := a.inputs.Open(name, use)
	return f, fileError(name, err)
}

// willRead remembers a file that the command is going to open: outputs are checked before.
func (a *app) willRead(name, use string) {
	if name == "-" {
		a.inputs.AddFile(a.stdin, use)
	} else {
		a.inputs.Add(name, use)
	}
}

// An input is a file that is read, or stdin. Errors of Read name it.
type input struct {
	*os.File
	name  string
	text  *bufio.Reader
	begun bool // with what is to be read: a byte order mark is no more looked for
}

// openInput opens a file, or stdin for "-", without a byte order mark, or with it. Close leaves stdin
// open.
func (a *app) openInput(name, use string, mark bool) (io.ReadCloser, error) {
	f, err := a.openFile(name, use)
	switch {
	case err != nil:
		return nil, err
	case name == "-":
		return io.NopCloser(&input{f, "stdin", bufio.NewReader(f), mark}), nil
	}
	return &input{f, name, bufio.NewReader(f), mark}, nil
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
		err = fileError(in.name, err)
	}
	return n, err
}

// readLimited reads a file, or stdin for "-", of at most so many bytes.
func (a *app) readLimited(name, use string, most int64) (string, error) {
	in, err := a.openInput(name, use, false)
	if err != nil {
		return "", err
	}
	defer in.Close()
	text, err := readWhole(io.LimitReader(in, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: more than %d bytes", name, most)
	}
	return text, err
}

// openRows opens a file of rows, or stdin for "-", plain or compressed.
func (a *app) openRows(name, use string) (*rows.Source, error) {
	f, err := a.openFile(name, use)
	if err != nil {
		return nil, err
	}
	return rows.FromFile(name, f)
}

// openCheckpoint opens the checkpoint at path.
func (a *app) openCheckpoint(
	path, use string, o checkpoint.Options,
) (*checkpoint.Checkpoint, error) {
	a.willReadCheckpoint(path, use)
	return o.Open(path)
}

// openTokenizerAt opens the tokenizer of the checkpoint at path, which need not have weights.
func (a *app) openTokenizerAt(path string) (*tokenizer.Tokenizer, error) {
	a.willReadCheckpoint(path, "")
	return checkpoint.OpenTokenizer(path)
}

// willReadCheckpoint remembers the files of the checkpoint at path: the weights' and those beside
// them, and shards of any name. Where they cannot be listed, opening the checkpoint tells.
func (a *app) willReadCheckpoint(path, use string) {
	dir, name, err := folder.Split(path)
	if err != nil {
		return
	}
	list, _ := fs.ReadDir(dir, ".")
	for _, e := range list {
		if e.Name() == name || checkpoint.Part(e.Name(), name) {
			a.inputs.Add(dir.Path(e.Name()), use)
		}
		if strings.HasSuffix(e.Name(), ".index.json") {
			index, _ := weights.ReadIndex(dir, e.Name())
			for _, shard := range index.Shards() {
				a.inputs.Add(dir.Path(shard), use)
			}
		}
	}
}

// leaveStdin says that the command takes its text from elsewhere. If bytes wait on stdin, a line on
// stderr says that they are not read: now, or at the end of the command if they come later.
func (a *app) leaveStdin() {
	if a.stdinTaken {
		return
	}
	a.stdinLeft = true
	a.noteStdinLeft()
}

// noteStdinLeft writes that line, once.
func (a *app) noteStdinLeft() {
	if a.stdinLeft && process.BytesWait(a.stdin) {
		a.stdinLeft = false
		a.Notef("stdin is not read, because the text was given in the arguments; -f - reads stdin")
	}
}
