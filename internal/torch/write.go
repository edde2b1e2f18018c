// Writing nested values and tensors in the zip form, as torch.save does.

package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"picogpt/weights"
)

// A Member is a key of a dict and its value: an int, bool, string, Members, or weights.Tensor
// of F32, F16 or BF16.
type Member struct {
	Key   string
	Value any
}

// Members are a Python dict with its members in order.
type Members []Member

// Write writes a file that torch.load reads, also with weights_only: the same dict gives the same
// bytes. Tensors of the same name share their elements, which are written once.
func Write(w io.Writer, d Members) error {
	p := pickler{keys: map[string]int{}}
	p.bytes.WriteString("\x80\x02") // protocol 2
	if err := p.value(d); err != nil {
		return err
	}
	p.bytes.WriteString(".")
	return writeArchive(w, p.bytes.String(), p.storages)
}

// writeArchive writes the zip form of a pickle and its storages.
func writeArchive(w io.Writer, pickle string, storages []weights.Tensor) error {
	counted := &counter{w: w}
	archive := zip.NewWriter(counted)
	before := int64(0) // the CRC and sizes that follow the previous entry
	type entry struct {
		name    string
		content weights.Tensor
	}
	text := func(name, s string) entry {
		return entry{name, weights.Tensor{DType: weights.U8, Shape: []int{len(s)}, Data: []byte(s)}}
	}
	entries := []entry{text("data.pkl", pickle), text("byteorder", "little")}
	for i, t := range storages {
		entries = append(entries, entry{"data/" + strconv.Itoa(i), t})
	}
	for _, e := range append(entries, text("version", "3\n")) {
		if err := archive.Flush(); err != nil {
			return err
		}
		name := "archive/" + e.name
		file, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store,
			Extra: filler(counted.n + before + localHeader + int64(len(name)))})
		if err != nil {
			return err
		}
		before = descriptor(e.content.Size())
		if err := e.content.Write(file); err != nil {
			return err
		}
	}
	return archive.Close()
}

const (
	localHeader = 30 // bytes before the name and the extra field of an entry
	alignment   = 64 // of an entry's bytes, so that they can be mapped
)

// descriptor returns the number of bytes that archive/zip writes after an entry of that size.
func descriptor(size int64) int64 {
	if size >= math.MaxUint32 {
		return 24
	}
	return 16
}

// filler returns an extra field that fills the space between `at` and the next multiple of the
// alignment. It has PyTorch's name, FB.
func filler(at int64) []byte {
	n := int(-(at + 4) & (alignment - 1))
	return append(binary.LittleEndian.AppendUint16([]byte("FB"), uint16(n)), make([]byte, n)...)
}

// A counter counts the bytes that pass through it.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// A pickler writes a pickle and collects the storages of its tensors.
type pickler struct {
	bytes    bytes.Buffer
	storages []weights.Tensor
	keys     map[string]int // name of a tensor -> its storage
}

// value writes a value, which has one of the types of a Member.
func (p *pickler) value(v any) error {
	switch v := v.(type) {
	case Members:
		p.bytes.WriteString("}(") // EMPTY_DICT, MARK
		for _, m := range v {
			p.text(m.Key)
			if err := p.value(m.Value); err != nil {
				return fmt.Errorf("%s: %w", m.Key, err)
			}
		}
		p.bytes.WriteString("u") // SETITEMS
	case int:
		p.int(v)
	case bool:
		p.bytes.WriteByte(map[bool]byte{true: 0x88, false: 0x89}[v])
	case string:
		p.text(v)
	case weights.Tensor:
		return p.tensor(v)
	default:
		return fmt.Errorf("a value of type %T", v)
	}
	return nil
}

func (p *pickler) text(s string) {
	p.bytes.WriteString("X") // BINUNICODE
	binary.Write(&p.bytes, binary.LittleEndian, uint32(len(s)))
	p.bytes.WriteString(s)
}

func (p *pickler) int(n int) {
	if n == int(int32(n)) {
		p.bytes.WriteString("J") // BININT
		binary.Write(&p.bytes, binary.LittleEndian, int32(n))
		return
	}
	p.bytes.WriteString("\x8a\x08") // LONG1 of 8 bytes
	binary.Write(&p.bytes, binary.LittleEndian, int64(n))
}

// ints writes a tuple.
func (p *pickler) ints(list []int) {
	p.bytes.WriteString("(") // MARK
	for _, n := range list {
		p.int(n)
	}
	p.bytes.WriteString("t") // TUPLE
}

// tensor writes _rebuild_tensor_v2 of a whole storage.
func (p *pickler) tensor(t weights.Tensor) error {
	class := map[weights.DType]string{weights.F32: "FloatStorage", weights.F16: "HalfStorage",
		weights.BF16: "BFloat16Storage"}[t.DType]
	if class == "" {
		return fmt.Errorf("type %s, want F32, F16 or BF16", t.DType)
	}
	key, ok := p.keys[t.Name]
	if !ok {
		key = len(p.storages)
		p.keys[t.Name] = key
		p.storages = append(p.storages, t)
	}
	p.bytes.WriteString("ctorch._utils\n_rebuild_tensor_v2\n((") // GLOBAL, MARK, MARK
	p.text("storage")
	p.bytes.WriteString("ctorch\n" + class + "\n")
	p.text(strconv.Itoa(key))
	p.text("cpu")
	p.int(t.Len())
	p.bytes.WriteString("tQ") // TUPLE, BINPERSID
	p.int(0)                  // the offset in the storage
	p.ints(t.Shape)
	strides := make([]int, len(t.Shape))
	for i, n := len(strides)-1, 1; i >= 0; i-- {
		strides[i] = n
		n *= t.Shape[i]
	}
	p.ints(strides)
	p.bytes.WriteString("\x89ccollections\nOrderedDict\n)RtR") // requires_grad is false, no hooks
	return nil
}
