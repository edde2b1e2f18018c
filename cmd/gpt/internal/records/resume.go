package records

// Records, one per line, of which a later run can continue where this one was stopped.
//
// Beside the file of records is a journal, FILE.resume. Its first line holds what the records
// depend on: the program, the model, the options. Each further line is a mark: it says how many
// lines of the input are answered, their digest, how many bytes of the file hold their records, and
// the digest of those bytes. A run that continues refuses other settings, another input, and a file
// that was changed. Records that a killed process wrote after its last mark are written again.
//
// Each line holds its own digest. Lines of earlier versions have none, and are accepted too.
//
// The journal is only appended to: a process that is killed while it writes leaves all marks but
// the last one whole.
//
// Devices and pipes are written without a journal.

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

// Options say how a File is opened.
type Options struct {
	outfile.Options // which files may be overwritten at the beginning

	Resume   bool      // continue the file, if it exists
	Program  string    // what writes the records, "gpt score" for example
	Settings []Setting // values that the records depend on, beside the input
	Free     []Setting // likewise, but not set by the user: a continued file keeps its own
}

// A Setting is one thing that the records depend on: an option's value, the digest of a file.
// A journal does not hold one that has its default, so that journals stay good when there are new
// options.
type Setting struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Default string `json:"-"` // "" if there is none
}

func (s *Setting) isDefault() bool { return s.Default != "" && s.Value == s.Default }

// A Mark says which lines of the input the records up to a position answer.
type Mark struct {
	Line  int             `json:"line"`            // of the input, from 1: the last one answered
	Input string          `json:"input"`           // digest of the input up to there, the caller's
	State json.RawMessage `json:"state,omitempty"` // other state that the caller needs to continue
}

// A MismatchError says why a file cannot be continued.
type MismatchError struct{ Path, Reason string }

func (e *MismatchError) Error() string { return e.Path + ": " + e.Reason }

// A File is a file of records with its journal. Its methods serve one goroutine.
type File struct {
	path     string
	options  Options
	resumed  bool  // the file existed and is continued
	last     entry // the entry that it continues from
	unsealed bool  // its journal has lines without a digest
	opened   bool
	locked   *os.File // a second handle of the journal: while it is open, no other process writes

	mu      sync.Mutex // guards the fields below: a timer writes marks
	records *outfile.Output
	marks   *outfile.Output // nil if there is no journal
	now     entry
	journal int64     // the length of its whole lines
	digest  hash.Hash // of the records
	timer   *time.Timer
	err     error // the first one in writing: nothing is written after it
}

// Open checks that the file at path can begin, or with o.Resume continue. It changes nothing on the
// disk. If the file cannot be continued, the error is a *MismatchError.
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
	if !o.Force { // a journal without its file is useless
		if o.Force, err = f.ownJournal(); err != nil {
			return err
		}
	}
	f.marks, err = outfile.NewOutput(f.journalPath(), o)
	return err
}

// Unsealed reports whether the journal that is continued has lines without a digest, as earlier
// versions wrote them: damage may be undetected.
func (f *File) Unsealed() bool { return f.unsealed }

// Last returns the mark that the file continues from, the zero Mark if the file begins.
func (f *File) Last() Mark { return f.last.Mark }

// Setting returns the value of a setting that the records depend on, from when the file began.
func (f *File) Setting(name string) string {
	for _, s := range f.settings() {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

func (f *File) settings() []Setting { return slices.Concat(f.options.Settings, f.options.Free) }

// Write appends one record, a line with its end. m is the mark after it.
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

// markEvery is the longest time from a record to its mark.
const markEvery = time.Second

func (f *File) markLater() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil && f.err == nil { // else Close came first, or a Write failed
		f.timer = nil
		f.err = f.mark()
	}
}

// Start opens the file, if it is not open yet. Write calls it; call it also at the end of an input
// without records, which leaves an empty file. The journal is created first, so that no file is
// without one.
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
	if err := f.lockJournal(); err != nil { // before it is truncated
		return err
	}
	err := f.marks.Open()
	switch {
	case err != nil:
		return err
	case !f.resumed:
		if err = f.lockJournal(); err == nil {
			settings := slices.DeleteFunc(f.settings(), func(s Setting) bool { return s.isDefault() })
			err = f.append(header{f.options.Program, settings})
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

// dropJournal closes the journal, and removes it if it is new.
func (f *File) dropJournal() {
	if f.marks == nil {
		return
	}
	f.marks.Close()
	if !f.resumed {
		os.Remove(f.journalPath())
	}
}

// Close marks the records that are written, and closes the file. If none were written, nothing
// changes.
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
	if err != nil { // the file may have a part of a record
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
