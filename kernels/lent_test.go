package kernels

// The leaves of a browser, as a file: that they are made of the source, and take no memory.

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// sections returns the sections of a WebAssembly module by their number, and the custom one called
// source.
func sections(t *testing.T, b []byte) (all map[byte][]byte, source string) {
	t.Helper()
	all = map[byte][]byte{}
	for b = b[8:]; len(b) > 0; {
		size, n := binary.Uvarint(b[1:])
		if n <= 0 || size > uint64(len(b)-1-n) {
			t.Fatal("a section has no end")
		}
		body := b[1+n:][:size]
		if rest, found := bytes.CutPrefix(body, []byte("\x06source")); found && b[0] == 0 {
			source = string(rest)
		}
		all[b[0]], b = body, b[1+n+int(size):]
	}
	return all, source
}

func TestLeavesOfABrowser(t *testing.T) {
	module, err := os.ReadFile("wasm/leaves.wasm")
	if err != nil {
		t.Fatal(err)
	}
	c, err := os.ReadFile("wasm/leaves.c")
	if err != nil {
		t.Fatal(err)
	}
	all, source := sections(t, module)
	if want := fmt.Sprintf("%x", sha256.Sum256(c)); source != want {
		t.Errorf("leaves.wasm is of the source %s, want %s: make wasm", source, want)
	}
	// The memory is the caller's: data or a stack would lie in it.
	for number, name := range map[byte]string{5: "a memory", 8: "a start", 9: "elements", 11: "data"} {
		if all[number] != nil {
			t.Errorf("leaves.wasm has %s", name)
		}
	}
	for _, opcode := range []byte{0x23, 0x24} { // global.get 0, global.set 0: a stack's pointer
		if bytes.Contains(all[10], []byte{opcode, 0x80, 0x80, 0x80, 0x80, 0}) {
			t.Error("leaves.wasm has a stack")
		}
	}
	if _, err := exec.LookPath("wasm-ld-16"); err != nil {
		t.Log("no lld-16: what it would make of the source is not compared")
		return
	}
	made := filepath.Join(t.TempDir(), "leaves.wasm")
	if out, err := exec.Command("make", "-C", "..", "wasm", "WASM="+made).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if again, err := os.ReadFile(made); err != nil || !bytes.Equal(again, module) {
		t.Errorf("clang-16 makes another leaves.wasm of this source (%v)", err)
	}
}
