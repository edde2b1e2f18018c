package main

// Arrays of float32 that a command writes, as files that NumPy and safetensors read. The shapes
// stand at the beginning of a file, so they are known before its numbers.

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/weights"
)

// An arrayFormat is a format of files, named as their names end.
type arrayFormat string

// The formats.
const (
	npyArrays         arrayFormat = "npy"         // NumPy's, version 1.0: one array, without a name
	safetensorsArrays arrayFormat = "safetensors" // arrays with names, and metadata
)

// arrayFormatOf returns the format that the name of a file asks for, "" for another name.
func arrayFormatOf(name string) arrayFormat {
	for _, f := range []arrayFormat{npyArrays, safetensorsArrays} {
		if strings.HasSuffix(strings.ToLower(name), "."+string(f)) {
			return f
		}
	}
	return ""
}

// growingRows is the first dimension of an array that is as long as what is written. It is the
// file's only array.
const growingRows = -1

// An arrayShape is the name and the shape of an array, row-major.
type arrayShape struct {
	Name  string
	Shape []int
}

// len returns the number of elements.
func (a arrayShape) len() int { return weights.Tensor{Shape: a.Shape}.Len() }

// An arrayWriter writes one file.
type arrayWriter struct {
	w        io.Writer
	format   arrayFormat
	metadata map[string]string
	arrays   []arrayShape
	header   int     // its bytes
	starts   []int64 // before which element of the file each array begins

	written atomic.Int64 // elements
	buffers sync.Pool    // of *[]byte
}

// beginArrays writes the beginning of a file. The metadata is for safetensors, and short.
func beginArrays(
	w io.Writer, f arrayFormat, metadata map[string]string, arrays ...arrayShape,
) (*arrayWriter, error) {
	a := &arrayWriter{w: w, format: f, metadata: metadata, arrays: arrays}
	a.buffers.New = func() any { return new([]byte) }
	at := int64(0)
	for i := range arrays {
		a.starts = append(a.starts, at)
		at += int64(arrays[i].len())
	}
	rows := 0
	if a.grows() { // leave room for the most rows that there can be
		rows = math.MaxInt / 8 / a.rowLen()
	}
	head, err := a.head(rows)
	if err != nil {
		return nil, err
	}
	a.header = len(head)
	_, err = w.Write(head)
	return a, err
}

func (a *arrayWriter) grows() bool {
	return len(a.arrays[0].Shape) > 0 && a.arrays[0].Shape[0] == growingRows
}

// rowLen returns how many numbers a row of an array that grows has.
func (a *arrayWriter) rowLen() int { return max(1, arrayShape{Shape: a.arrays[0].Shape[1:]}.len()) }

// head returns what the file begins with, at least a.header bytes. Of an array that grows it says
// that it has so many rows.
func (a *arrayWriter) head(rows int) ([]byte, error) {
	shape := func(a arrayShape) []int {
		if len(a.Shape) > 0 && a.Shape[0] == growingRows {
			return append([]int{rows}, a.Shape[1:]...)
		}
		return a.Shape
	}
	if a.format == npyArrays {
		return npyHead(shape(a.arrays[0]), a.header), nil
	}
	var tensors []weights.Tensor
	for _, x := range a.arrays {
		tensors = append(tensors, weights.Tensor{Name: x.Name, DType: weights.F32, Shape: shape(x)})
	}
	b, err := weights.Header(a.metadata, tensors)
	if err == nil && len(b) < a.header { // spaces may follow
		b = fmt.Appendf(b, "%*s", a.header-len(b), "")
		binary.LittleEndian.PutUint64(b, uint64(len(b)-8))
	}
	return b, err
}

// npyHead returns the beginning of a file of NumPy, at least so many bytes: a multiple of 64, and
// the 128 that NumPy itself writes for most arrays.
func npyHead(shape []int, least int) []byte {
	dims := ""
	for _, n := range shape {
		dims += fmt.Sprintf("%d, ", n)
	}
	if len(shape) > 1 {
		dims = strings.TrimSuffix(dims, ", ")
	} else {
		dims = strings.TrimSuffix(dims, " ") // (3,)
	}
	text := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", dims)
	const begin = "\x93NUMPY\x01\x00" // then two bytes with the length of what follows
	length := max(128, least, (len(begin)+2+len(text)+1+63)/64*64)
	b := binary.LittleEndian.AppendUint16([]byte(begin), uint16(length-len(begin)-2))
	return fmt.Appendf(b, "%-*s\n", length-len(b)-1, text)
}

// write writes the numbers that come next, array after array.
func (a *arrayWriter) write(x []float32) error {
	return a.encode(x, func(b []byte) error {
		_, err := a.w.Write(b)
		return err
	})
}

// writeAt writes numbers of an array from its element at on. The file is an io.WriterAt. Several
// goroutines may call it at a time, each for other numbers.
func (a *arrayWriter) writeAt(array, at int, x []float32) error {
	return a.encode(x, func(b []byte) error {
		_, err := a.w.(io.WriterAt).WriteAt(b, int64(a.header)+4*(a.starts[array]+int64(at)))
		return err
	})
}

func (a *arrayWriter) encode(x []float32, write func([]byte) error) error {
	b := a.buffers.Get().(*[]byte)
	defer a.buffers.Put(b)
	var err error
	if *b, err = binary.Append((*b)[:0], binary.LittleEndian, x); err == nil {
		err = write(*b)
	}
	if err == nil {
		a.written.Add(int64(len(x)))
	}
	return err
}

// end checks that all numbers are written. Of an array that grows it writes how many rows there
// are; the file is an io.WriterAt then.
func (a *arrayWriter) end() error {
	written, last := a.written.Load(), len(a.arrays)-1
	if !a.grows() {
		if want := a.starts[last] + int64(a.arrays[last].len()); written != want {
			return fmt.Errorf("%d numbers, want %d", written, want)
		}
		return nil
	}
	head, err := a.head(int(written) / a.rowLen())
	if err == nil {
		_, err = a.w.(io.WriterAt).WriteAt(head, 0)
	}
	return err
}

// An arrayOutput is the file of arrays that --out names.
type arrayOutput struct {
	Out   *string
	Force bool
}

func (o *arrayOutput) flags(f *cli.Flags, help string) {
	f.Add(&o.Out, "-o, --out FILE", help)
	f.Add(&o.Force, "--force", "write over what is to be written, if it is there")
}

// check refuses a file that cannot be written, before anything is computed.
func (o *arrayOutput) check(a *app) error {
	if o.Out == nil {
		return nil
	}
	if arrayFormatOf(*o.Out) == "" {
		return usagef("--out %s: want a name that ends in .npy or .safetensors", quoteShort(*o.Out))
	}
	return outfile.FlagError("--out", outfile.Check(*o.Out, o.rules(a, arrayFormatOf(*o.Out))))
}

// rules are those for a file of arrays.
func (o *arrayOutput) rules(a *app, f arrayFormat) outfile.Options {
	return a.writing(o.Force, arrayKind(f))
}

func arrayKind(f arrayFormat) outfile.Kind {
	if f == npyArrays {
		return outfile.NPY
	}
	return outfile.Safetensors
}

// write writes a file of arrays. Its metadata say what computed them, of what, and more.
func (o *arrayOutput) write(
	a *app, m *model.Model, p *prompt, more map[string]string, put func(*arrayWriter) error,
	arrays ...arrayShape,
) error {
	format, metadata := arrayFormatOf(*o.Out), map[string]string{}
	if format == safetensorsArrays {
		var err error
		if metadata, err = a.describe(m, p); err != nil {
			return err
		}
		maps.Copy(metadata, more)
	}
	var own error // not about the output
	err := outfile.WriteFile(context.Background(), *o.Out, o.rules(a, format),
		func(w io.Writer) error {
			f, err := beginArrays(w, format, metadata, arrays...)
			if err != nil {
				return err
			}
			if err = put(f); err == nil {
				return f.end()
			}
			var failed *fs.PathError
			if !errors.As(err, &failed) {
				own = err
			}
			return err
		})
	return fault.First(own, outfile.FlagError("--out", err))
}

// describe says which model computes arrays, and of what.
func (a *app) describe(m *model.Model, p *prompt) (map[string]string, error) {
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	digest, err := ck.Digest()
	d := map[string]string{"model": digest, "dtype": m.Format(), "version": versionName(),
		"tokens": string(strictjson.AppendIDs(nil, p.ids))}
	if p.asText {
		d["text"] = p.text
	}
	if edits := a.Edits.list(); len(edits) > 0 {
		b, _ := json.Marshal(edits) // strings always have JSON
		d["edits"] = string(b)
	}
	return d, err
}
