//go:build unix && !solaris && !aix

package weights

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"picogpt/internal/folder"
)

// Opening a named pipe would wait for ever for someone to write.
func TestNamedPipesAreRefusedAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := unix.Mkfifo(path, 0o666); err != nil {
		t.Skip("no named pipes here:", err)
	}
	_, err := Open(folder.Dir(filepath.Dir(path)), "model.safetensors")
	wantError(t, err, path+": a pipe, want a regular file")
}
