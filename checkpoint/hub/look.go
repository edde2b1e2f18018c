// Looking into a repository by requests for parts of its files. Nothing is written.

package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"slices"

	"picogpt/internal/folder"
)

// A Remote is a checkpoint at the hub. It is a folder of its files, an fs.FS for
// checkpoint.OpenFS, which can be read until the context of Look ends, by one goroutine
// at a time. Of the weights, parts that are read are requested; other files are requested whole, and
// their hashes are checked.
type Remote struct {
	Commit  string
	Weights string // the name in the folder of the weights, or of the index of their shards
	Size    int64  // of all files of the weights

	ctx    context.Context
	repo   *repo
	small  folder.Memory     // files that were read
	far    map[string]*parts // the weights
	absent map[string]bool
	err    error
}

// Look finds the checkpoint of a name at the hub. If files is given, its weights are those. It does
// not use the cache, and writes nothing. The caller must call Close.
func Look(ctx context.Context, name Name, o Options, files ...string) (*Remote, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	r, err := newRepo(name, o.withDefaults(), nil)
	if err != nil {
		return nil, err
	}
	l := &Remote{ctx: ctx, repo: r, small: folder.Memory{}, far: map[string]*parts{},
		absent: map[string]bool{}}
	if err := l.look(ctx, files); err != nil {
		r.close()
		return nil, err
	}
	return l, nil
}

func (l *Remote) look(ctx context.Context, names []string) error {
	const config = folder.Config
	r := l.repo
	if err := r.settle(ctx, r.at(config)); err != nil {
		return err
	}
	if r.alone != nil {
		return fmt.Errorf("%s: %w", r.name, r.alone)
	}
	l.Commit = r.commit
	has, err := r.find(ctx, config)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names, err = r.weights(ctx, has)
	} else {
		names, err = r.whole(ctx, names)
	}
	if err != nil {
		return err
	}
	if slices.Contains(names, adapterFiles[0]) {
		return fmt.Errorf("%s: %w, but an adapter: gpt pull takes it", r.name.Repo, ErrNoWeights)
	}
	if err := r.wantAll(ctx, names, names); err != nil {
		return err
	}
	last := names[len(names)-1]
	r.o.Folder = path.Join(r.o.Folder, path.Dir(last))
	l.Weights = path.Base(last)
	for _, name := range names {
		if path.Ext(name) != ".json" {
			m := r.metas[r.at(path.Base(name))]
			l.far[path.Base(name)] = &parts{remote: l, meta: m}
			l.Size += max(m.size, 0)
		}
	}
	return nil
}

// Path returns the path of a file for messages.
func (l *Remote) Path(name string) string { return l.repo.name.Repo + "/" + l.repo.at(name) }

// Open implements fs.FS. A file of the weights is a *folder.FarFile.
func (l *Remote) Open(name string) (fs.File, error) {
	fail := func(err error) (fs.File, error) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if p := l.far[name]; p != nil {
		if p.meta.size < 0 {
			return fail(errNoSize)
		}
		return folder.NewFarFile(p, name, p.meta.size), nil
	}
	if _, known := l.small[name]; known || !fs.ValidPath(name) || name == "." {
		return l.small.Open(name)
	}
	has, err := false, l.err
	if err == nil && !l.absent[name] {
		has, err = l.repo.find(l.ctx, name)
	}
	if err == nil && has {
		limit := int64(maxSmall)
		if name == folder.Config {
			limit = maxIndex
		}
		var b []byte
		if b, err = l.repo.read(l.ctx, name, min(limit, mostLooked-l.repo.fetched)); err == nil {
			l.small[name] = b
		}
	}
	switch {
	case err != nil:
		l.err = err
		return fail(err)
	case !has:
		l.absent[name] = true
		return fail(fs.ErrNotExist)
	}
	return l.small.Open(name)
}

// Err returns the first error of a request. Readers of files may have passed over it.
func (l *Remote) Err() error { return l.err }

// Fetched returns the number of bytes of files that were read.
func (l *Remote) Fetched() int64 { return l.repo.fetched }

// Close closes the connections.
func (l *Remote) Close() { l.repo.close() }

var errNoSize = errors.New("the hub does not say the file's size")

// parts reads parts of a file by requests. It keeps what it has read.
type parts struct {
	remote *Remote
	meta   *meta
	have   []part
}

// A part is bytes of a file from byte at on.
type part struct {
	at    int64
	bytes []byte
}

const (
	usual      = 100_000  // bytes of a request, enough for most headers and directories
	mostLooked = 96 << 20 // bytes that all requests of a Remote may fetch
)

// ReadAt implements io.ReaderAt, for one goroutine at a time.
func (p *parts) ReadAt(b []byte, from int64) (n int, err error) {
	for n < len(b) && from+int64(n) < p.meta.size {
		at := from + int64(n)
		i := slices.IndexFunc(p.have, func(x part) bool {
			return x.at <= at && at < x.at+int64(len(x.bytes))
		})
		if i >= 0 {
			n += copy(b[n:], p.have[i].bytes[at-p.have[i].at:])
			continue
		}
		x := part{at: min(at, max(p.meta.size-usual, 0))}
		end := min(max(at+int64(len(b)-n), x.at+usual), p.meta.size)
		for _, y := range p.have { // nothing is requested twice
			if y.at > at {
				end = min(end, y.at)
			} else {
				x.at = max(x.at, y.at+int64(len(y.bytes)))
			}
		}
		x.bytes = make([]byte, end-x.at)
		if err := p.fetch(x.bytes, x.at); err != nil {
			p.remote.err = p.remote.repo.failed(p.meta.file, err)
			return n, err
		}
		p.have = append(p.have, x)
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// fetch requests len(b) bytes of the file, from byte from on.
func (p *parts) fetch(b []byte, from int64) error {
	if len(b) == 0 {
		return nil
	}
	r, ctx := p.remote.repo, p.remote.ctx
	if r.fetched+int64(len(b)) > mostLooked {
		return fmt.Errorf("headers of more than %d bytes", mostLooked)
	}
	span := fmt.Sprintf("bytes=%d-%d", from, from+int64(len(b))-1)
	err := r.persist(ctx, p.meta.file, func() int64 { return 0 }, func() error {
		resp, err := r.get(ctx, p.meta.location, "Range", span)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		switch resp.StatusCode {
		case http.StatusOK:
			if from > 0 {
				return errors.New("the server sends no parts of files")
			}
		case http.StatusPartialContent:
			at, size, err := parseRange(resp.Header.Get("Content-Range"))
			if err == nil && (at != from || size != p.meta.size) {
				err = fmt.Errorf("bytes from %d on of %d, want %d of %d", at, size, from,
					p.meta.size)
			}
			if err != nil {
				return err
			}
		default:
			return r.refusal(resp, p.meta.commit, p.meta.file)
		}
		_, err = io.ReadFull(resp.Body, b)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return &passing{error: errCut}
		}
		return err
	})
	return err
}

// bytes returns the bytes of a small file, and checks their hash.
func (r *repo) bytes(ctx context.Context, m *meta, limit int64) (b []byte, err error) {
	err = r.persist(ctx, m.file, func() int64 { return 0 }, func() (err error) {
		b, err = r.answer(ctx, m.location, limit, m.commit, m.file)
		return err
	})
	if err == nil {
		err = verify(ctx, bytes.NewReader(b), int64(len(b)), m.etag)
	}
	if err != nil {
		return nil, r.failed(m.file, err)
	}
	return b, nil
}
