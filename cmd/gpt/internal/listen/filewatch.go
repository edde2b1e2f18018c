package listen

// Files that are read again while the server runs: keys and certificates that somebody replaces.

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"picogpt/internal/fault"
)

// Every is how long a change can last until Watch has seen it. Watch looks a little more often, and
// when it finds a change once more a moment later. A change in that moment waits for the next look,
// which takes another moment.
const (
	Every  = 10 * time.Second
	moment = time.Second / 2
)

// most is the largest file, in bytes: keys and certificates are small.
const most = 1 << 20

// Read returns the contents of files, each of at most 1 MiB.
func Read(names ...string) ([]string, error) {
	all := make([]string, len(names))
	for i, name := range names {
		var err error
		if all[i], err = read(name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func read(name string) (string, error) {
	info, err := os.Stat(name) // before it is opened: a pipe would wait for who writes to it
	if err == nil && !info.Mode().IsRegular() {
		err = wrong(name, "want a file that can be read again, found another kind")
	}
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && len(text) > most {
		err = wrong(name, fmt.Sprintf("want at most %d bytes, found more", most))
	}
	return string(text), err
}

func wrong(name, what string) error {
	return &os.PathError{Op: "read", Path: name, Err: errors.New(what)}
}

// Watch reads the files again every 9 s, until ctx is done. It calls changed with their contents
// when these are not the last ones, and with an error when they cannot be read, once for each. It
// compares contents, because a mounted secret changes by a symbolic link somewhere above the file.
// Contents that are others a moment later are still being written: they wait for the next look.
func Watch(
	ctx context.Context, last []string, changed func(contents []string, err error), names ...string,
) {
	told := ""
	for sleep(ctx, Every-2*moment) {
		now, err := Read(names...)
		if err == nil && !slices.Equal(now, last) {
			before := now
			if !sleep(ctx, moment) {
				return
			}
			if now, err = Read(names...); err == nil && !slices.Equal(now, before) {
				told = ""
				continue
			}
		}
		switch {
		case err != nil:
			if err.Error() != told {
				told = err.Error()
				changed(nil, err)
			}
			continue
		case !slices.Equal(now, last):
			changed(now, nil)
			last = now
		}
		told = ""
	}
}

// sleep waits, and reports whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Certificates, which are read again when their files change: they expire while the server runs.

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
