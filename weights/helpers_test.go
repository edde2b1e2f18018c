package weights

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// raw builds a safetensors file from a header and so many bytes of data.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range data {
		b = append(b, byte(i))
	}
	return b
}

// rawLength builds one whose stated header length is a lie.
func rawLength(n uint64, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
}

// put writes files, name and content by turns, into a new directory.
func put(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantError checks that an error is one line that has all the words in it.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 1500 {
		t.Errorf("error is not one plain line: %.300q", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not have %q", err, w)
		}
	}
}
