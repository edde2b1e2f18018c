package main

import (
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
)

// TestCertificatesOfAnEmptyImage: with no file of certificates there are those of the binary. They
// are chosen when a process starts, so that the test starts itself again.
func TestCertificatesOfAnEmptyImage(t *testing.T) {
	const none = "/nonexistent"
	if os.Getenv("SSL_CERT_FILE") == none {
		if pool, err := x509.SystemCertPool(); err != nil || pool.Equal(x509.NewCertPool()) {
			t.Errorf("no certificates: %v", err)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+none, "SSL_CERT_DIR="+none)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
