package gguf

// Writing files.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"picogpt/weights"
)

// A Pair is a key of the metadata and its value: a uint32, int32, float32, bool, string, []string
// or []int32.
type Pair struct {
	Key   string
	Value any
}

// Write writes a file of version 3: the same arguments give the same bytes. Tensors are F32, F16 or
// BF16; their shapes have the slowest dimension first.
func Write(w io.Writer, pairs []Pair, tensors []weights.Tensor) error {
	head, err := encodeHeader(pairs, tensors)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := t.Write(w); err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, padding(t.Size()))); err != nil {
			return err
		}
	}
	return nil
}

// padding returns the number of bytes from n to the next multiple of the alignment.
func padding(n int64) int64 { return -n & (defaultAlignment - 1) }

// encodeHeader returns everything before the data.
func encodeHeader(pairs []Pair, tensors []weights.Tensor) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(magic)
	put(&b, uint32(3), uint64(len(tensors)), uint64(len(pairs)))
	for _, p := range pairs {
		put(&b, p.Key)
		switch v := p.Value.(type) {
		case uint32:
			put(&b, kindU32, v)
		case int32:
			put(&b, kindI32, v)
		case float32:
			put(&b, kindF32, math.Float32bits(v))
		case bool:
			put(&b, kindBool, v)
		case string:
			put(&b, kindString, v)
		case []string:
			put(&b, kindArray, kindString, uint64(len(v)))
			for _, s := range v {
				put(&b, s)
			}
		case []int32:
			put(&b, kindArray, kindI32, uint64(len(v)), v)
		default:
			return nil, fmt.Errorf("%s: a value of type %T", p.Key, v)
		}
	}
	at := int64(0)
	for _, t := range tensors {
		kind, err := typeOf(t)
		if err != nil {
			return nil, err
		}
		put(&b, t.Name, uint32(len(t.Shape)))
		for i := range t.Shape {
			put(&b, uint64(t.Shape[len(t.Shape)-1-i]))
		}
		put(&b, kind, uint64(at))
		at += t.Size() + padding(t.Size())
	}
	put(&b, make([]byte, padding(int64(b.Len()))))
	return b.Bytes(), nil
}

// put appends values in the form of the file.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			put(b, uint64(len(s)), []byte(s))
			continue
		}
		binary.Write(b, binary.LittleEndian, v) // of fixed size, into memory
	}
}

// typeOf returns the type of a tensor, which must be one that Write can write.
func typeOf(t weights.Tensor) (Type, error) {
	if err := checkName(t.Name); err != nil {
		return 0, err
	}
	if len(t.Shape) < 1 || len(t.Shape) > maxRank {
		return 0, fmt.Errorf("%s: %d dimensions, want 1 to %d", t.Name, len(t.Shape), maxRank)
	}
	switch t.DType {
	case weights.F32:
		return F32, nil
	case weights.F16:
		return F16, nil
	case weights.BF16:
		return BF16, nil
	}
	return 0, fmt.Errorf("%s: type %s, want F32, F16 or BF16", t.Name, t.DType)
}
