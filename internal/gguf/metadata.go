package gguf

// Metadata: keys with typed values, read as the type that the caller wants.

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unsafe"

	"picogpt/internal/quote"
)

// A kind is the type of a value, with its number in files.
type kind uint32

const (
	kindU8 kind = iota
	kindI8
	kindU16
	kindI16
	kindU32
	kindI32
	kindF32
	kindBool
	kindString
	kindArray
	kindU64
	kindI64
	kindF64
)

func (k kind) String() string {
	names := [...]string{"u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array",
		"u64", "i64", "f64"}
	if int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("type %d", uint32(k))
}

// size returns the bytes of a value, or 0 for kinds of variable size.
func (k kind) size() int {
	switch k {
	case kindU8, kindI8, kindBool:
		return 1
	case kindU16, kindI16:
		return 2
	case kindU32, kindI32, kindF32:
		return 4
	case kindU64, kindI64, kindF64:
		return 8
	}
	return 0
}

// A Value is one value of the metadata, or an array of them.
type Value struct {
	kind  kind // of the elements
	array bool
	count int
	raw   []byte // as in the file
}

func (v Value) String() string {
	if v.array {
		return fmt.Sprintf("an array of %d %ss", v.count, v.kind)
	}
	return "a " + v.kind.String()
}

// integer returns element i, if it is an integer and at least 0.
func (v Value) integer(i int) (uint64, bool) {
	b := v.raw[i*v.kind.size():]
	var n int64
	switch v.kind {
	case kindU8:
		n = int64(b[0])
	case kindI8:
		n = int64(int8(b[0]))
	case kindU16:
		n = int64(binary.LittleEndian.Uint16(b))
	case kindI16:
		n = int64(int16(binary.LittleEndian.Uint16(b)))
	case kindU32:
		n = int64(binary.LittleEndian.Uint32(b))
	case kindI32:
		n = int64(int32(binary.LittleEndian.Uint32(b)))
	case kindU64, kindI64:
		n = int64(binary.LittleEndian.Uint64(b))
		return uint64(n), n >= 0 || v.kind == kindU64
	default:
		return 0, false
	}
	return uint64(n), n >= 0
}

// Uint returns the integer of a key, at least 0. ok is false if there is no such key.
func (f *File) Uint(key string) (n uint64, ok bool, err error) {
	v, ok := f.Pairs[key]
	if !ok {
		return 0, false, nil
	}
	if !v.array {
		if n, ok := v.integer(0); ok {
			return n, true, nil
		}
	}
	return 0, false, fmt.Errorf("%s: %s, want an integer of at least 0", key, v)
}

// Float returns the float of a key. ok is false if there is no such key.
func (f *File) Float(key string) (x float32, ok bool, err error) {
	v, ok := f.Pairs[key]
	if !ok {
		return 0, false, nil
	}
	if v.array || v.kind != kindF32 {
		return 0, false, fmt.Errorf("%s: %s, want an f32", key, v)
	}
	return math.Float32frombits(binary.LittleEndian.Uint32(v.raw)), true, nil
}

// Bool returns the boolean of a key. ok is false if there is no such key.
func (f *File) Bool(key string) (yes, ok bool, err error) {
	v, ok := f.Pairs[key]
	if !ok {
		return false, false, nil
	}
	if v.array || v.kind != kindBool {
		return false, false, fmt.Errorf("%s: %s, want a bool", key, v)
	}
	return v.raw[0] != 0, true, nil
}

// Text returns the string of a key. ok is false if there is no such key.
func (f *File) Text(key string) (s string, ok bool, err error) {
	v, ok := f.Pairs[key]
	if !ok {
		return "", false, nil
	}
	if v.array || v.kind != kindString {
		return "", false, fmt.Errorf("%s: %s, want a string", key, v)
	}
	return string(v.raw[8:]), true, nil
}

// Texts returns the array of strings of a key, or nil if there is no such key.
func (f *File) Texts(key string) ([]string, error) {
	v, ok := f.Pairs[key]
	if !ok {
		return nil, nil
	}
	if !v.array || v.kind != kindString {
		return nil, fmt.Errorf("%s: %s, want an array of strings", key, v)
	}
	all := make([]string, v.count)
	copied := string(v.raw) // one copy, of which all strings are parts
	at := uint64(0)
	for i := range all {
		n := binary.LittleEndian.Uint64(v.raw[at:])
		at += 8 + n
		all[i] = copied[at-n : at]
	}
	return all, nil
}

// Uints returns the array of integers of a key, each at least 0, or nil if there is no such key.
func (f *File) Uints(key string) ([]int, error) {
	v, ok := f.Pairs[key]
	if !ok {
		return nil, nil
	}
	wrong := fmt.Errorf("%s: %s, want an array of integers of at least 0", key, v)
	if !v.array {
		return nil, wrong
	}
	all := make([]int, 0, v.count)
	for i := range v.count {
		n, ok := v.integer(i)
		if !ok || n > math.MaxInt {
			return nil, wrong
		}
		all = append(all, int(n))
	}
	return all, nil
}

// Raw returns the bytes of all pairs whose keys begin with prefix, in the order of the keys.
func (f *File) Raw(prefix string) (all []byte) {
	for _, key := range slices.Sorted(maps.Keys(f.Pairs)) {
		if strings.HasPrefix(key, prefix) {
			all = append(append(all, key...), f.Pairs[key].raw...)
		}
	}
	return all
}

// A reader reads values from the header. It keeps the first error, and returns zero values after
// it.
type reader struct {
	data []byte
	size int // of the header at most; data may be less
	at   int
	err  error
}

// fail returns the error. If the header is longer than the part that was given of the file, which
// has that size, the error says that.
func (r *reader) fail(size int64) error {
	if int64(r.size) < size && r.at == r.size {
		return fmt.Errorf("the header has more than %d bytes", r.size)
	}
	return r.err
}

func (r *reader) take(n uint64) []byte {
	if rest := r.size - r.at; r.err == nil && n > uint64(rest) {
		r.err = fmt.Errorf("%d bytes wanted, but only %d follow: truncated?", n, rest)
		r.at = r.size
	} else if r.err == nil && int(n) > len(r.data)-r.at {
		r.err = ErrShort
	}
	if r.err != nil {
		return nil
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads the number of items of a list.
func (r *reader) count(what string, most uint64) int {
	n := r.u64()
	if r.err == nil && n > most {
		r.err = fmt.Errorf("%d %s, want at most %d", n, what, most)
	}
	if r.err != nil {
		return 0
	}
	return int(n)
}

// text reads a string, as a part of the file's memory.
func (r *reader) text(what string) string {
	b := r.take(r.u64())
	if r.err != nil {
		r.err = fmt.Errorf("%s: %w", what, r.err)
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// pair reads a key and its value.
func (r *reader) pair(pairs map[string]Value) {
	key := r.text("key")
	switch {
	case r.err != nil:
		return
	case !plain(key):
		r.err = fmt.Errorf("key %s: want 1 to %d bytes of ASCII that can be printed",
			quote.Short(key, 40), maxKey)
		return
	}
	key = strings.Clone(key)
	if _, ok := pairs[key]; ok {
		r.err = fmt.Errorf("%s: there twice, want it once", key)
		return
	}
	v := Value{kind: kind(r.u32()), count: 1}
	if v.kind == kindArray && r.err == nil {
		v.array, v.kind = true, kind(r.u32())
		n := r.u64()
		// each element takes at least a byte
		if rest := r.size - r.at; r.err == nil && n > uint64(rest) {
			r.err = fmt.Errorf("an array of %d, but only %d bytes follow: truncated?", n, rest)
		}
		v.count = int(n)
	}
	if r.err == nil {
		v.raw = r.elements(v)
	}
	if r.err != nil {
		r.err = fmt.Errorf("%s: %w", key, r.err)
	}
	pairs[key] = v
}

// elements returns the bytes of a value whose kind and count were read.
func (r *reader) elements(v Value) []byte {
	begin := r.at
	switch size := v.kind.size(); {
	case size > 0:
		// the count is not greater than the number of bytes of the file
		raw := r.take(uint64(size) * uint64(v.count))
		if r.err == nil && v.kind == kindBool && !v.array && raw[0] > 1 {
			r.err = fmt.Errorf("a bool of %d, want 0 or 1", raw[0])
		}
		return raw
	case v.kind == kindString:
		for i := range v.count {
			if r.take(r.u64()); r.err != nil {
				r.err = fmt.Errorf("string %d: %w", i, r.err)
				return nil
			}
		}
		return r.data[begin:r.at]
	case v.kind == kindArray:
		r.err = fmt.Errorf("an array of arrays, want none")
	default:
		r.err = fmt.Errorf("unknown %s of a value", v.kind)
	}
	return nil
}

// maxKey is ggml's bound for a key, in bytes.
const maxKey = 65535

// plain reports whether a key can be shown in an error message.
func plain(key string) bool {
	odd := func(r rune) bool { return r < ' ' || r > '~' }
	return key != "" && len(key) <= maxKey && !strings.ContainsFunc(key, odd)
}
