// Package listen is where a server listens, and how: an address, perhaps with TLS, from its binding
// to the end of the drain.
package listen

import (
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"

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
