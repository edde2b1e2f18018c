// Package listen is where a server listens, and how: an address, perhaps with TLS, from its binding
// to the end of the drain.
package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

// A Listener is where the server listens, and how.
type Listener struct {
	net.Listener
	Scheme   string // http or https
	Loopback bool   // only this machine can ask
}

// Listen binds the address of a flag, with TLS where there is a certificate.
func Listen(flag, addr string, c *Certificate) (*Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fault.Hint(fault.Usagef("%s %s: want HOST:PORT", flag, quote.Short(addr, 40)),
			flag+" 127.0.0.1:8080 is for this machine alone, "+flag+" 0.0.0.0:8080 for all")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, listenError(flag, addr, err)
	}
	made := &Listener{Listener: l, Scheme: "http"}
	if c != nil {
		made.Listener, made.Scheme = tls.NewListener(l, c.config()), "https"
	}
	address, err := netip.ParseAddrPort(l.Addr().String())
	made.Loopback = err == nil && address.Addr().IsLoopback()
	return made, nil
}

// URL is the address with its scheme.
func (l *Listener) URL() string { return l.Scheme + "://" + l.Addr().String() }

// listenError says which address cannot be had, and why. What the system refuses, as a port that is
// taken, is no mistake in the command line.
func listenError(flag, addr string, err error) error {
	var of *net.OpError
	if errors.As(err, &of) {
		err = of.Err
	}
	err = fault.Usagef("%s %s: %w", flag, quote.Short(addr, 40), err)
	if refused := (*os.SyscallError)(nil); errors.As(err, &refused) {
		err = errors.Unwrap(err)
	}
	return fault.Hint(err, flag+" 127.0.0.1:0 takes any free port")
}

// The life of a listener that serves: from its start to the end of the last answer.

// Limits of connections. Those of bodies and answers are package serve's.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 64 << 10
)

// LastWords is how long answers that are cut off may take to say so.
const LastWords = time.Second

// A Running listener serves.
type Running struct {
	server *http.Server
	ended  chan error // receives one
}

// Start begins to serve.
func (l *Listener) Start(handler http.Handler) *Running {
	r := &Running{ended: make(chan error, 1), server: &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
		ErrorLog:       log.New(io.Discard, "", 0), // clients' bad handshakes
	}}
	go func() { r.ended <- r.server.Serve(l) }()
	return r
}

// Close ends it at once.
func (r *Running) Close() error { return r.server.Close() }

// An Ending says how a server ends. Its functions are of the handler.
type Ending struct {
	Grace  time.Duration // for balancers to see that it ends; requests are served
	Retire func()        // called before it: the handler says that it ends
	Drain  time.Duration // for what is being answered, at most
	Refuse func()        // called before it: the handler takes no more requests
	Cut    func()        // called after it: the handler ends what it still has
}

// Wait serves until ctx is done, and then to the end. late says that answers were cut off; they have
// had LastWords to say so. An error is that of the listener.
func (r *Running) Wait(ctx context.Context, e Ending) (late bool, err error) {
	defer r.server.Close()
	select {
	case err := <-r.ended:
		return false, err
	case <-ctx.Done():
	}
	e.Retire()
	select {
	case err := <-r.ended:
		return false, err
	case <-time.After(e.Grace):
	}
	e.Refuse()
	late = !r.shutdown(e.Drain)
	e.Cut()
	if late {
		r.shutdown(LastWords)
	}
	return late, nil
}

// shutdown takes no more connections, and reports whether all answers ended in time.
func (r *Running) shutdown(most time.Duration) bool {
	limit, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	return r.server.Shutdown(limit) == nil
}
