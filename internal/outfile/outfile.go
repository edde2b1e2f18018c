// Package outfile writes the files that a user names, so that nothing is lost.
//
// The rules are the same for every file. A regular file is overwritten only with Options.Force. A
// file that is also an input is never overwritten: files are compared by identity, so that links,
// other spellings of a path and redirections do not matter. Devices and pipes need no Force, nor do
// files that the caller's shell has opened (/dev/stdout, /dev/fd/3), which are appended to.
//
// Use Output for results that are written one by one: it opens the file for the first one. Use
// WriteFile for a file that is complete or does not exist, and Folder for several such files.
package outfile

// The rules: what may be written, which files a process reads, and what the ending of a name says.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
)

// Options say what may be overwritten. The zero value overwrites no regular file.
type Options struct {
	Kind    Kind    // what is written, which the ending of a name must not deny
	Force   bool    // regular files may be overwritten
	Raw     bool    // a terminal gets control characters as they are, not as quote.Shown has them
	Private bool    // of WriteFile: only their owner may read and write the file
	Inputs  *Inputs // never overwritten, not even with Force
	Temps   *Temps  // records the temporary files; nil for a new one
}

// ErrExists is wrapped by the error for a regular file that exists, without Force.
var ErrExists = errors.New("there already")

// ErrNoName is the error for an empty path.
var ErrNoName = errors.New("want a path, found nothing")

// FlagError is an error of this package about the file that a flag names, for the command line. It
// is nil for nil.
func FlagError(flag string, err error) error {
	switch {
	case errors.Is(err, ErrInput), errors.Is(err, ErrEnding):
		return fault.Usagef("%s %w", flag, err)
	case errors.Is(err, ErrNoName):
		return fault.Usagef("%s: %w", flag, err)
	case errors.Is(err, ErrExists):
		return fault.Hint(err, "--force writes over it")
	}
	return err
}

// Check returns the error that writing to path would give now. It changes nothing. Call it before
// long work.
func Check(path string, o Options) error {
	_, err := o.find(path)
	return err
}

// IsStream reports whether path names a device, a pipe, or a file that the caller's shell has
// opened: such a file is written to in place, and never replaced or truncated.
func IsStream(path string) bool {
	t, err := follow(path)
	return err == nil && t.open
}

// A target is the file for a path.
type target struct {
	path string      // with links followed, if the file is regular or absent
	info fs.FileInfo // nil if there is no file yet
	open bool        // never replaced or truncated: a device, a pipe, or the shell's file
}

// find follows path to its target and applies the rules.
func (o Options) find(path string) (target, error) {
	if path == "" {
		return target{}, ErrNoName
	}
	t, err := follow(path)
	if err != nil {
		return t, fmt.Errorf("%s: %w", path, folder.Cause(err))
	}
	regular := t.info != nil && t.info.Mode().IsRegular()
	if regular {
		err = o.Inputs.Refuse(t.info)
	}
	if err == nil && !t.open {
		if err := o.Kind.Check(path); err != nil {
			return t, err
		}
	}
	if err == nil && regular && !o.Force && !t.open {
		err = ErrExists
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, err
}

// follow returns the target of a path. If the last link leads to no file it follows links itself,
// because such a file can be created.
func follow(path string) (target, error) {
	t := target{path: path}
	for links := 0; ; links++ {
		info, err := os.Stat(t.path)
		if err == nil {
			return t.exists(path, info)
		}
		if !errors.Is(err, fs.ErrNotExist) || links > 40 {
			return t, err
		}
		next, err := os.Readlink(t.path)
		if err != nil {
			break // neither a file nor a link
		}
		if !filepath.IsAbs(next) {
			next = join(folderOf(t.path), next)
		}
		t.path = next
	}
	if os.IsPathSeparator(t.path[len(t.path)-1]) {
		return t, errors.New("want a file, found the name of a directory")
	}
	dir := folderOf(t.path)
	if info, err := os.Stat(dir); err != nil {
		return t, fmt.Errorf("directory %s: %w", trimSlashes(dir), folder.Cause(err))
	} else if !info.IsDir() {
		return t, fmt.Errorf("%s: want a directory, found a file", trimSlashes(dir))
	}
	return t, nil
}

// exists completes a target that exists. path is what the user wrote.
func (t target) exists(path string, info fs.FileInfo) (target, error) {
	t.info = info
	switch {
	case info.IsDir():
		return t, errors.New("want a file, found a directory")
	case !info.Mode().IsRegular() || isOpenOutput(path):
		t.open = true
		return t, nil
	}
	if real, err := filepath.EvalSymlinks(t.path); err == nil {
		t.path = real
	}
	return t, nil
}

// isOpenOutput reports whether a path names a file that the shell has opened for this process: its
// user has decided there what happens to the old contents.
func isOpenOutput(path string) bool {
	for _, dir := range []string{"/dev/fd/", "/proc/self/fd/"} {
		if fd, ok := strings.CutPrefix(path, dir); ok {
			return fd != "0"
		}
	}
	return path == "/dev/stdout" || path == "/dev/stderr"
}

// openExisting opens a target that is never replaced or truncated.
func (t target) openExisting() (*os.File, error) {
	flag := os.O_WRONLY
	if t.info.Mode().IsRegular() {
		flag |= os.O_APPEND
	}
	return os.OpenFile(t.path, flag, 0)
}

// writer returns what passes on to an open file what is written, as a terminal may have it. Call
// flush at the end.
func (o Options) writer(f *os.File) (to io.Writer, flush func() error) {
	if o.Raw || !term.IsTerminal(int(f.Fd())) {
		return f, func() error { return nil }
	}
	shown := quote.NewShown(f)
	if o.Kind == JSON || o.Kind == JSONLines {
		shown = quote.NewShownJSON(f)
	}
	return shown, shown.Flush
}

// A Kind is what is written to a file or a directory, in words.
type Kind string

// The kinds. A name without an ending, or with one that stands for no format, will do for each.
const (
	Any         Kind = "" // bytes that the user knows
	Text        Kind = "text"
	Formed      Kind = "text of a form" // that the user knows
	JSONLines   Kind = "JSON lines"
	JSON        Kind = "JSON"
	HTML        Kind = "HTML"
	GGUF        Kind = "GGUF"
	NPY         Kind = "an array of NumPy"
	Safetensors Kind = "safetensors"
	Packed      Kind = "compressed by gpt"
	Session     Kind = "a session"
	Directory   Kind = "a directory"
)

// Endings are those of names that a kind may have, without the dot; a directory's stands for no
// format. JSON is text, and llama.cpp's prompt caches are called .bin.
func (k Kind) Endings() []string {
	return strings.Fields(map[Kind]string{
		Text:        "txt text md",
		Formed:      "txt text md json jsonl ndjson csv tsv xml yaml yml html htm xhtml svg",
		JSONLines:   "jsonl ndjson json txt",
		JSON:        "json jsonl ndjson txt",
		HTML:        "html htm xhtml",
		GGUF:        "gguf",
		NPY:         "npy",
		Safetensors: "safetensors",
		Packed:      "gptz",
		Session:     "session bin",
	}[k])
}

// formats are the endings that stand for a format, ours and others'.
const formats = " gguf ggml ggjt safetensors pt pth bin ckpt pkl pickle h5 hdf5 keras onnx " +
	"msgpack pb tflite npy npz mat gptz parquet arrow feather orc avro csv tsv xls xlsx ods db " +
	"sqlite json jsonl ndjson yaml yml xml txt text md html htm xhtml doc docx odt rtf epub pdf " +
	"ps eps svg png jpg jpeg gif webp bmp tif tiff zip gz tgz tar bz2 xz zst lz4 br 7z rar "

// ErrEnding is wrapped by the error for a name whose ending stands for another format.
var ErrEnding = errors.New("its ending stands for another format")

// Check returns an error for a name whose ending stands for another format. A directory's may have
// any, if a slash follows.
func (k Kind) Check(name string) error {
	ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")
	may := k.Endings()
	if k == Any || ending == "" || slices.Contains(may, ending) ||
		!strings.Contains(formats, " "+ending+" ") {
		return nil
	}
	want := "without ." + ending
	if last := len(may) - 1; last >= 0 {
		want = strings.Join(may[:last], ", .") + " or ." + may[last]
		want = "that ends in ." + strings.TrimPrefix(want, " or .")
	}
	return &endingError{fmt.Sprintf("%s: what is written is %s: want a name %s", name, k, want)}
}

type endingError struct{ text string }

func (e *endingError) Error() string { return e.text }
func (e *endingError) Unwrap() error { return ErrEnding }

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
		return known.path == file.path && known.use == file.use &&
			os.SameFile(known.info, file.info)
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
