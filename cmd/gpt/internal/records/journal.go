package records

// The journal: its contents, and how a file is continued by it.

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"picogpt/internal/outfile"
)

// A header is a journal's first line.
type header struct {
	Program  string    `json:"program"`
	Settings []Setting `json:"settings"`
}

// An entry is any other line of a journal.
type entry struct {
	Mark
	Bytes  int64  `json:"bytes"`  // length of the file of records
	Output string `json:"output"` // SHA-256 of those bytes
	// the process ended in order: nothing follows those bytes
	Ended bool `json:"ended,omitempty"`
}

// longestEntry is the most bytes of a line of a journal.
const longestEntry = 1 << 20

func (f *File) journalPath() string { return f.path + ".resume" }

// mark writes the entry of the present state.
func (f *File) mark() error {
	f.now.Output = hex.EncodeToString(f.digest.Sum(nil))
	return f.append(f.now)
}

// append writes one line. If that fails, it cuts the journal back to whole lines, if it can.
func (f *File) append(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := f.marks.Write(append(seal(line), '\n'))
	if err != nil {
		f.marks.Truncate(f.journal)
		return err
	}
	f.journal += int64(n)
	return nil
}

// lockJournal opens the journal, if it exists, and locks it against other processes.
func (f *File) lockJournal() error {
	if f.locked != nil {
		return nil
	}
	info, err := os.Stat(f.journalPath()) // before it is opened: a pipe would wait for a writer
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: %w", f.journalPath(), outfile.ErrExists)
	}
	if f.locked, err = os.Open(f.journalPath()); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // where a lock would also keep this process from writing
		return nil
	}
	if taken, _ := outfile.TryLock(f.locked); taken { // a file system may have no locks
		return f.mismatch("another process writes to it")
	}
	return nil
}

// ownJournal reports whether a journal exists, whole or cut off. A file of that name that is no
// journal is an error.
func (f *File) ownJournal() (bool, error) {
	if err := f.lockJournal(); f.locked == nil || err != nil {
		return false, err
	}
	begin := make([]byte, len(headerBegin))
	n, _ := io.ReadFull(f.locked, begin)
	if !strings.HasPrefix(headerBegin, string(begin[:n])) {
		return false, fmt.Errorf("%s: %w", f.journalPath(), ErrForeign)
	}
	return true, nil
}

// ErrForeign is wrapped by the error for a file that has a journal's name and is none.
var ErrForeign = fmt.Errorf("%w, and not a journal of results", outfile.ErrExists)

// headerBegin is the beginning of the first line of a journal.
const headerBegin = `{"program":`

// continues finds the mark to continue from.
func (f *File) continues() error {
	o := f.options.Options
	o.Force = true // the first bytes stay
	if err := outfile.Check(f.path, o); err != nil {
		return err
	}
	if err := f.lockJournal(); err != nil {
		return err
	}
	if f.locked == nil {
		return f.mismatch("want %s beside it, which says what it holds; found none",
			f.journalPath())
	}
	records, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer records.Close()
	info, err := records.Stat()
	if err != nil {
		return err
	}
	j, err := readJournal(f.locked, info.Size())
	if err != nil {
		return &MismatchError{f.journalPath(), err.Error()}
	}
	if err := f.compare(j.header); err != nil {
		return err
	}
	if err := f.verify(records, j, info.Size()); err != nil {
		return err
	}
	f.last, f.now, f.journal, f.unsealed = j.last, j.last, j.size, j.unsealed
	if f.records, err = outfile.ContinueOutput(f.path, j.last.Bytes,
		f.options.Options); err != nil {
		return err
	}
	f.marks, err = outfile.ContinueOutput(f.journalPath(), j.size, f.options.Options)
	return err
}

// Began returns a setting of the file at path from when it began, "" if its journal has none. ok
// says whether there is a file to continue; what is wrong with its journal, Open says.
func Began(path, name string) (value string, ok bool) {
	if _, err := os.Stat(path); err != nil || outfile.IsStream(path) {
		return "", false
	}
	f := File{path: path}
	defer f.unlock()
	if f.lockJournal() != nil || f.locked == nil {
		return "", false
	}
	j, err := readJournal(f.locked, 0)
	for _, s := range j.Settings {
		if s.Name == name {
			return s.Value, err == nil
		}
	}
	return "", err == nil
}

func (f *File) mismatch(format string, args ...any) error {
	return &MismatchError{f.path, fmt.Sprintf(format, args...)}
}

// compare returns an error that names the first setting that has changed.
func (f *File) compare(h header) error {
	if h.Program != f.options.Program {
		return f.mismatch("%q wrote it, not %q", h.Program, f.options.Program)
	}
	then := make(map[string]string)
	for _, s := range h.Settings {
		then[s.Name] = s.Value
	}
	for _, s := range f.options.Settings {
		was, ok := then[s.Name]
		delete(then, s.Name)
		if !ok {
			was = s.Default
		}
		switch {
		case !ok && was == "":
			return f.mismatch("begun without %s, now with %s", s.Name, s.Value)
		case was != s.Value:
			return f.mismatch("begun with another %s: %s, now %s", s.Name, was, s.Value)
		}
	}
	f.options.Free = slices.Clone(f.options.Free)
	for i, s := range f.options.Free {
		if was, ok := then[s.Name]; ok {
			f.options.Free[i].Value = was
			delete(then, s.Name)
		}
	}
	for _, s := range h.Settings {
		if _, ok := then[s.Name]; ok {
			return f.mismatch("begun with %s %s, now without", s.Name, s.Value)
		}
	}
	return nil
}

// verify reads the records up to the mark, compares them with it, and checks what follows them.
func (f *File) verify(records io.Reader, j journal, size int64) error {
	if _, err := io.CopyN(f.digest, records, j.last.Bytes); err != nil {
		return err
	}
	if found := hex.EncodeToString(f.digest.Sum(nil)); j.last.Bytes > 0 && found != j.last.Output {
		return f.mismatch("its first %d bytes were changed since they were written", j.last.Bytes)
	}
	if j.last.Ended && !j.more && size > j.last.Bytes {
		return f.mismatch("%d bytes, want the %d that were written", size, j.last.Bytes)
	}
	for r := bufio.NewReaderSize(records, 1<<16); ; {
		if begin, err := r.Peek(1); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		} else if begin[0] != '{' {
			return f.mismatch("more than what was written follows its first %d bytes", j.last.Bytes)
		}
		for more := true; more; {
			_, err := r.ReadSlice('\n')
			if more = err == bufio.ErrBufferFull; err != nil && err != io.EOF && !more {
				return err
			}
		}
	}
}

// A journal is the result of readJournal.
type journal struct {
	header
	last entry // the last one whose records the file still has
	size int64 // of the journal up to and with that entry
	more bool  // entries follow it

	unsealed bool // a line has no digest
}

// readJournal reads a journal, given the length of its file of records.
func readJournal(r io.Reader, bytes int64) (j journal, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestEntry)
	lines.Split(wholeLines)
	if !lines.Scan() {
		return j, cmp.Or(lines.Err(), errors.New("cut off within its first line"))
	}
	if err := j.parse(lines.Bytes(), &j.header); err != nil || j.Program == "" {
		return j, errors.New("line 1 is none of a journal's")
	}
	j.size = int64(len(lines.Bytes()) + 1)
	at := j.size
	for n := 2; lines.Scan(); n++ {
		e := entry{Mark: Mark{Line: -1}, Bytes: -1}
		if err := j.parse(lines.Bytes(), &e); err != nil || e.Bytes < j.last.Bytes ||
			e.Line < j.last.Line {
			return j, fmt.Errorf("line %d is none of a journal's", n)
		}
		at += int64(len(lines.Bytes()) + 1)
		if j.more = j.more || e.Bytes > bytes; !j.more {
			j.last, j.size = e, at
		}
	}
	return j, lines.Err()
}

// Each line ends with the SHA-256 of its object without that field: a damaged journal is not
// continued.
const sealBegin = `,"sum":"`

// seal adds the digest to a line, which is an object.
func seal(line []byte) []byte {
	sum := sha256.Sum256(line)
	return fmt.Appendf(line[:len(line)-1], "%s%x\"}", sealBegin, sum)
}

// parse reads a line of the journal. Lines of earlier versions have no digest.
func (j *journal) parse(line []byte, to any) error {
	at := len(line) - len(sealBegin) - 2*sha256.Size - len(`"}`)
	if at > 0 && string(line[at:at+len(sealBegin)]) == sealBegin {
		content := append(slices.Clone(line[:at]), '}')
		if !bytes.Equal(seal(slices.Clone(content)), line) {
			return errors.New("damaged")
		}
		line = content
	} else {
		j.unsealed = true
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than an object")
	}
	return nil
}

// wholeLines is bufio.ScanLines without a last line that is cut off.
func wholeLines(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, '\n'); i >= 0 {
		return i + 1, data[:i], nil
	}
	return 0, nil, nil
}
