// Fetching: the bytes of one file, by as many requests as needed, into a blob of the cache, whose
// name is the hash of its bytes.

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
	"net/http"
	"net/url"
	"os"

	"picogpt/internal/outfile"
)

// A download is one file that is being downloaded into the cache.
type download struct {
	client *client
	meta   *meta
	limit  int64 // the most bytes that the file may have
	file   *os.File
	have   int64  // bytes of file that were received, now or by an earlier download
	most   int64  // the greatest have so far
	asked  bool   // a request was sent
	bad    string // the address that another server has refused, "" for none
	wrong  bool   // what was received, or the disk, is of no use
	moved  func(have int64)
	buffer []byte
}

// fetch downloads a file into file, which is open and has the first have bytes from an earlier
// download, and checks its hash. After an error it reports whether the bytes that came are worth to
// be kept, so that another download can continue after them.
func (c *client) fetch(
	ctx context.Context, m *meta, limit int64, file *os.File, have int64, moved func(have int64),
) (keep bool, err error) {
	d := &download{client: c, meta: m, limit: limit, file: file, have: have, most: have,
		moved: moved, buffer: make([]byte, 256<<10)}
	if m.size > limit {
		return false, fmt.Errorf("%d bytes, want at most %d", m.size, limit)
	} else if m.size < 0 {
		d.limit = min(limit, maxSmall) // the hub says the size of every large file
	}
	if err = d.complete(ctx); isHash(err) && have > 0 { // of the earlier download
		c.note(m.file, "what an earlier download has left is wrong: all of it is downloaded")
		if err = d.restart(); err == nil {
			err = d.complete(ctx)
		}
	}
	return d.have > 0 && d.meta.size > 0 && !d.wrong && !isHash(err), err
}

// complete downloads what is missing and checks all of it.
func (d *download) complete(ctx context.Context) error {
	err := error(nil)
	if d.have == 0 || d.have != d.meta.size {
		err = d.client.persist(ctx, d.meta.file, func() int64 { return d.most },
			func() error { return d.attempt(ctx) })
	}
	if err != nil {
		return err
	}
	if _, err := d.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := verify(ctx, d.file, d.have, d.meta.etag); err != nil {
		return err
	}
	return d.file.Sync()
}

// attempt sends one request for the missing bytes. After a passing error, the received bytes stay.
func (d *download) attempt(ctx context.Context) error {
	if d.asked { // the address of a large file is valid for a limited time
		if err := d.refresh(ctx); err != nil {
			return err
		}
	}
	d.asked = true
	var headers []string
	if d.have > 0 {
		headers = []string{"Range", fmt.Sprintf("bytes=%d-", d.have)}
	}
	resp, err := d.client.get(ctx, d.meta.location, headers...)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return fmt.Errorf("Content-Encoding %.20q, want none", encoding)
	}
	switch resp.StatusCode {
	case http.StatusOK: // the whole file, even if a range was asked for
		err = d.restart()
	case http.StatusPartialContent:
		err = d.continues(resp)
	case http.StatusRequestedRangeNotSatisfiable:
		if d.have == d.meta.size { // no byte is missing
			return nil
		}
		if err := d.restart(); err != nil {
			return err
		}
		return &passing{error: errors.New("the server refuses the range that is missing")}
	default:
		return d.refusal(resp)
	}
	if err == nil {
		err = d.promised(resp.ContentLength)
	}
	if err != nil {
		return err
	}
	return d.read(resp.Body)
}

// refresh asks the hub again where the file is.
func (d *download) refresh(ctx context.Context) error {
	m, err := d.client.head(ctx, d.meta.commit, d.meta.file)
	if err != nil {
		return err
	}
	if m.etag != d.meta.etag || m.size != d.meta.size {
		return errors.New("the hub says something else of the file than a moment ago")
	}
	d.meta = m
	return nil
}

// refusal returns the error of a GET. A server other than the hub refuses an address that has
// expired; another address from the hub helps.
func (d *download) refusal(resp *http.Response) error {
	err := d.client.refusal(resp, d.meta.commit, d.meta.file)
	var known *passing
	if resp.Request.URL.Host == d.client.origin.Host || errors.As(err, &known) {
		return err
	}
	err = fmt.Errorf("%s answers %s", resp.Request.URL.Hostname(), statusText(resp.StatusCode))
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		if at := resp.Request.URL.String(); at != d.bad { // else the hub has no other address
			d.bad = at
			return &passing{error: err}
		}
	}
	return err
}

// restart empties the file and begins again.
func (d *download) restart() error {
	d.have, d.most = 0, 0
	if err := d.file.Truncate(0); err != nil {
		return err
	}
	_, err := d.file.Seek(0, io.SeekStart)
	return err
}

// continues checks that the answer begins where the file ends.
func (d *download) continues(resp *http.Response) error {
	from, size, err := parseRange(resp.Header.Get("Content-Range"))
	switch {
	case err != nil:
		return err
	case from != d.have:
		return fmt.Errorf("an answer from byte %d on, want %d", from, d.have)
	case d.meta.size >= 0 && size != d.meta.size:
		return d.wrongSize(size)
	}
	return nil
}

// promised checks the length that an answer announces, or -1 if it announces none.
func (d *download) promised(length int64) error {
	if length >= 0 && d.meta.size >= 0 && d.have+length != d.meta.size {
		return d.wrongSize(d.have + length)
	}
	return nil
}

func (d *download) wrongSize(got int64) error {
	d.wrong = true
	return fmt.Errorf("%d bytes are sent, want %d as the hub says: nothing is kept", got,
		d.meta.size)
}

// read appends the body of an answer to the file.
func (d *download) read(body io.Reader) error {
	for {
		n, err := body.Read(d.buffer)
		if d.have+int64(n) > d.end() {
			d.wrong = true
			return fmt.Errorf("more than %d bytes are sent, want that many: nothing is kept",
				d.end())
		}
		if _, err := d.file.Write(d.buffer[:n]); err != nil {
			d.wrong = true
			return err
		}
		d.have += int64(n)
		d.most = max(d.most, d.have)
		d.moved(d.have)
		switch {
		case err == io.EOF && d.meta.size >= 0 && d.have < d.meta.size:
			return &passing{error: errCut}
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// end returns the size of the file, or its limit if the size is not known.
func (d *download) end() int64 {
	if d.meta.size >= 0 {
		return d.meta.size
	}
	return d.limit
}

// get requests bytes and follows redirects, to other hosts too. Only the endpoint gets the token:
// see ask.
func (c *client) get(ctx context.Context, u *url.URL, headers ...string) (*http.Response, error) {
	for range maxRedirects + 1 {
		resp, err := c.ask(ctx, http.MethodGet, u, c.o.ReadTimeout, headers...)
		if err != nil || resp.StatusCode < 300 || resp.StatusCode >= 400 {
			return resp, err
		}
		drop(resp)
		to, err := redirect(resp)
		if err != nil {
			return nil, err
		}
		from := u
		u = u.ResolveReference(to)
		if !isHTTP(u) || from.Scheme == "https" && u.Scheme != "https" {
			return nil, errors.New("a redirect to an address that is not one of https")
		}
	}
	return nil, fmt.Errorf("more than %d redirects", maxRedirects)
}

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
	if _, err := io.Copy(outfile.Cancellable(ctx, h), r); err != nil {
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
