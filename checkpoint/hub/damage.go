// Damage: files of the cache whose bytes are not those of the hub, and how Pull mends them.

package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/internal/folder"
)

// A Checked is a file of a snapshot and what is wrong with it.
type Checked struct {
	File string
	Size int64
	Err  error // nil: its bytes have the hash that the hub gave it
}

// ErrNoHash is the Err of a file whose hash the cache does not know: it is no link, and nothing beside
// it tells.
var ErrNoHash = errors.New("the cache does not know its hash")

// Verify checks the hashes of a snapshot's files, and reports each when it is done. Links that lead
// nowhere are files too. It sends no request. The error is that of the context.
func (s *Snapshot) Verify(ctx context.Context, done func(Checked)) error {
	if ctx == nil {
		return errNoContext
	}
	names, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		size, err := s.check(ctx, name, s.etag(name))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		done(Checked{name, size, err})
	}
	return nil
}

// names returns the names of the snapshot's files and links, with slashes.
func (s *Snapshot) names() ([]string, error) {
	names, err := walk(s.Dir)
	if err != nil {
		err = fmt.Errorf("%s: %w", s.Dir, folder.Cause(err))
	}
	return slices.DeleteFunc(names, func(name string) bool {
		return checkFile(name) != nil || strings.HasPrefix(name, downloads)
	}), err
}

// downloads is the folder where huggingface_hub says of a folder's files what they are, if it has
// downloaded them for use outside the cache.
const downloads = ".cache/huggingface/"

// etag returns the hash of a file that the cache knows: the name of the blob that it links to, or
// what huggingface_hub has recorded of it. It is "" if there is none.
func (s *Snapshot) etag(file string) string {
	to, err := os.Readlink(filepath.Join(s.Dir, native(file)))
	if etag := filepath.Base(to); err == nil && checkEtag(etag) == nil {
		return etag
	}
	const most = 64 << 20
	var tree struct {
		Files map[string]struct {
			Blob   string `json:"blob_id"`
			SHA256 string `json:"lfs_sha256"` // of a large file, whose blob is a pointer
		}
	}
	repo := folder.Dir(filepath.Join(s.Dir, "..", ".."))
	text, err := folder.Read(repo, filepath.Join("trees", s.Commit+".json"), most)
	if err == nil && json.Unmarshal(text, &tree) == nil {
		known := tree.Files[file]
		if etag := cmp.Or(known.SHA256, known.Blob); checkEtag(etag) == nil {
			return etag
		}
	}
	text, _ = folder.Read(folder.Dir(s.Dir), native(downloads+"download/"+file+".metadata"), 1<<10)
	if lines := strings.Fields(string(text)); len(lines) == 3 && checkEtag(lines[1]) == nil {
		return lines[1] // after the commit
	}
	return ""
}

// check reads a file of the snapshot. It returns an error unless the file has the hash etag, or, if
// that is not known, the hash that is the name of a blob: a cache that was copied has both.
func (s *Snapshot) check(ctx context.Context, file, etag string) (size int64, err error) {
	f, size, err := folder.Open(folder.Dir(s.Dir), native(file))
	if err != nil {
		return 0, folder.Cause(err)
	}
	defer f.Close()
	etags := []string{etag}
	if etag == "" {
		etags = s.blobs(size)
	}
	err = ErrNoHash
	for _, etag := range etags {
		if _, err = f.(io.Seeker).Seek(0, io.SeekStart); err == nil {
			err = verify(ctx, f, size, etag)
		}
		if !isHash(err) {
			return size, err
		}
	}
	if wrong, ok := errors.AsType[*hashError](err); ok {
		err = fmt.Errorf("damaged: %d bytes whose %s is not the hub's", size,
			strings.TrimPrefix(wrong.kind, "git's "))
	}
	return size, err
}

// blobs returns the names of the repository's blobs of that size.
func (s *Snapshot) blobs(size int64) (etags []string) {
	entries, _ := os.ReadDir(filepath.Join(s.Dir, "..", "..", "blobs"))
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && info.Size() == size && checkEtag(e.Name()) == nil {
			etags = append(etags, e.Name())
		}
	}
	return etags
}

// mend finds the damaged files of the snapshot and takes their links away, so that they are
// downloaded again. It returns their names.
func (r *repo) mend(ctx context.Context) (damaged []string, err error) {
	s := &Snapshot{Name: r.name, Commit: r.commit, Dir: r.store.snapshot(r.commit)}
	names, err := s.names()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	total, done := s.Size(), int64(0)
	for _, name := range names {
		etag := s.etag(name)
		if etag == "" && r.alone == nil {
			m, err := r.ask1(ctx, r.commit, name, false)
			if err != nil {
				return nil, r.failed(name, err)
			}
			etag = m.etag
		}
		if info, err := os.Stat(filepath.Join(s.Dir, native(name))); err == nil {
			r.o.Progress(Progress{File: name, Total: info.Size(), AllDone: done, AllTotal: total})
		}
		size, wrong := s.check(ctx, name, etag)
		done += size
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case wrong == nil:
			continue
		case errors.Is(wrong, ErrNoHash):
			r.note(name, "not checked, because %v", wrong)
			continue
		case r.alone != nil:
			return nil, fmt.Errorf("%s: %s: %w, and %w", r.name, name, wrong, r.alone)
		}
		r.note(name, "%v: downloaded again", wrong)
		if err := r.store.open(); err != nil {
			return nil, err
		}
		to := path.Join("snapshots", r.commit, name)
		if err := r.store.root.Remove(to); err != nil {
			return nil, r.store.failed(to, err)
		}
		damaged = append(damaged, name)
	}
	return damaged, nil
}
