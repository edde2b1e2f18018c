// Package storage writes whole files on any of Beam's filesystems: a folder, gs://, s3://. A file
// is complete or does not exist, however the process ends.
package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"picogpt/internal/outfile"
	"picogpt/internal/quote"
)

// partial is the end of the names of incomplete files in a folder.
const partial = ".partial"

// local reports whether a name has no scheme: it is that of a file in a folder.
func local(name string) bool { return !strings.Contains(name, "://") }

// Join returns the name of a file in a folder.
func Join(folder, name string) string {
	if local(folder) {
		return filepath.Join(folder, name)
	}
	return strings.TrimSuffix(folder, "/") + "/" + name
}

// System opens the filesystem of a name. Errors do not contain the name.
func System(ctx context.Context, name string) (system filesystem.Interface, err error) {
	defer func() { // Beam's clients panic if they are not configured
		if p := recover(); p != nil {
			err = errors.New(strings.Join(strings.Fields(fmt.Sprint(p)), " "))
		}
	}()
	if system, err = filesystem.New(ctx, name); err != nil {
		kind, _, _ := strings.Cut(name, "://")
		return nil, fmt.Errorf("no files of %s:// are known, want local ones, gs:// or s3://",
			quote.Plain(kind, 40))
	}
	return system, nil
}

// open is System with the name in errors.
func open(ctx context.Context, name string) (filesystem.Interface, error) {
	system, err := System(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return system, nil
}

// Open opens a file to read it.
func Open(ctx context.Context, name string) (io.ReadCloser, error) {
	if local(name) {
		return os.Open(name)
	}
	system, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	r, err := system.OpenRead(ctx, name)
	if err != nil {
		system.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &reader{r, system}, nil
}

// A reader also closes its filesystem.
type reader struct {
	io.ReadCloser
	system filesystem.Interface
}

func (r *reader) Close() error { return errors.Join(r.ReadCloser.Close(), r.system.Close()) }

// ReadFile returns the bytes of a file. If there is none the error is fs.ErrNotExist.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	if local(name) {
		return os.ReadFile(name)
	}
	if there, err := List(ctx, name); err != nil {
		return nil, err
	} else if len(there) == 0 {
		return nil, fs.ErrNotExist
	}
	r, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

// List lists the files that match a pattern, sorted.
func List(ctx context.Context, pattern string) ([]string, error) {
	system, err := open(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer system.Close()
	names, err := system.List(ctx, pattern)
	slices.Sort(names)
	return names, err
}

// Remove removes files. It ignores files that do not exist.
func Remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		if local(name) {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		system, err := open(ctx, name)
		if err != nil {
			return err
		}
		if r, ok := system.(filesystem.Remover); ok {
			err = r.Remove(ctx, name)
		}
		if err = errors.Join(err, system.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// RemoveFolder removes a folder and its files. Stores have no folders, only names.
func RemoveFolder(ctx context.Context, folder string) error {
	if local(folder) {
		return os.RemoveAll(folder)
	}
	names, err := List(ctx, Join(folder, "*"))
	return errors.Join(err, Remove(ctx, names...))
}

// Clean removes the files that killed writers have left in a folder. Nobody may be writing to the
// folder.
func Clean(ctx context.Context, folder string) error {
	if !local(folder) {
		return nil // objects appear only when they are complete
	}
	names, err := List(ctx, Join(folder, ".*"+partial))
	return errors.Join(err, Remove(ctx, names...))
}

// A File is a file that is being written.
type File struct {
	name   string
	w      io.WriteCloser
	system filesystem.Interface // nil for a file in a folder
	cancel context.CancelFunc   // ends an upload without creating an object
	temp   string               // the temporary name of a file in a folder
	done   bool
}

// Create begins a file. It gets its name in Commit, which replaces an existing file.
func Create(ctx context.Context, name string) (*File, error) {
	if !local(name) {
		return upload(ctx, name)
	}
	folder := filepath.Dir(name)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	temp := filepath.Join(folder, "."+filepath.Base(name)+"."+rand.Text()+partial)
	w, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	return &File{name: name, w: w, temp: temp, cancel: func() {}}, nil
}

// upload begins an object in a store.
func upload(ctx context.Context, name string) (*File, error) {
	ctx, cancel := context.WithCancel(ctx)
	system, err := open(ctx, name)
	if err != nil {
		cancel()
		return nil, err
	}
	w, err := system.OpenWrite(ctx, name)
	if err != nil {
		cancel()
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), system.Close())
	}
	return &File{name: name, w: w, system: system, cancel: cancel}, nil
}

func (f *File) Write(b []byte) (int, error) { return f.w.Write(b) }

// Commit gives the file its name.
func (f *File) Commit() error {
	if f.done = true; f.system != nil {
		defer f.cancel()
		return errors.Join(f.w.Close(), f.system.Close())
	}
	err := f.w.Close()
	if err == nil {
		err = os.Rename(f.temp, f.name)
	}
	if err != nil {
		os.Remove(f.temp)
	}
	return err
}

// Abort discards the file, unless it is committed.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	f.cancel()
	f.w.Close()
	if f.system != nil {
		f.system.Close()
	} else {
		os.Remove(f.temp)
	}
}

// WriteFile writes a whole file.
func WriteFile(ctx context.Context, name string, data []byte) error {
	f, err := Create(ctx, name)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// All files of a store whose names begin with a prefix, in any folders.

// Tree returns the files of gs:// or s3:// whose names begin with a prefix, which has no wildcards.
func Tree(ctx context.Context, prefix string) ([]string, error) {
	kind, rest, _ := strings.Cut(prefix, "://")
	bucket, key, found := strings.Cut(rest, "/")
	switch {
	case !found:
		return nil, errors.New("a wildcard in the name of a bucket")
	case kind == "gs":
		address := url.URL{Scheme: kind, Host: bucket, Path: "/" + key + "**"}
		system, err := System(ctx, prefix)
		if err != nil {
			return nil, err
		}
		defer system.Close()
		return system.List(ctx, address.String()) // Beam's ** matches any text
	case kind == "s3":
		return treeS3(ctx, bucket, key)
	}
	return nil, fmt.Errorf("** in names of %s://, want local ones, gs:// or s3://", kind)
}

// treeS3 is Tree for a bucket of S3, where Beam lists only single folders.
func treeS3(ctx context.Context, bucket, prefix string) (names []string, _ error) {
	c, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return nil, err
	}
	pages := s3.NewListObjectsV2Paginator(s3.NewFromConfig(c),
		&s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String(prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, object := range page.Contents {
			names = append(names, "s3://"+bucket+"/"+aws.ToString(object.Key))
		}
	}
	return names, nil
}

// Locks: one run at a time in a folder.

// lockName is the locked file in a folder. It is removed with the lock.
const lockName = ".lock"

// ErrTaken says that another run works in a folder.
var ErrTaken = errors.New("another run is at work there")

// Lock creates and locks a folder until release is called or the process ends: for one process, or
// shared by several. Stores and file systems without locks have no locks.
func Lock(folder string, shared bool) (release func(), err error) {
	if !local(folder) {
		return func() {}, nil
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, err
	}
	try, name := outfile.TryLock, Join(folder, lockName)
	if shared {
		try = outfile.TryLockShared
	}
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, err
		}
		if taken, _ := try(f); taken {
			f.Close()
			return nil, ErrTaken
		}
		if !there(f, name) { // the process that had the lock has removed the file
			f.Close()
			continue
		}
		return func() {
			if !shared {
				os.Remove(name)
			}
			f.Close()
		}, nil
	}
}

// there reports whether a file still has its name.
func there(f *os.File, name string) bool {
	ours, err := f.Stat()
	if err != nil {
		return true
	}
	now, err := os.Stat(name)
	return err == nil && os.SameFile(ours, now)
}
