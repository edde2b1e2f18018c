//go:build unix

package listen

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAPipeIsNotWaitedFor: nobody writes to it, and the files would never be looked at again.
func TestAPipeIsNotWaitedFor(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(pipe); err == nil || !strings.Contains(err.Error(), "want a file that can be read") {
		t.Errorf("%v", err)
	}
}
