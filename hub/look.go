// Looking into a repository by requests for parts of its files. Nothing is written.

package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"

	"picogpt/weights"
)

// A Remote is a checkpoint at the hub.
type Remote struct {
	Commit string
	Config []byte         // config.json; nil if there is none
	Files  []weights.File // of the weights, as Pull chooses them; each read is a request

	repo *repo
}

// Look finds the checkpoint of a name at the hub and reads its config. If files is given, its weights
// are those. It does not use the cache, and writes nothing. Files may be read until the context ends.
// The caller must call Close.
func Look(ctx context.Context, name Name, o Options, files ...string) (*Remote, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	r, err := newRepo(name, o.withDefaults(), nil)
	if err != nil {
		return nil, err
	}
	l := &Remote{repo: r}
	if err := l.look(ctx, files); err != nil {
		r.close()
		return nil, err
	}
	return l, nil
}

func (l *Remote) look(ctx context.Context, names []string) error {
	const config = "config.json"
	r := l.repo
	if err := r.settle(ctx, r.at(config)); err != nil {
		return err
	}
	if r.alone != nil {
		return fmt.Errorf("%s: %w", r.name, r.alone)
	}
	l.Commit = r.commit
	has, err := r.find(ctx, config)
	if err == nil && has {
		l.Config, err = r.read(ctx, config, maxIndex)
	}
	if err != nil {
		return err
	}
	if r.o.Part != "" && len(names) == 0 {
		names, err = r.withPart(ctx)
	} else if has && len(names) == 0 {
		names, err = r.namedWeights(ctx)
	}
	if err == nil && len(names) == 0 {
		names, err = r.listedWeights(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.wantAll(ctx, names, names); err != nil {
		return err
	}
	for _, name := range names {
		if path.Ext(name) != ".json" {
			m := r.metas[r.at(name)]
			l.Files = append(l.Files, weights.File{ReaderAt: &parts{ctx: ctx, repo: r, meta: m},
				Name: r.name.Repo + "/" + m.file, Size: m.size})
		}
	}
	return nil
}

// Fetched returns the number of bytes of files that were read.
func (l *Remote) Fetched() int64 { return l.repo.fetched }

// Close closes the connections.
func (l *Remote) Close() { l.repo.close() }

// parts reads parts of a file by requests. The first request fetches enough for most headers.
type parts struct {
	ctx   context.Context
	repo  *repo
	meta  *meta
	start []byte // of the file
}

// usual is the number of bytes of the first request.
const usual = 100_000

// ReadAt implements io.ReaderAt, for one goroutine at a time.
func (p *parts) ReadAt(b []byte, from int64) (int, error) {
	if p.meta.size < 0 {
		return 0, errors.New("the hub does not say the file's size")
	}
	if p.start == nil && from < usual {
		start := make([]byte, min(usual, p.meta.size))
		if err := p.fetch(start, 0); err != nil {
			return 0, err
		}
		p.start = start
	}
	n := copy(b, p.start[min(from, int64(len(p.start))):])
	wanted := min(int64(len(b)), max(p.meta.size-from, 0))
	if int64(n) < wanted {
		if err := p.fetch(b[n:wanted], from+int64(n)); err != nil {
			return n, err
		}
	}
	if wanted < int64(len(b)) {
		return int(wanted), io.EOF
	}
	return len(b), nil
}

// fetch requests len(b) bytes of the file, from byte from on.
func (p *parts) fetch(b []byte, from int64) error {
	if len(b) == 0 {
		return nil
	}
	span := fmt.Sprintf("bytes=%d-%d", from, from+int64(len(b))-1)
	err := p.repo.persist(p.ctx, p.meta.file, func() int64 { return 0 }, func() error {
		resp, err := p.repo.get(p.ctx, p.meta.location, "Range", span)
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
			return p.repo.refusal(resp, p.meta.commit, p.meta.file)
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
	err = r.persist(ctx, m.file, func() int64 { return 0 }, func() error {
		resp, err := r.get(ctx, m.location)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return r.refusal(resp, m.commit, m.file)
		}
		b, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
		return err
	})
	switch {
	case err != nil:
	case int64(len(b)) > limit:
		err = fmt.Errorf("more than %d bytes", limit)
	default:
		err = verify(ctx, bytes.NewReader(b), int64(len(b)), m.etag)
	}
	if err != nil {
		return nil, r.failed(m.file, err)
	}
	return b, nil
}
