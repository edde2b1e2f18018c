// The client: requests to the hub, redirects, what its refusals mean, and which errors are worth a
// retry.

package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"picogpt/internal/quote"
)

const (
	maxRedirects = 5
	maxHeaders   = 256 << 10 // bytes of an answer's headers
	maxFile      = 1 << 40   // bytes of a file
)

// A client sends requests about one repository to the hub.
type client struct {
	o       Options
	name    Name
	origin  *url.URL // the endpoint
	send    http.RoundTripper
	own     *http.Transport // equal to send, if it is this package's own
	reached map[string]bool // the hosts that have answered
	fetched int64           // bytes of bodies
}

func newClient(n Name, o Options) (*client, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	origin, err := url.Parse(o.Endpoint)
	if err != nil || !isHTTP(origin) {
		return nil, fmt.Errorf("endpoint %s: want an address as https://huggingface.co",
			quote.Plain(o.Endpoint, 120))
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("token: a character that no token has")
	}
	c := &client{o: o, name: n, origin: origin, send: o.Transport, reached: map[string]bool{}}
	if c.send == nil {
		c.own = &http.Transport{
			Proxy: o.Proxy, DisableCompression: true, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: maxHeaders, IdleConnTimeout: time.Minute,
		}
		c.send = c.own
	}
	return c, nil
}

// close closes the connections.
func (c *client) close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

func isHTTP(u *url.URL) bool {
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// address returns the address of a path in the repository.
func (c *client) address(path string) *url.URL {
	u := *c.origin
	u.Path, u.RawPath, u.RawQuery = "", "", ""
	return u.JoinPath(append(strings.Split(strings.Trim(c.origin.EscapedPath(), "/"), "/"),
		path)...)
}

// resolve returns the address of a file.
func (c *client) resolve(revision, file string) *url.URL {
	parts := strings.Split(file, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return c.address(c.name.Repo + "/resolve/" + url.PathEscape(revision) + "/" +
		strings.Join(parts, "/"))
}

// errSlow is the reason why a request without an answer is ended.
var errSlow = errors.New("nothing came")

// ask sends one request and returns the answer, whatever its status. The answer must begin within
// the given time, and each read of its body must return within that time. The reader of the body
// counts and bounds it.
func (c *client) ask(
	ctx context.Context, method string, u *url.URL, within time.Duration, headers ...string,
) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	r, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	r.Header.Set("User-Agent", c.o.UserAgent)
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if c.o.Token != "" && u.Scheme == c.origin.Scheme && u.Host == c.origin.Host {
		r.Header.Set("Authorization", "Bearer "+c.o.Token)
	}
	slow := time.AfterFunc(within, func() { cancel(errSlow) })
	resp, err := c.send.RoundTrip(r)
	if err != nil {
		slow.Stop()
		err = c.broken(ctx, u.Host, within, err)
		cancel(nil)
		return nil, err
	}
	c.reached[u.Host] = true
	resp.Body = &body{resp.Body, c, ctx, cancel, slow, within}
	return resp, nil
}

// A body is the body of an answer; each part must arrive within a time.
type body struct {
	io.ReadCloser
	client *client
	ctx    context.Context
	cancel context.CancelCauseFunc
	slow   *time.Timer
	within time.Duration
}

func (b *body) Read(p []byte) (int, error) {
	b.slow.Reset(b.within)
	n, err := b.ReadCloser.Read(p)
	b.slow.Stop()
	b.client.fetched += int64(n)
	if err != nil && err != io.EOF {
		err = b.client.broken(b.ctx, "", b.within, err)
	}
	return n, err
}

func (b *body) Close() error {
	b.slow.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}

// drop closes an answer whose body is not needed. It reads a little of it, so that the connection
// can be used again.
func drop(resp *http.Response) {
	io.CopyN(io.Discard, resp.Body, 4<<10)
	resp.Body.Close()
}

// A meta is what the hub says of a file.
type meta struct {
	file     string
	commit   string
	etag     string   // the name of its blob, which is its hash
	size     int64    // -1 if the hub does not say it
	location *url.URL // where the bytes are
}

// head asks once for the meta of a file of a revision. If there is no such file, the error is
// ErrNoFile.
func (c *client) head(ctx context.Context, revision, file string) (*meta, error) {
	u := c.resolve(revision, file)
	for range maxRedirects + 1 {
		resp, err := c.ask(ctx, http.MethodHead, u, c.o.HeadTimeout)
		if err != nil {
			return nil, err
		}
		drop(resp)
		if resp.StatusCode >= 300 && resp.StatusCode < 400 {
			to, err := redirect(resp)
			if err != nil {
				return nil, err
			}
			if to.Host == "" && to.Scheme == "" { // the repository was renamed
				u = u.ResolveReference(to)
				continue
			}
			return c.meta(resp, file, to)
		}
		if resp.StatusCode != http.StatusOK {
			return nil, c.refusal(resp, revision, file)
		}
		return c.meta(resp, file, u)
	}
	return nil, fmt.Errorf("more than %d redirects", maxRedirects)
}

// redirect returns the address that an answer leads to, which may be relative.
func redirect(resp *http.Response) (*url.URL, error) {
	location := resp.Header.Get("Location")
	to, err := url.Parse(location)
	if err != nil || location == "" {
		return nil, errors.New("a redirect that leads nowhere")
	}
	return to, nil
}

// meta reads the headers of an answer.
func (c *client) meta(resp *http.Response, file string, at *url.URL) (*meta, error) {
	h := resp.Header
	etag := strings.TrimPrefix(cmp.Or(h.Get("X-Linked-Etag"), h.Get("ETag")), "W/")
	m := &meta{file: file, commit: h.Get("X-Repo-Commit"), etag: strings.Trim(etag, `"`), size: -1,
		location: at}
	if !isHTTP(at) || c.origin.Scheme == "https" && at.Scheme != "https" {
		return nil, fmt.Errorf("the hub sends us to %s, want an address of https",
			quote.Plain(at.Scheme+"://"+at.Host, 80))
	}
	if !isCommit(m.commit) {
		return nil, fmt.Errorf("X-Repo-Commit %s, want a commit: is %s a Hugging Face hub?",
			quote.Short(m.commit, 60), c.origin.Host)
	}
	if err := checkEtag(m.etag); err != nil {
		return nil, err
	}
	size := h.Get("X-Linked-Size")
	if size == "" && resp.StatusCode == http.StatusOK {
		size = h.Get("Content-Length")
	}
	if size == "" {
		return m, nil
	}
	var err error
	if m.size, err = parseSize(size); err != nil {
		return nil, err
	}
	return m, nil
}

// A passing error may be over when the request is sent again.
type passing struct {
	error
	after time.Duration // the earliest time for a retry, if the server said it
	dial  bool          // no connection was made, to a host that has never answered
}

func (p *passing) Unwrap() error { return p.error }

// refusal returns the error for an answer that is neither the file nor a redirect.
func (c *client) refusal(resp *http.Response, revision, file string) error {
	code, message := resp.Header.Get("X-Error-Code"), resp.Header.Get("X-Error-Message")
	status := resp.StatusCode
	switch {
	case message == "Access to this resource is disabled.":
		return fmt.Errorf("%s: %w", c.name.Repo, ErrDisabled)
	case code == "GatedRepo":
		return &gated{c.name.Repo, message}
	case code == "RevisionNotFound":
		return fmt.Errorf("%s: %w: %s", c.name.Repo, ErrNoRevision, quote.Plain(revision, 80))
	case code == "EntryNotFound":
		return &noFile{resp.Header.Get("X-Repo-Commit"), c.name.Repo, file}
	case strings.HasPrefix(message, "Invalid credentials"):
		return fmt.Errorf("%s: %w", c.name.Repo, ErrToken)
	case code == "RepoNotFound", status == http.StatusUnauthorized:
		return fmt.Errorf("%s: %w", c.name.Repo, ErrNoRepo)
	}
	err := fmt.Errorf("%s answers %s", resp.Request.URL.Hostname(), statusText(status))
	if message != "" {
		err = fmt.Errorf("%w: %s", err, quote.Plain(message, 200))
	}
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return &passing{error: err, after: retryAfter(resp.Header.Get("Retry-After"))}
	case status == http.StatusNotFound:
		return fmt.Errorf("%w: %w", err, ErrNoRepo)
	}
	return err
}

// gated is an ErrGated with the hub's own reason, or "": access must be asked for, is not granted
// yet, or is not among those of the token.
type gated struct{ repo, reason string }

func (e *gated) Error() string {
	if e.reason == "" {
		return e.repo + ": " + ErrGated.Error()
	}
	return e.repo + ": a gated repository: " + quote.Plain(e.reason, 400)
}

func (e *gated) Is(target error) bool { return target == ErrGated }

// noFile is an ErrNoFile with the commit that has no such file, or "" if the hub does not name it.
type noFile struct{ commit, repo, file string }

func (e *noFile) Error() string        { return e.repo + ": " + ErrNoFile.Error() + ": " + e.file }
func (e *noFile) Is(target error) bool { return target == ErrNoFile }

func statusText(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// retryAfter reads the header of that name, which holds seconds or a date. It returns 0 for
// anything else.
func retryAfter(s string) time.Duration {
	if n, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(s); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// broken returns the error of a request without an answer, or of a body that is too short. It does
// not contain the address: the addresses of files contain signatures that give access to them.
func (c *client) broken(ctx context.Context, host string, within time.Duration, err error) error {
	if cause := context.Cause(ctx); cause == errSlow {
		return &passing{error: fmt.Errorf("%w for %v", errSlow, within), dial: len(c.reached) == 0}
	} else if cause != nil {
		return cause
	}
	if address, ok := errors.AsType[*url.Error](err); ok {
		err = address.Err
	}
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if errors.As(err, &certificate) || errors.As(err, &record) {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &passing{error: errCut}
	}
	if strings.Contains(err.Error(), "malformed HTTP") { // net/http has no type for it
		return fmt.Errorf("no answer in HTTP: %w", err)
	}
	var network *net.OpError
	return &passing{error: err,
		dial: errors.As(err, &network) && network.Op == "dial" && !c.reached[host]}
}

// errCut is the error of a connection that ended too early.
var errCut = errors.New("the connection was cut")

const (
	retries     = 5
	maxTries    = 1000            // of one file, even if each brings some bytes
	longestWait = 5 * time.Minute // that a server may ask us to wait
)

// persist calls try until it succeeds or fails for good. It tries again up to five times after a
// passing error, and five times more whenever moved has grown. what names the work in notes.
func (c *client) persist(
	ctx context.Context, what string, moved func() int64, try func() error,
) error {
	failures, most := 0, moved()
	for tries := 1; ; tries++ {
		err := try()
		var fault *passing
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.As(err, &fault):
			return err
		case fault.dial: // no network: a second later there will still be none
			return fmt.Errorf("%w: %w", ErrUnreached, err)
		}
		if now := moved(); now > most {
			failures, most = 0, now
		}
		if failures == retries || tries == maxTries {
			return fmt.Errorf("given up after %d retries: %w", tries-1, err)
		}
		wait := max(c.o.RetryWait<<failures, fault.after)
		if failures++; wait > longestWait {
			return fmt.Errorf("%w, and asks to wait for %v", err, wait.Round(time.Second))
		}
		c.note(what, "%v; trying again in %v", err, wait.Round(10*time.Millisecond))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// note tells what happened to a file.
func (c *client) note(file, format string, args ...any) {
	c.o.Progress(Progress{File: file, Total: -1, Note: fmt.Sprintf(format, args...)})
}

// parseSize reads a number of bytes.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil || n > maxFile {
		return 0, fmt.Errorf("a size of %s, want bytes, at most %d", quote.Plain(s, 40),
			int64(maxFile))
	}
	return int64(n), nil
}

// parseRange reads a Content-Range of bytes: the first byte and the size of the file.
func parseRange(s string) (from, size int64, err error) {
	bad := fmt.Errorf("Content-Range %s, want bytes FIRST-LAST/SIZE", quote.Short(s, 60))
	span, ok := strings.CutPrefix(s, "bytes ")
	span, of, ok2 := strings.Cut(span, "/")
	first, _, ok3 := strings.Cut(span, "-")
	if !ok || !ok2 || !ok3 {
		return 0, 0, bad
	}
	if from, err = parseSize(first); err == nil {
		size, err = parseSize(of)
	}
	if err != nil {
		return 0, 0, bad
	}
	return from, size, nil
}
