package input

// Streams: the bytes of a file, wherever it is stored. What is far away fails now and then, and is
// tried again.

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"picogpt/corpus/internal/storage"
)

// scheme is what stands before :// in a name, "" for a local one.
func scheme(name string) string {
	s, _, found := strings.Cut(name, "://")
	if !found {
		return ""
	}
	return s
}

// address is a name as Beam's filesystems take it: those of gs:// and s3:// read it as a URL, and
// would end it at a ? and change each %.
func address(name string) string {
	kind, rest, _ := strings.Cut(name, "://")
	if kind != "gs" && kind != "s3" {
		return name
	}
	bucket, key, _ := strings.Cut(rest, "/")
	return (&url.URL{Scheme: kind, Host: bucket, Path: "/" + key}).String()
}

// A stream is the bytes of a file from its beginning. If reading fails and the file is not local, it
// opens the file again and reads on from where it was.
type stream struct {
	ctx   context.Context
	name  string
	store filesystem.Interface
	file  io.ReadCloser // nil when it is to be opened
	err   error         // what ended it

	at     int64 // bytes read
	fails  int   // since it last came far
	failed int64 // where that was
}

const (
	mostFails = 3                      // that may follow each other
	farEnough = 1 << 20                // bytes between two failures that have nothing in common
	firstWait = 100 * time.Millisecond // before the file is opened again; then three times as long
)

func newStream(ctx context.Context, name string) (*stream, error) {
	store, err := storage.System(ctx, name)
	if err != nil {
		return nil, err
	}
	return &stream{ctx: ctx, name: name, store: store}, nil
}

// Read is io.Reader's. An error stays.
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

// open opens the file if it is not, and reads up to where the stream is.
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

// again waits and reports whether reading may be tried again.
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

// seek moves to a byte, and reports whether the file can do that.
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
