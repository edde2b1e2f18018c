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

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
)

// Options say what may be overwritten. The zero value overwrites no regular file.
type Options struct {
	Kind    Kind    // what is written, which the ending of a name must not deny
	Force   bool    // regular files may be overwritten
	Raw     bool    // a terminal gets control characters as they are, and not as quote.Shown has them
	Private bool    // of WriteFile: only their owner may read and write the file
	Inputs  *Inputs // never overwritten, not even with Force
	Temps   *Temps  // records the temporary files; nil for a new one
}

// ErrExists is wrapped by the error for a regular file that exists, without Force.
var ErrExists = errors.New("there already")

// ErrNoName is the error for an empty path.
var ErrNoName = errors.New("want a path, found nothing")

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
