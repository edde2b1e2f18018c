// A repository at one commit, and which files it has according to the cache or the hub.

package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"

	"picogpt/internal/folder"
	"picogpt/internal/strictjson"
)

const (
	maxSmall = 64 << 20 // bytes of a file that holds no weights
	maxIndex = 1 << 20  // of an index of shards, as package weights reads them
)

// A repo is a repository at one commit, with what is known of it.
type repo struct {
	*client
	store  *store           // nil if nothing is stored
	commit string           // "" until it is known
	alone  error            // why no request is sent; nil if the hub may be asked
	metas  map[string]*meta // what the hub said of files that the cache does not have
	plan   []*meta          // of metas, those to download
	// bytes of files that are downloaded, and of all files to download, for Progress
	done, total int64
}

func newRepo(n Name, o Options, s *store) (*repo, error) {
	c, err := newClient(n, o)
	if err != nil {
		return nil, err
	}
	r := &repo{client: c, store: s, metas: map[string]*meta{}}
	if o.Offline {
		r.alone = ErrOffline
	}
	return r, nil
}

func (r *repo) close() {
	r.client.close()
	if r.store != nil {
		r.store.close()
	}
}

// has reports whether the cache has a file of the repository's folder.
func (r *repo) has(name string) bool { return r.store != nil && r.store.has(name) }

// markAbsent records in the cache that the commit has no such file.
func (r *repo) markAbsent(file string) {
	if r.store != nil {
		r.store.markAbsent(r.commit, file)
	}
}

// failed returns an error that names the file.
func (r *repo) failed(file string, err error) error {
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, // the others name it
		ErrNoFile, ErrNoRepo, ErrNoRevision, ErrGated, ErrDisabled, ErrToken} {
		if errors.Is(err, known) {
			return err
		}
	}
	return fmt.Errorf("%s/%s: %w", r.name.Repo, file, err)
}

// settle finds the commit of the revision by a request for a file. If there is no answer it takes
// the commit that the cache has.
func (r *repo) settle(ctx context.Context, file string) error {
	revision := r.name.revision()
	known := ""
	if r.store != nil {
		known = r.store.commitOf(revision)
	}
	if isCommit(revision) || r.alone != nil && known != "" {
		r.commit = cmp.Or(known, revision)
		return nil
	}
	if r.alone != nil {
		return fmt.Errorf("%s: %w, and %w", r.name, ErrAbsent, r.alone)
	}
	cached := known != "" && isDir(r.store.snapshot(known))
	m, err := r.ask1(ctx, revision, file, cached)
	if cached && ctx.Err() == nil && yields(err) {
		r.commit, r.alone = known, err
		r.note(file, "%v: what the cache has of %s is taken", err, r.name)
		return nil
	}
	if absent, ok := errors.AsType[*noFile](err); ok && isCommit(absent.commit) {
		r.commit = absent.commit
		r.markAbsent(file)
		return nil
	}
	if err != nil {
		return r.failed(file, err)
	}
	r.commit = m.commit
	r.know(m)
	return nil
}

// yields reports whether what the cache has is taken in place of an error, as in huggingface_hub: the
// hub is out of reach, or does not let this user see the repository.
func yields(err error) bool {
	var fault *passing
	return errors.As(err, &fault) || errors.Is(err, ErrGated) || errors.Is(err, ErrNoRepo) ||
		errors.Is(err, ErrToken) || errors.Is(err, ErrDisabled)
}

// ask1 asks the hub for the meta of a file. It tries again after errors unless hasty is set.
func (r *repo) ask1(
	ctx context.Context, revision, file string, hasty bool,
) (m *meta, err error) {
	try := func() error {
		m, err = r.head(ctx, revision, file)
		return err
	}
	if hasty {
		return m, try()
	}
	return m, r.persist(ctx, file, func() int64 { return 0 }, try)
}

// at returns the path of a file of the checkpoint in the repository.
func (r *repo) at(file string) string { return path.Join(r.o.Folder, file) }

// know stores what the hub said of a file that the cache does not have.
func (r *repo) know(m *meta) {
	if !r.has(pointer(r.commit, m.file)) {
		r.metas[m.file] = m
	}
}

// find reports whether the commit has a file of the checkpoint. It asks the hub if the cache does
// not know.
func (r *repo) find(ctx context.Context, file string) (bool, error) {
	return r.findAt(ctx, r.at(file))
}

// findAt is find for a path in the repository.
func (r *repo) findAt(ctx context.Context, file string) (bool, error) {
	if err := checkFile(file); err != nil {
		return false, fmt.Errorf("%s: %w", r.name.Repo, err)
	}
	switch {
	case r.metas[file] != nil, r.has(pointer(r.commit, file)):
		return true, nil
	case r.has(absentMark(r.commit, file)), r.alone != nil:
		return false, nil
	}
	m, err := r.ask1(ctx, r.commit, file, false)
	var absent *noFile
	switch {
	case errors.As(err, &absent):
		if absent.commit == r.commit {
			r.markAbsent(file)
		}
		return false, nil
	case err != nil:
		return false, r.failed(file, err)
	case m.commit != r.commit:
		return false, r.failed(file, fmt.Errorf("of commit %s, want %s", m.commit, r.commit))
	}
	r.know(m)
	return true, nil
}

// want plans the download of a file that was found, a path in the repository, unless the cache has
// it.
func (r *repo) want(file string) {
	m := r.metas[file]
	if m == nil || slices.Contains(r.plan, m) {
		return
	}
	r.plan = append(r.plan, m)
	r.total += max(m.size, 0)
}

// take downloads a file into the cache, unless it is there.
func (r *repo) take(ctx context.Context, m *meta, limit int64) error {
	if r.store.has(pointer(r.commit, m.file)) {
		return nil
	}
	if err := r.store.open(); err != nil {
		return err
	}
	at := Progress{File: m.file, Total: m.size}
	tell := func(p Progress) {
		p.AllDone, p.AllTotal = r.done+p.Done, max(r.total, r.done+p.Done)
		r.o.Progress(p)
	}
	unlock, held, err := r.store.lock(ctx, m.etag, func() {
		at.Note = "another process downloads it: waiting"
		tell(at)
		at.Note = ""
	})
	if err != nil {
		return err
	}
	defer unlock()
	err = r.land(ctx, m, limit, held, func(have int64) {
		at.Done = have
		tell(at)
	})
	if err != nil {
		return r.failed(m.file, err)
	}
	at.Done, at.Complete = max(m.size, at.Done), true
	tell(at)
	r.done += at.Done
	delete(r.metas, m.file)
	return nil
}

// land downloads a file and adds it to the snapshot. held says whether the caller has its lock.
func (r *repo) land(
	ctx context.Context, m *meta, limit int64, held bool, moved func(have int64),
) error {
	if r.store.has(pointer(r.commit, m.file)) { // another process has done it
		return nil
	}
	isNew := !r.isWhole(ctx, m)
	if isNew {
		if err := r.fill(ctx, m, limit, held, moved); err != nil {
			return err
		}
	}
	return r.store.link(r.commit, m.file, m.etag, isNew)
}

// isWhole reports whether the cache has the blob of a file, from another commit or another process.
// It checks the bytes.
func (r *repo) isWhole(ctx context.Context, m *meta) bool {
	f, size, err := folder.Open(folder.Dir(r.store.dir()), native(blob(m.etag)))
	if err != nil {
		return false
	}
	defer f.Close()
	return (m.size < 0 || m.size == size) && verify(ctx, f, size, m.etag) == nil
}

// fill downloads a blob. With the lock it continues after what an earlier download has left. After
// an error, what came stays for another download, unless it is wrong.
func (r *repo) fill(
	ctx context.Context, m *meta, limit int64, held bool, moved func(have int64),
) error {
	f, name, have, err := r.store.begin(m, held)
	if err != nil {
		return err
	}
	if have > 0 {
		r.note(m.file, "%d bytes of %d are there: the download continues", have, m.size)
	}
	keep := have > 0
	if err = r.room(m.size - have); err == nil {
		keep, err = r.fetch(ctx, m, limit, f, have, moved)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = r.store.publish(name, m.etag)
	}
	if err != nil && !(keep && held) {
		r.store.root.Remove(name)
	}
	return err
}

// room returns an error if the cache's disk does not have room for size bytes.
func (r *repo) room(size int64) error {
	if free, ok := freeSpace(r.store.dir()); ok && free < size {
		return fmt.Errorf("%s has room for %d bytes, want %d", r.store.cache, free, size)
	}
	return nil
}

// read returns the bytes of a file of the checkpoint. It downloads the file if the cache does not
// have it.
func (r *repo) read(ctx context.Context, file string, limit int64) ([]byte, error) {
	file = r.at(file)
	m := r.metas[file]
	if r.store == nil {
		return r.bytes(ctx, m, limit)
	}
	if m != nil {
		r.total += max(m.size, 0)
		if err := r.take(ctx, m, limit); err != nil {
			return nil, err
		}
	}
	name := native(pointer(r.commit, file))
	b, err := folder.Read(folder.Dir(r.store.dir()), name, limit)
	return b, r.store.failed(name, err)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

const (
	maxList  = 16 << 20 // bytes of the API's answer
	maxFiles = 100_000
)

// list returns the names of the repository's files.
func (r *repo) list(ctx context.Context) (files []string, err error) {
	u := r.address("api/models/" + r.name.Repo + "/revision/" + url.PathEscape(r.commit))
	const what = "the list of files"
	err = r.persist(ctx, what, func() int64 { return 0 }, func() error {
		b, err := r.answer(ctx, u, maxList, r.name.revision(), "")
		if err == nil {
			files, err = parseList(b)
		}
		return err
	})
	if err != nil {
		return nil, r.failed(what, err)
	}
	return files, nil
}

// answer returns the body of an answer, of at most limit bytes. A refusal is about a file.
func (r *repo) answer(
	ctx context.Context, u *url.URL, limit int64, revision, file string,
) ([]byte, error) {
	resp, err := r.get(ctx, u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, r.refusal(resp, revision, file)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("more than %d bytes", limit)
	}
	return b, err
}

// parseList reads {"siblings": [{"rfilename": NAME}, …]} and ignores other keys. A name that would
// leave the folder is an error.
func parseList(text []byte) (files []string, err error) {
	found := false
	err = strictjson.ReadObject(text, func(r *strictjson.Reader, key string) error {
		if key != "siblings" {
			_, err := r.Value()
			return err
		}
		found = true
		return r.Array(func(i int) error {
			if i == maxFiles {
				return fmt.Errorf("siblings: more than %d files", maxFiles)
			}
			name, err := parseSibling(r)
			files = append(files, name)
			return err
		})
	})
	if err == nil && !found {
		err = errors.New("want siblings, the list of the files, found none")
	}
	return files, err
}

func parseSibling(r *strictjson.Reader) (name string, err error) {
	err = r.Object(func(key string) (err error) {
		if key != "rfilename" {
			_, err = r.Value()
			return err
		}
		if name, err = r.String(); err == nil {
			err = checkFile(name)
		}
		return err
	})
	if err == nil && name == "" {
		err = errors.New("want rfilename, found none")
	}
	if err != nil {
		err = fmt.Errorf("siblings: %w", err)
	}
	return name, err
}
