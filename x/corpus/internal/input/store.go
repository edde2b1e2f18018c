package input

// Streams: the bytes of a file in any storage. Remote reads that fail are tried again.

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"picogpt/x/corpus/internal/storage"
)

// scheme returns the part of a name before ://, or "" for a local file.
func scheme(name string) string {
	s, _, found := strings.Cut(name, "://")
	if !found {
		return ""
	}
	return s
}

// address returns a name in the form for Beam's filesystems: those of gs:// and s3:// parse it as a
// URL, which would end at a ? and decode each %.
func address(name string) string {
	kind, rest, _ := strings.Cut(name, "://")
	if kind != "gs" && kind != "s3" {
		return name
	}
	bucket, key, _ := strings.Cut(rest, "/")
	return (&url.URL{Scheme: kind, Host: bucket, Path: "/" + key}).String()
}

// A stream is the bytes of a file from its beginning. If reading fails and the file is not local,
// the stream opens the file again and continues at the same byte.
type stream struct {
	ctx   context.Context
	name  string
	store filesystem.Interface
	file  io.ReadCloser // nil if it must be opened
	err   error         // the error that ended it

	at     int64 // bytes read
	fails  int   // failures since it last made progress
	failed int64 // the byte of the last failure
}

const (
	mostFails = 3       // consecutive failures
	farEnough = 1 << 20 // bytes between two failures that count separately
	// before the file is opened again; three times as long each time
	firstWait = 100 * time.Millisecond
)

func newStream(ctx context.Context, name string) (*stream, error) {
	store, err := storage.System(ctx, name)
	if err != nil {
		return nil, err
	}
	return &stream{ctx: ctx, name: name, store: store}, nil
}

// Read implements io.Reader. After an error it always returns that error.
func (s *stream) Read(b []byte) (n int, err error) {
	for s.err == nil {
		if s.err = s.ctx.Err(); s.err != nil {
			break
		}
		if err = s.open(); err == nil {
			n, err = s.file.Read(b)
			s.at += int64(n)
		}
		switch {
		case err == io.EOF:
			s.err = err
		case err != nil && !s.again():
			s.err = plain(err)
		}
		if n > 0 {
			return n, nil
		}
	}
	return 0, s.err
}

// open opens the file if necessary, and reads up to the stream's position.
func (s *stream) open() (err error) {
	if s.file != nil {
		return nil
	}
	if s.file, err = s.store.OpenRead(s.ctx, address(s.name)); err != nil {
		s.file = nil
		return err
	}
	if _, err = io.CopyN(io.Discard, s.file, s.at); err == io.EOF {
		return fmt.Errorf("changed while it was read: it has fewer than %d bytes", s.at)
	}
	return err
}

// again waits and reports whether to try again.
func (s *stream) again() bool {
	if s.at-s.failed > farEnough {
		s.fails = 0
	}
	s.failed = s.at
	if scheme(s.name) == "" || s.fails == mostFails {
		return false
	}
	s.closeFile()
	wait := firstWait
	for range s.fails {
		wait *= 3
	}
	s.fails++
	select {
	case <-s.ctx.Done():
	case <-time.After(wait):
	}
	return true
}

// seek moves to a byte, and reports whether the file supports that.
func (s *stream) seek(at int64) bool {
	if s.open() != nil {
		return false
	}
	file, ok := s.file.(io.Seeker)
	if ok {
		_, err := file.Seek(at, io.SeekStart)
		s.at, ok = at, err == nil
	}
	return ok
}

func (s *stream) closeFile() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

func (s *stream) Close() {
	s.closeFile()
	s.store.Close()
}
