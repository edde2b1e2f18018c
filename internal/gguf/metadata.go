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

// kinds are the names of the kinds, and the bytes of a value, 0 where these vary.
var kinds = [...]struct {
	name string
	size int
}{{"u8", 1}, {"i8", 1}, {"u16", 2}, {"i16", 2}, {"u32", 4}, {"i32", 4}, {"f32", 4}, {"bool", 1},
	{"string", 0}, {"array", 0}, {"u64", 8}, {"i64", 8}, {"f64", 8}}

func (k kind) String() string {
	if int64(k) < int64(len(kinds)) {
		return kinds[k].name
	}
	return fmt.Sprintf("type %d", uint32(k))
}

// size returns the bytes of a value, or 0 for kinds of variable size.
func (k kind) size() int {
	if int64(k) < int64(len(kinds)) {
		return kinds[k].size
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
	size := v.kind.size()
	var whole [8]byte
	copy(whole[:], v.raw[i*size:][:size])
	n := binary.LittleEndian.Uint64(whole[:])
	switch v.kind {
	case kindU8, kindU16, kindU32, kindU64:
		return n, true
	case kindI8, kindI16, kindI32, kindI64:
		return n, n>>(8*size-1) == 0
	}
	return 0, false
}

// value returns the value of a key, whose kind must be right. ok is false if there is no such key.
func (f *File) value(key, want string, right func(v Value) bool) (v Value, ok bool, err error) {
	if v, ok = f.Pairs[key]; ok && !right(v) {
		return v, false, fmt.Errorf("%s: %s, want %s", key, v, want)
	}
	return v, ok, nil
}

// one and list are the values of a kind that are no array, and that are one.
func one(k kind) func(Value) bool  { return func(v Value) bool { return !v.array && v.kind == k } }
func list(k kind) func(Value) bool { return func(v Value) bool { return v.array && v.kind == k } }

// Uint returns the integer of a key, at least 0. ok is false if there is no such key.
func (f *File) Uint(key string) (n uint64, ok bool, err error) {
	_, ok, err = f.value(key, "an integer of at least 0", func(v Value) (is bool) {
		if !v.array {
			n, is = v.integer(0)
		}
		return is
	})
	return n, ok, err
}

// Float returns the float of a key. ok is false if there is no such key.
func (f *File) Float(key string) (x float32, ok bool, err error) {
	v, ok, err := f.value(key, "an f32", one(kindF32))
	if ok {
		x = math.Float32frombits(binary.LittleEndian.Uint32(v.raw))
	}
	return x, ok, err
}

// Bool returns the boolean of a key. ok is false if there is no such key.
func (f *File) Bool(key string) (yes, ok bool, err error) {
	v, ok, err := f.value(key, "a bool", one(kindBool))
	return ok && v.raw[0] != 0, ok, err
}

// Text returns the string of a key. ok is false if there is no such key.
func (f *File) Text(key string) (s string, ok bool, err error) {
	v, ok, err := f.value(key, "a string", one(kindString))
	if ok {
		s = string(v.raw[8:])
	}
	return s, ok, err
}

// Texts returns the array of strings of a key, or nil if there is no such key.
func (f *File) Texts(key string) ([]string, error) {
	v, ok, err := f.value(key, "an array of strings", list(kindString))
	if !ok {
		return nil, err
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
func (f *File) Uints(key string) (all []int, err error) {
	_, _, err = f.value(key, "an array of integers of at least 0", func(v Value) bool {
		all = make([]int, 0, v.count)
		for i := range v.count {
			n, ok := v.integer(i)
			if !ok || n > math.MaxInt {
				return false
			}
			all = append(all, int(n))
		}
		return v.array
	})
	return all, err
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
