package weights_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/weights"
)

// A window is a file of which only the beginning may be read.
type window struct {
	*bytes.Reader
	end int64
}

var errBeyond = errors.New("beyond the window")

func (w window) ReadAt(p []byte, from int64) (int, error) {
	if from+int64(len(p)) > w.end {
		return 0, errBeyond
	}
	return w.Reader.ReadAt(p, from)
}

func TestFromReadersReadsHeadersAlone(t *testing.T) {
	_, file := fixture.Checkpoint(fixture.Options{})
	want, err := weights.FromBytes("file", file)
	if err != nil {
		t.Fatal(err)
	}
	header := int64(len(file))
	for _, x := range want.All() {
		header -= x.Size()
	}
	got, err := weights.FromReaders(weights.File{ReaderAt: window{bytes.NewReader(file), header},
		Name: "far", Size: int64(len(file))})
	if err != nil {
		t.Fatal(err)
	}
	if got.Size() != want.Size() || got.Name() != "far" || len(got.All()) != len(want.All()) {
		t.Errorf("%d bytes in %s, want %d", got.Size(), got.Name(), want.Size())
	}
	if _, err := got.All()[0].Bytes(); !errors.Is(err, errBeyond) {
		t.Errorf("an element: %v, want an error of the reader", err)
	}
	whole := weights.File{ReaderAt: bytes.NewReader(file), Name: "near", Size: int64(len(file))}
	got, err = weights.FromReaders(whole)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range got.All() {
		same, err := x.Equal(want.All()[i])
		if !same || err != nil || x.Name != want.All()[i].Name {
			t.Errorf("%s: another tensor, %v", x.Name, err)
		}
	}
	if _, err := weights.FromReaders(whole, whole); err == nil ||
		!strings.Contains(err.Error(), "near: ") {
		t.Errorf("the same tensors twice: %v", err)
	}
	whole.Size--
	if _, err := weights.FromReaders(whole); err == nil {
		t.Error("a truncated file: want an error")
	}
	if _, err := weights.FromReaders(); err == nil {
		t.Error("no files: want an error")
	}
}
