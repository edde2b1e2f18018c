// Hashes: the name of a blob is the hash of its bytes.

package hub

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// checkEtag returns an error unless an etag is one of the hub's two hashes: the SHA-256 of a large
// file, or git's SHA-1 of a small one.
func checkEtag(etag string) error {
	if !isHex(etag, 2*sha256.Size) && !isHex(etag, 2*sha1.Size) {
		return fmt.Errorf("ETag %.80q, want a SHA-256 or git's SHA-1: is this a Hugging Face hub?",
			etag)
	}
	return nil
}

// A hashError says that bytes do not have the expected hash.
type hashError struct {
	kind, got, want string
}

func (e *hashError) Error() string {
	return fmt.Sprintf("%s %s, want %s as the hub says: nothing is kept", e.kind, e.got, e.want)
}

func isHash(err error) bool {
	var wrong *hashError
	return errors.As(err, &wrong)
}

// verify returns a *hashError unless r has size bytes whose hash is etag.
func verify(ctx context.Context, r io.Reader, size int64, etag string) error {
	h, kind := sha256.New(), "SHA-256"
	if len(etag) == 2*sha1.Size {
		h, kind = gitHash(size), "git's SHA-1"
	}
	if _, err := io.Copy(h, &cancelReader{ctx, r}); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != etag {
		return &hashError{kind, got, etag}
	}
	return nil
}

// gitHash returns a SHA-1 that has read git's header for a file of that size.
func gitHash(size int64) hash.Hash {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// A cancelReader returns the context's error when its context has ended.
type cancelReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancelReader) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(b)
}
