// The client: requests to the hub, and redirects.

package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
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
			to, err := url.Parse(resp.Header.Get("Location"))
			if err != nil || resp.Header.Get("Location") == "" {
				return nil, errors.New("a redirect that leads nowhere")
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

// meta reads the headers of an answer.
func (c *client) meta(resp *http.Response, file string, at *url.URL) (*meta, error) {
	h := resp.Header
	m := &meta{file: file, commit: h.Get("X-Repo-Commit"), etag: h.Get("X-Linked-Etag"), size: -1,
		location: at}
	if m.etag == "" {
		m.etag = h.Get("ETag")
	}
	m.etag = strings.Trim(strings.TrimPrefix(m.etag, "W/"), `"`)
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
