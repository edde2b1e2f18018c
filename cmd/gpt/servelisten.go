package main

// The listener of gpt serve, from its first line on stderr to the end of the drain.

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
	"picogpt/serve"
)

// A listener is where the server listens, and how.
type listener struct {
	net.Listener
	scheme   string
	loopback bool
}

// listen binds the address, so that one that is taken is known before a model is loaded.
func (c *serveCommand) listen() (*listener, error) {
	config, err := c.Who.tls()
	if err != nil {
		return nil, err
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return nil, fault.Hint(usagef("--addr %s: want HOST:PORT", quoteShort(c.Addr)),
			"--addr 127.0.0.1:8080 is for this machine alone, --addr 0.0.0.0:8080 for all")
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, listenError(c.Addr, err)
	}
	made := &listener{Listener: l, scheme: "http"}
	if config != nil {
		made.Listener, made.scheme = tls.NewListener(l, config), "https"
	}
	address, err := netip.ParseAddrPort(l.Addr().String())
	made.loopback = err == nil && address.Addr().IsLoopback()
	return made, nil
}

// listenError says which address cannot be had, and why.
func listenError(addr string, err error) error {
	var of *net.OpError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fault.Hint(usagef("--addr %s: %w", quoteShort(addr), err),
		"--addr 127.0.0.1:0 takes any free port")

}

// tls reads the certificate. Without one it is nil.
func (f *whoFlags) tls() (*tls.Config, error) {
	if f.TLSCert == nil {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(*f.TLSCert, *f.TLSKey)
	if err != nil {
		return nil, usagef("--tls-cert and --tls-key: %w", err)
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

// run serves until a signal, and then until what is being written is written.
func (c *serveCommand) run(a *app, s *serve.Server, l *listener) error {
	server := &http.Server{
		Handler: s, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: headerBytes,
		ErrorLog:       log.New(io.Discard, "", 0), // clients' bad handshakes
	}
	ctx, release := a.Graceful()
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Drain()
	drain, cancel := context.WithTimeout(context.Background(), c.Much.Drain)
	defer cancel()
	late := server.Shutdown(drain) != nil
	s.Close()
	if late {
		a.Notef("--drain %v: requests were cut off", c.Much.Drain)
	}
	server.Close()
	return nil
}
