package listen

// Certificates that are replaced while the server runs.

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// selfSigned returns a certificate with a serial number, and its key, as PEM.
func selfSigned(t *testing.T, serial int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial)}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bits})
}

// serial returns the number of the certificate that a connection gets now.
func serial(t *testing.T, c *Certificate) int64 {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	go tls.Server(theirs, c.config()).Handshake()
	client := tls.Client(ours, &tls.Config{InsecureSkipVerify: true})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	return client.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

// TestACertificateIsReadAgain as Kubernetes replaces it, by a symbolic link above the files.
func TestACertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	mount := func(version string, cert, key []byte) {
		for name, text := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
			path := filepath.Join(dir, version, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(version, filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "data")); err != nil {
			t.Fatal(err)
		}
	}
	cert, key := selfSigned(t, 1)
	mount("a", cert, key)
	synctest.Test(t, func(t *testing.T) {
		c, err := ReadCertificate(filepath.Join(dir, "data", "tls.crt"), filepath.Join(dir, "data", "tls.key"))
		if err != nil {
			t.Fatal(err)
		}
		var told []error
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go c.Watch(ctx, func(err error) { told = append(told, err) })
		later := func() { time.Sleep(Every + time.Second); synctest.Wait() }
		later()
		if got := serial(t, c); got != 1 || len(told) != 0 {
			t.Errorf("certificate %d, told %v", got, told)
		}
		other, otherKey := selfSigned(t, 2)
		mount("b", other, key) // the key is that of the first
		later()
		later()
		if got := serial(t, c); got != 1 || len(told) != 1 || told[0] == nil {
			t.Errorf("half replaced: certificate %d, told %v", got, told)
		}
		mount("c", other, otherKey)
		later()
		if got := serial(t, c); got != 2 || len(told) != 2 || told[1] != nil {
			t.Errorf("replaced: certificate %d, told %v", got, told)
		}
	})
}

func TestACertificateThatIsWrongFromTheStart(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	if _, err := ReadCertificate(cert, key); err == nil {
		t.Error("files that are not there are taken")
	}
	for _, name := range []string{cert, key} {
		if err := os.WriteFile(name, []byte("no PEM"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ReadCertificate(cert, key); err == nil {
		t.Error("files without PEM are taken")
	}
}
