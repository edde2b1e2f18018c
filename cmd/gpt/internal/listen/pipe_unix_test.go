//go:build unix

package listen

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestACertificateFromPipes is --tls-key <(decrypt key): it can be read once, and is not watched.
func TestACertificateFromPipes(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, 7)
	names := [2]string{filepath.Join(dir, "cert"), filepath.Join(dir, "key")}
	for i, text := range [][]byte{cert, key} {
		if err := syscall.Mkfifo(names[i], 0o600); err != nil {
			t.Fatal(err)
		}
		go os.WriteFile(names[i], text, 0o600)
	}
	c, err := ReadCertificate(names[0], names[1])
	if err != nil {
		t.Fatal(err)
	}
	c.Watch(t.Context(), nil) // returns
	if got := serial(t, c); got != 7 {
		t.Errorf("certificate %d", got)
	}
}
