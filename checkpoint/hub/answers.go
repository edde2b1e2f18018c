// The meaning of the hub's refusals, and which errors are worth a retry.

package hub

import (
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
	var address *url.Error
	if errors.As(err, &address) {
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
		c.o.Progress(Progress{File: what, Total: -1, Note: fmt.Sprintf("%v; trying again in %v",
			err, wait.Round(10*time.Millisecond))})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
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
