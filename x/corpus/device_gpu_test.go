//go:build gpu

package main

// A GPU writes the same files as the processor, byte for byte. Without drivers, TestMistakes says
// what --device gives.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestADeviceWritesTheSameFiles(t *testing.T) {
	device := os.Getenv("GPT_DEVICE")
	if device == "" || device == "cpu" {
		t.Skip("GPT_DEVICE names no GPU, such as pocl or cuda")
	}
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "{\"id\":%d,\"text\":%q}\n", i, strings.Repeat("a text ", 1+i%7))
	}
	input, model := write(t, filepath.Join(dir, "in.jsonl"), lines.String()), byteModel(t)
	for command, flags := range map[string]string{
		"score": "", "generate": "--text-field text -n 7 --temperature 1 --top-k 5",
	} {
		files := map[string][]byte{}
		for _, device := range []string{"cpu", device} {
			out := filepath.Join(dir, command+"-"+strings.ReplaceAll(device, ":", "-"))
			args := append([]string{command, "--input", input, "-m", model, "-o", out, "--device",
				device, "--piece-bytes", "1KiB", "--quiet"}, strings.Fields(flags)...)
			if e := execute(t, exec.Command("corpus", args...)); e.status != 0 {
				t.Fatalf("corpus %q: %+v", args, e)
			}
			names, err := filepath.Glob(filepath.Join(out, "*.jsonl"))
			if err != nil || len(names) < 2 {
				t.Fatalf("%d files in %s, error %v", len(names), out, err)
			}
			for _, name := range names {
				b, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				of := command + " " + filepath.Base(name)
				if want, ok := files[of]; ok && !bytes.Equal(b, want) {
					t.Errorf("%s: %s\nwant %s", of, b, want)
				}
				files[of] = b
			}
		}
	}
}
