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

// Listen binds the address of --addr, with TLS where a certificate and its key are given.
func Listen(addr string, cert, key *string) (*Listener, error) {
	config, err := tlsConfig(cert, key)
	if err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fault.Hint(fault.Usagef("--addr %s: want HOST:PORT", quote.Short(addr, 40)),
			"--addr 127.0.0.1:8080 is for this machine alone, --addr 0.0.0.0:8080 for all")
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, listenError(addr, err)
	}
	made := &Listener{Listener: l, Scheme: "http"}
	if config != nil {
		made.Listener, made.Scheme = tls.NewListener(l, config), "https"
	}
	address, err := netip.ParseAddrPort(l.Addr().String())
	made.Loopback = err == nil && address.Addr().IsLoopback()
	return made, nil
}

// listenError says which address cannot be had, and why.
func listenError(addr string, err error) error {
	var of *net.OpError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fault.Hint(fault.Usagef("--addr %s: %w", quote.Short(addr, 40), err),
		"--addr 127.0.0.1:0 takes any free port")
}

// tlsConfig reads the certificate. Without one it is nil.
func tlsConfig(cert, key *string) (*tls.Config, error) {
	if cert == nil {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(*cert, *key)
	if err != nil {
		return nil, fault.Usagef("--tls-cert and --tls-key: %w", err)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"},
		MinVersion: tls.VersionTLS12,
	}, nil
}

// Limits of connections. Those of bodies and answers are package serve's.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	headerBytes = 64 << 10
)

// Serve serves until ctx is done, and then until what is being written is written, for at most so
// long. late says that requests were cut off. drain and closeAll are of the handler: it takes no
// more requests, and ends those that it has.
func (l *Listener) Serve(
	ctx context.Context, handler http.Handler, most time.Duration, drain, closeAll func(),
) (late bool, err error) {
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
		ErrorLog:       log.New(io.Discard, "", 0), // clients' bad handshakes
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return false, err
	case <-ctx.Done():
	}
	drain()
	limit, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	late = server.Shutdown(limit) != nil
	closeAll()
	server.Close()
	return late, nil
}
