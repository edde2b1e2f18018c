package programs

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/weights"
)

const goldenIndex = "../../testdata/formats/tf/model.ckpt.index"

// table makes a table of blocks of entries, all sums right.
func table(blocks ...[]byte) []byte {
	var b, index []byte
	put := func(block []byte) (place []byte) {
		place = binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(b))), uint64(len(block)))
		block = append(bytes.Clone(block), 0)
		b = append(b, block...)
		b = binary.LittleEndian.AppendUint32(b,
			mask(crc32.Checksum(block, crc32.MakeTable(crc32.Castagnoli))))
		return place
	}
	for i, block := range blocks {
		index = append(index, entry(0, fmt.Sprint(i), put(block))...)
	}
	end := append(put(entries()), put(append(index, entries()...))...)
	b = append(append(b, end...), make([]byte, footer-8-len(end))...)
	return binary.LittleEndian.AppendUint64(b, tableMagic)
}

// entry is one entry of a block: a key, of which some bytes are shared with the one before.
func entry(shared uint64, rest string, value []byte) []byte {
	b := binary.AppendUvarint(nil, shared)
	b = binary.AppendUvarint(b, uint64(len(rest)))
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(append(b, rest...), value...)
}

// entries is a block of some entries with one restart.
func entries(list ...[]byte) []byte {
	return append(bytes.Join(list, nil), 0, 0, 0, 0, 1, 0, 0, 0)
}

var (
	head   = entry(0, "", []byte{0x08, 1})
	vector = []byte{0x08, 1, 0x12, 4, 0x12, 2, 0x08, 2, 0x20, 16, 0x28, 8} // F32 [2] at 16, 8 bytes
)

func TestParseIndex(t *testing.T) {
	b, err := ParseIndex(table(entries(head, entry(0, "model/a", vector), entry(6, "b", vector)),
		entries(entry(0, "model/c", vector))))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range b.Tensors {
		names = append(names, e.Name)
		if e.DType != weights.F32 || !slices.Equal(e.Shape, []int{2}) || e.Offset != 16 || e.Size != 8 {
			t.Errorf("%+v", e)
		}
	}
	if b.Shards != 1 || !slices.Equal(names, []string{"model/a", "model/b", "model/c"}) {
		t.Errorf("%d data files, %q", b.Shards, names)
	}
	golden, err := os.ReadFile(goldenIndex)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = ParseIndex(golden); err != nil || len(b.Tensors) != 16 {
		t.Errorf("golden index: %v", err)
	}
}

func TestMalformedIndexes(t *testing.T) {
	good := table(entries(head, entry(0, "a", vector)))
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	one := func(value ...byte) []byte { return table(entries(head, entry(0, "a", value))) }
	for want, b := range map[string][]byte{
		"47 bytes, too short":          good[:47],
		"truncated?":                   good[:len(good)-1],
		"block at byte 0: CRC":         flip(9),
		"no header before the tensors": table(entries(entry(0, "a", vector))),
		"lists no tensors":             table(entries(head)),
		"keys out of order": table(entries(head, entry(0, "b", vector),
			entry(0, "a", vector))),
		"an entry's lengths are wrong": table(entries(head, entry(1, "a", vector))),
		"more restarts than":           table([]byte{255, 255, 255, 255}),
		"too short":                    table([]byte{1, 2}),
		"header: 0 data files":         table(entries(entry(0, "", []byte{0x08, 0}))),
		"in the other byte order":      table(entries(entry(0, "", []byte{0x08, 1, 0x10, 1}))),
		`"a": not a message`:           one(0xff),
		`"a": a dimension of -1`: one(0x08, 1, 0x12, 13, 0x12, 11, 0x08, 255, 255, 255, 255,
			255, 255, 255, 255, 255, 1),
		`"a": 9 bytes, want 8 for F32 [2]`: one(0x08, 1, 0x12, 4, 0x12, 2, 0x08, 2, 0x28, 9),
		`"a": in data file 1 of 1`:         one(0x08, 1, 0x12, 4, 0x12, 2, 0x08, 2, 0x18, 1, 0x28, 8),
		`"a": a partitioned tensor`:        one(0x08, 1, 0x3a, 0),
		`"a": a tensor of unknown rank`:    one(0x08, 1, 0x12, 2, 0x18, 1),
		`"a": offset or size 18446744073709551615`: one(0x08, 1, 0x20, 255, 255, 255, 255, 255,
			255, 255, 255, 255, 1),
	} {
		if _, err := ParseIndex(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// FuzzParseIndex: no bytes make the reader panic. They are tried as a file and, since the sums of
// those are hardly ever right, as a block of a sound file and as what an entry says.
func FuzzParseIndex(f *testing.F) {
	golden, err := os.ReadFile(goldenIndex)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(table(entries(head, entry(0, "a", vector))))
	f.Add(entries(head, entry(0, "a", vector), entry(1, "b", vector)))
	f.Add(vector)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, file := range [][]byte{b, table(b), table(entries(head, entry(0, "a", b)))} {
			bundle, err := ParseIndex(file)
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Errorf("error of two lines: %q", err)
				}
				continue
			}
			for _, e := range bundle.Tensors {
				n := weights.Tensor{DType: e.DType, Shape: e.Shape}
				if e.Offset < 0 || e.Size < 0 || e.DType != "" && n.Size() != e.Size {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}
