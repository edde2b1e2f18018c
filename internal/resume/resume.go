// Package resume writes records, one a line, so that a later run can continue
// where this one was stopped.
//
// Beside the file of records is a journal, FILE.resume. Its first line says what
// the records depend on: the program, the model, the options. Each further line
// is a mark: so many lines of the input are answered, they have this digest, and
// their records are the first so many bytes of the file, which have that digest.
// A run that continues refuses other settings, another input, and a file that
// was changed. What a killed process wrote after its last mark is written anew.
//
// Each line holds its own digest. Those that earlier versions wrote have none and are taken, too.
//
// The journal is only appended to: a process that is killed while it writes
// leaves all marks but the last one whole.
//
// Devices and pipes are written to without a journal.
package resume

import (
	"crypto/sha256"
	"encoding/json"
	"hash"
	"os"
	"slices"
	"sync"
	"time"

	"picogpt/internal/outfile"
)

// Options say what a File is for.
type Options struct {
	outfile.Options // what may be overwritten where the file begins

	Resume   bool      // continue the file, if it is there
	Program  string    // what writes the records, "gpt score" for example
	Settings []Setting // what the records depend on beside the input
	Free     []Setting // so do these, but nobody asked for them: a continued file keeps its own
}

// A Setting is one thing that the records depend on: an option's value, the digest of a file.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// A Mark says what the records up to a place answer.
type Mark struct {
	Line  int             `json:"line"`            // of the input, from 1: the last one answered
	Input string          `json:"input"`           // digest of the input up to there, the caller's
	State json.RawMessage `json:"state,omitempty"` // what else the caller needs to continue
}

// A MismatchError says why a file cannot be continued.
type MismatchError struct{ Path, Reason string }

func (e *MismatchError) Error() string { return e.Path + ": " + e.Reason }

// A File is a file of records with its journal. Its methods are for one goroutine.
type File struct {
	path     string
	options  Options
	resumed  bool  // the file was there and is continued
	last     entry // from here
	unsealed bool  // its journal has lines without a digest
	opened   bool
	locked   *os.File // the journal once more: while it is open, no other process writes

	mu      sync.Mutex // guards what is below: a timer writes marks
	records *outfile.Output
	marks   *outfile.Output // nil where there is no journal
	now     entry
	journal int64     // bytes of whole lines in it
	digest  hash.Hash // of the records
	timer   *time.Timer
	err     error // the first one in writing: nothing is written after it
}

// Open checks that the file at path can begin, or with o.Resume continue. It changes nothing on the
// disk. What cannot be continued is a *MismatchError.
func Open(path string, o Options) (f *File, err error) {
	f = &File{path: path, options: o, digest: sha256.New()}
	stream := outfile.IsStream(path)
	switch _, absent := os.Stat(path); {
	case stream && o.Resume:
		return nil, &MismatchError{path, "a device, a pipe or the shell's, want a file to continue"}
	case stream:
		f.records, err = outfile.NewOutput(path, o.Options)
	case o.Resume && absent == nil:
		f.resumed = true
		err = f.continues()
	default:
		err = f.begins()
	}
	if err != nil {
		f.unlock()
		return nil, err
	}
	return f, nil
}

func (f *File) unlock() {
	if f.locked != nil {
		f.locked.Close()
	}
}

// begins prepares a new file.
func (f *File) begins() (err error) {
	if f.records, err = outfile.NewOutput(f.path, f.options.Options); err != nil {
		return err
	}
	o := f.options.Options
	if !o.Force { // a journal without its file is of no use
		if o.Force, err = f.ownJournal(); err != nil {
			return err
		}
	}
	f.marks, err = outfile.NewOutput(f.journalPath(), o)
	return err
}

// Unsealed reports whether the journal that is continued has lines without a digest, as earlier
// versions wrote them: damage may have passed.
func (f *File) Unsealed() bool { return f.unsealed }

// Last is the mark that is continued from, the zero Mark where the file begins.
func (f *File) Last() Mark { return f.last.Mark }

// Setting returns the value of a setting that the records depend on, as it was when the file began.
func (f *File) Setting(name string) string {
	for _, s := range f.settings() {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

func (f *File) settings() []Setting { return slices.Concat(f.options.Settings, f.options.Free) }

// Write appends one record, a line with its end. m says what is answered with it.
func (f *File) Write(record []byte, m Mark) error {
	if err := f.Start(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if _, f.err = f.records.Write(record); f.err != nil {
		return f.err
	}
	f.digest.Write(record)
	f.now.Mark = m
	f.now.Bytes += int64(len(record))
	f.now.Ended = false
	if f.timer == nil && f.marks != nil {
		f.timer = time.AfterFunc(markEvery, f.markLater)
	}
	return nil
}

// markEvery is how much later than a record its mark is written, at most.
const markEvery = time.Second

func (f *File) markLater() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil && f.err == nil { // else Close was quicker, or a Write failed
		f.timer = nil
		f.err = f.mark()
	}
}

// Start opens the file, if it is not open yet. Write calls it; it is also for the end of an input
// without records, where an empty file is wanted. The journal comes first, so that no file is
// without.
func (f *File) Start() error {
	if f.opened {
		return nil
	}
	if f.marks != nil {
		if err := f.startJournal(); err != nil {
			return err
		}
	}
	if err := f.records.Open(); err != nil {
		f.dropJournal()
		return err
	}
	f.opened = true
	return nil
}

func (f *File) startJournal() error {
	if err := f.lockJournal(); err != nil { // before it is cut
		return err
	}
	err := f.marks.Open()
	switch {
	case err != nil:
		return err
	case !f.resumed:
		if err = f.lockJournal(); err == nil {
			err = f.append(header{f.options.Program, f.settings()})
		}
	case f.last.Ended: // more will follow now
		f.now.Ended = false
		err = f.append(f.now)
	}
	if err != nil {
		f.dropJournal()
	}
	return err
}

// dropJournal closes the journal and removes it if it was just begun.
func (f *File) dropJournal() {
	if f.marks == nil {
		return
	}
	f.marks.Close()
	if !f.resumed {
		os.Remove(f.journalPath())
	}
}

// Close marks what is written and closes the file. Where nothing was written, nothing changes.
func (f *File) Close() error {
	defer f.unlock()
	if !f.opened {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened = false
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	if f.marks == nil {
		return f.records.Close()
	}
	err := f.err
	if err != nil { // a part of a record may be there
		f.records.Truncate(f.now.Bytes)
	}
	if !f.now.Ended {
		f.now.Ended = true
		if e := f.mark(); err == nil {
			err = e
		}
	}
	if e := f.marks.Close(); err == nil {
		err = e
	}
	if e := f.records.Close(); err == nil {
		err = e
	}
	return err
}
