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

// A Folder is written file by file and appears with Commit. Where there is no
// folder yet, it is built under another name beside its place and renamed.
// Where there is one, each file is written under another name in it and renamed
// by Commit in the order of Write; other files there stay, and a link of the
// file's name is replaced, not followed. Until Commit nothing can be mistaken
// for the result; after Close without Commit nothing is left.
type Folder struct {
	path    string // as given, without slashes at its end
	options Options
	there   bool     // the folder was there before
	made    []string // folders above it that were made for it
	work    string   // where files are written; "" before the first one
	files   []written
}

// A written file is complete under its temporary name.
type written struct {
	temp, name string
	backup     string   // another name of the file that was there, during Commit
	lock       *os.File // of the backup
	renamed    bool     // temp has become name
}

// NewFolder checks that path may hold files of these names, and makes nothing.
// A folder or a file in it that is one of the inputs is refused. So is, without
// Force, a regular file of one of the names.
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
		return f, nil
	}
	if err == nil {
		err = o.Inputs.Refuse(info)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, folder.Cause(err))
	case !info.IsDir():
		return nil, fmt.Errorf("%s: want a directory, found %s", path, folder.Kind(info.Mode()))
	}
	f.there = true
	return f, f.check(names)
}

// check looks at what is in the folder.
func (f *Folder) check(names []string) error {
	list, err := os.ReadDir(f.path)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, folder.Cause(err))
	}
	for _, e := range list {
		info, err := os.Stat(f.in(e.Name()))
		if err == nil && info.Mode().IsRegular() {
			if err := f.options.Inputs.Refuse(info); err != nil {
				return fmt.Errorf("%s: %w", f.in(e.Name()), err)
			}
		}
	}
	for _, name := range slices.Backward(names) { // the last one is the one that counts
		info, err := os.Lstat(f.in(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("%s: %w", f.in(name), folder.Cause(err))
		case info.Mode()&fs.ModeSymlink == 0 && !info.Mode().IsRegular():
			return fmt.Errorf("%s: want a regular file, found %s", f.in(name),
				folder.Kind(info.Mode()))
		case !f.options.Force:
			return fmt.Errorf("%s: %w", f.in(name), ErrExists)
		}
	}
	return nil
}

// Write adds a file of what write writes. Its name has no folder in it.
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
		return fmt.Errorf("%s: %w", f.in(name), folder.Cause(err))
	}
	f.files = append(f.files, written{temp: temp, name: name})
	return nil
}

// begin makes the folder that files are written into.
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
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, folder.Cause(err))
	}
	return nil
}

// makeParents makes the folders above the new one, and remembers those that were not there.
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
		if errors.Is(err, fs.ErrExist) { // somebody was quicker, or dir ends in ".."
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", dir, folder.Cause(err))
		}
		f.made = append(f.made, dir)
		f.options.Temps.setParents(f.made)
		return nil
	})
}

// Commit gives the files their names, or returns an error and changes nothing.
func (f *Folder) Commit(ctx context.Context) error {
	if err := errors.Join(f.begin(), ctx.Err()); err != nil {
		return err
	}
	return f.options.Temps.hold(func() error {
		if err := f.rename(); err != nil {
			f.undo()
			return err
		}
		for i := range f.files {
			f.options.Temps.forget(f.files[i].temp)
			if f.files[i].backup != "" {
				os.Remove(f.files[i].backup)
			}
			f.files[i].lock.Close()
		}
		f.options.Temps.forget(f.work)
		f.options.Temps.setParents(nil)
		f.files, f.made, f.work = nil, nil, ""
		return nil
	})
}

// rename does what Commit says, up to the first error.
func (f *Folder) rename() error {
	for i := range f.files {
		file := &f.files[i]
		to := join(f.work, file.name)
		if f.there && f.options.Force {
			// A second name keeps the old file until all is well. Not every system can.
			file.lock, _ = lockTemp(to) // before it has that name
			if backup := file.temp + "~"; os.Link(to, backup) == nil {
				file.backup = backup
			}
		}
		if err := f.options.move(file.temp, to); err != nil {
			return fmt.Errorf("%s: %w", f.in(file.name), folder.Cause(err))
		}
		file.renamed = true
	}
	syncFolder(f.work)
	if f.there {
		return nil
	}
	if err := os.Rename(f.work, f.path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: %w", f.path, ErrExists)
	} else if err != nil {
		return fmt.Errorf("%s: %w", f.path, folder.Cause(err))
	}
	syncFolder(folderOf(f.path))
	return nil
}

// undo brings back what rename has replaced in a folder that was there.
func (f *Folder) undo() {
	if !f.there {
		return // Close removes all of it
	}
	for i := range f.files {
		file := &f.files[i]
		switch to := join(f.work, file.name); {
		case file.backup != "":
			os.Rename(file.backup, to)
			os.Remove(file.backup) // where it was another name of the same file still
		case file.renamed:
			os.Remove(to)
		}
		file.lock.Close()
	}
}

// Close removes what Commit has not made the folder's own.
func (f *Folder) Close() {
	for i := range f.files {
		f.options.Temps.Remove(f.files[i].temp)
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

// The functions below do not clean paths as package filepath does: where dir is
// a link, dir/.. is not the folder that holds dir.

// trimSlashes removes slashes from the end of a path, and a last name that is a dot.
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

// folderOf returns the folder that holds path, which has no slash at its end.
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
