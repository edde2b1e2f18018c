package listen

// Certificates, which are read again when their files change: they expire while the server runs.

import (
	"context"
	"crypto/tls"
	"os"
	"sync/atomic"

	"picogpt/internal/fault"
)

// A Certificate is that of --tls-cert, with its key. Connections that begin have the newest.
type Certificate struct {
	names    []string // of the certificate and of the key
	contents []string // nil where they can be read only once, as from a pipe
	pair     atomic.Pointer[tls.Certificate]
}

// ReadCertificate reads a certificate and its key.
func ReadCertificate(cert, key string) (*Certificate, error) {
	c := &Certificate{names: []string{cert, key}}
	var err error
	if regular(cert) && regular(key) {
		if c.contents, err = Read(c.names...); err == nil {
			err = c.set(c.contents)
		}
	} else {
		var pair tls.Certificate
		pair, err = tls.LoadX509KeyPair(cert, key)
		c.pair.Store(&pair)
	}
	if err != nil {
		return nil, fault.Usagef("--tls-cert and --tls-key: %w", err)
	}
	return c, nil
}

func regular(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (c *Certificate) set(contents []string) error {
	pair, err := tls.X509KeyPair([]byte(contents[0]), []byte(contents[1]))
	if err == nil {
		c.pair.Store(&pair)
	}
	return err
}

// Watch reads the files again when they change, until ctx is done, and tells of each change. After
// an error, as for a certificate whose key has not been replaced yet, the last pair stays.
func (c *Certificate) Watch(ctx context.Context, changed func(error)) {
	if c.contents == nil {
		return
	}
	Watch(ctx, c.contents, func(contents []string, err error) {
		if err == nil {
			err = c.set(contents)
		}
		changed(err)
	}, c.names...)
}

func (c *Certificate) config() *tls.Config {
	return &tls.Config{
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.pair.Load(), nil
		},
		NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12,
	}
}
