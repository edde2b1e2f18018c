package textzip

// The promise: files that one machine has written are read by every other.

import (
	"bytes"
	"flag"
	"hash/crc32"
	"os"
	"path/filepath"
	"testing"

	"picogpt/dev/cases"
	"picogpt/model"
)

var update = flag.Bool("update", false, "write the files of testdata, of this arithmetic version")

// TestCommittedFilesAreReadHere reads and writes a file of a model that costs nothing: CI runs it
// on every kind of machine that it has, also emulated ones.
func TestCommittedFilesAreReadHere(t *testing.T) {
	z := tiny(t, model.Options{})
	committed(t, z, "tiny", func() []byte { return z.likely(500, 1, 7) })
}

// The demo's begins with a text of people.
func TestTheCommittedStoryIsReadHere(t *testing.T) {
	committed(t, story(t, model.Options{}), "story", func() []byte {
		b, err := os.ReadFile("../../eval/testdata/story.txt")
		if err != nil {
			t.Fatal(err)
		}
		return b[:236]
	})
}

// Blocks of zstd have the library's bytes: another release of it may write others.
func TestCommittedFilesOfZstdAreWrittenHere(t *testing.T) {
	z := tiny(t, model.Options{Threads: 1})
	text, err := os.ReadFile("testdata/story.txt")
	if err != nil {
		t.Fatal(err)
	}
	file := z.compress(bytes.Repeat(text, 300), Options{}, nil)
	i, err := Inspect(bytes.NewReader(file))
	if sum := crc32.ChecksumIEEE(file); err != nil || i.Blocks["zstd"] != 1 || sum != 0xedbd4947 {
		t.Errorf("CRC-32 %#x of %d bytes, blocks %v, error %v", sum, len(file), i.Blocks, err)
	}
}

func committed(t *testing.T, z zipper, name string, text func() []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		plain := text()
		for end, b := range map[string][]byte{
			".txt": plain, ".txt.gptz": z.compress(plain, Options{Name: name}, nil),
		} {
			if err := os.WriteFile(path+end, b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, err := os.ReadFile(path + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path + ".txt.gptz")
	if err != nil {
		t.Fatal(err)
	}
	i, err := Inspect(bytes.NewReader(file))
	if err != nil || i.Blocks["model"] != 1 {
		t.Fatalf("%+v, error %v: want a block of the model", i, err)
	}
	if got, err := z.decompress(file, ReadOptions{}); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%q, error %v, want %q", got, err, want)
	}
	if name == "tiny" || cases.Long {
		if !bytes.Equal(z.compress(want, Options{Name: name}, nil), file) {
			t.Error("compressed here, the text gives another file")
		}
	}
}
