// Folder: several files that appear together or not at all.

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"picogpt/internal/folder"
)

// A Folder is written file by file and appears with Commit. If there is no folder yet, it is built
// under a temporary name beside it and renamed. If there is one, each file is written under a
// temporary name in it, and Commit renames them in the order of Write; other files in it stay, and
// a link with the file's name is replaced, not followed. Before Commit nothing can be mistaken for
// the result; after Close without Commit nothing is left.
type Folder struct {
	path    string // as given, without slashes at the end
	options Options
	there   bool     // the folder existed before
	made    []string // parent folders that were created for it
	work    string   // the folder in which files are written; "" before the first one
	files   []*written
}

// A written file is complete under its temporary name.
type written struct {
	temp, name string
	backup     string   // a second name of the old file, during Commit
	lock       *os.File // of the backup
	renamed    bool     // temp was renamed to name
}

// NewFolder checks that path may hold files with these names, and creates nothing. It refuses a
// folder that is an input or has a file that is one and would be replaced. Without Force it also
// refuses if a regular file with one of the names exists.
func NewFolder(path string, names []string, o Options) (*Folder, error) {
	if o.Temps == nil {
		o.Temps = &Temps{}
	}
	f := &Folder{path: trimSlashes(path), options: o}
	if path == "" {
		return nil, ErrNoName
	}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(f.path); err == nil {
			return nil, fmt.Errorf("%s: want a directory, found a link to nothing", path)
		}
		return f, o.Kind.Check(path)
	}
	if err == nil {
		err = o.Inputs.Refuse(info)
	}
	switch {
	case err != nil:
		return nil, named(path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s: want a directory, found %s", path, folder.Kind(info.Mode()))
	}
	if err := o.Kind.Check(path); err != nil {
		return nil, err
	}
	f.there = true
	return f, f.check(names)
}

// check checks the files in the folder.
func (f *Folder) check(names []string) error {
	list, err := os.ReadDir(f.path)
	if err != nil {
		return named(f.path, err)
	}
	for _, e := range list {
		info, err := os.Stat(f.in(e.Name()))
		if err == nil && info.Mode().IsRegular() {
			if err := f.options.Inputs.Refuse(info); err != nil {
				return fmt.Errorf("%s: %w", f.in(e.Name()), err)
			}
		}
	}
	// the last one completes the result, so its error is the most useful
	for _, name := range slices.Backward(names) {
		info, err := os.Lstat(f.in(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return named(f.in(name), err)
		case info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular():
			return fmt.Errorf("%s: want a regular file, found %s", f.in(name),
				folder.Kind(info.Mode()))
		case !f.options.Force:
			return fmt.Errorf("%s: %w", f.in(name), ErrExists)
		}
	}
	return nil
}

// Write adds a file with the bytes that write writes. Its name must not contain a folder.
func (f *Folder) Write(ctx context.Context, name string, write func(w io.Writer) error) error {
	if err := f.begin(); err != nil {
		return err
	}
	like, err := os.Lstat(f.in(name))
	if err != nil || !like.Mode().IsRegular() {
		like = nil
	}
	temp, err := f.options.writeTemp(ctx, f.work, like, write)
	if err != nil {
		return named(f.in(name), err)
	}
	f.files = append(f.files, &written{temp: temp, name: name})
	return nil
}

// begin creates the folder in which files are written.
func (f *Folder) begin() (err error) {
	if f.work != "" {
		return nil
	}
	if f.there {
		f.work = f.path
		return nil
	}
	parent := folderOf(f.path)
	if err := f.makeParents(parent); err != nil {
		return err
	}
	mkdir := func(path string) error { return os.Mkdir(path, 0o777) }
	f.work, err = f.options.Temps.create(parent, beside, mkdir)
	return named(f.path, err)
}

// makeParents creates the parent folders, and records those that did not exist.
func (f *Folder) makeParents(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if up := folderOf(trimSlashes(dir)); up != dir {
		if err := f.makeParents(up); err != nil {
			return err
		}
	}
	return f.options.Temps.hold(func() error {
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) { // another process was faster, or dir ends in ".."
			return nil
		} else if err != nil {
			return named(dir, err)
		}
		f.made = append(f.made, dir)
		f.options.Temps.setParents(f.made)
		return nil
	})
}

// Commit gives the files their names. If it returns an error, nothing has changed.
func (f *Folder) Commit(ctx context.Context) error {
	if err := errors.Join(f.begin(), ctx.Err()); err != nil {
		return err
	}
	return f.options.Temps.hold(func() error {
		if err := f.rename(); err != nil {
			f.undo()
			return err
		}
		for _, file := range f.files {
			f.options.Temps.forget(file.temp)
			if file.backup != "" {
				os.Remove(file.backup)
			}
			file.lock.Close()
		}
		f.options.Temps.forget(f.work)
		f.options.Temps.setParents(nil)
		f.files, f.made, f.work = nil, nil, ""
		return nil
	})
}

// rename renames the files, up to the first error.
func (f *Folder) rename() error {
	for _, file := range f.files {
		to := join(f.work, file.name)
		if f.there && f.options.Force {
			// A second name keeps the old file until all files are renamed. Not every system
			// supports that.
			file.lock, _ = lockTemp(to) // before it has that name
			if backup := file.temp + "~"; os.Link(to, backup) == nil {
				file.backup = backup
			}
		}
		if err := f.options.move(file.temp, to); err != nil {
			return named(f.in(file.name), err)
		}
		file.renamed = true
	}
	syncFolder(f.work)
	if f.there {
		return nil
	}
	err := os.Rename(f.work, f.path)
	if errors.Is(err, fs.ErrExist) {
		err = ErrExists
	}
	if err != nil {
		return named(f.path, err)
	}
	syncFolder(folderOf(f.path))
	return nil
}

// undo restores the files that rename has replaced in an existing folder.
func (f *Folder) undo() {
	if !f.there {
		return // Close removes all of it
	}
	for _, file := range f.files {
		switch to := join(f.work, file.name); {
		case file.backup != "":
			os.Rename(file.backup, to)
			os.Remove(file.backup) // in case it is still a name of the same file
		case file.renamed:
			os.Remove(to)
		}
		file.lock.Close()
	}
}

// Close removes everything that was not committed.
func (f *Folder) Close() {
	for _, file := range f.files {
		f.options.Temps.Remove(file.temp)
	}
	if f.work != "" && !f.there {
		f.options.Temps.Remove(f.work)
	}
	f.options.Temps.hold(func() error {
		removeEmpty(f.made)
		f.options.Temps.setParents(nil)
		return nil
	})
	f.files, f.made, f.work = nil, nil, ""
}

// in returns the path of a file in the folder.
func (f *Folder) in(name string) string { return join(f.path, name) }

// The functions below do not clean paths as package filepath does: if dir is a link, dir/.. is not
// the folder that contains dir.

// trimSlashes removes slashes, and a final dot name, from the end of a path.
func trimSlashes(path string) string {
	root := len(filepath.VolumeName(path)) + 1
	for len(path) > root && os.IsPathSeparator(path[len(path)-1]) {
		path = path[:len(path)-1]
	}
	if last := len(path) - 1; last > root && path[last] == '.' && os.IsPathSeparator(path[last-1]) {
		return trimSlashes(path[:last])
	}
	return path
}

// folderOf returns the folder that contains path, which has no slash at its end.
func folderOf(path string) string {
	if dir, _ := filepath.Split(path); dir != "" {
		return dir
	}
	return "."
}

func join(dir, name string) string {
	if os.IsPathSeparator(dir[len(dir)-1]) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}
