// Storages, and the names that a pickle may use.

package torch

import (
	"errors"
	"fmt"
	"math"

	"picogpt/internal/quote"
	"picogpt/weights"
)

// A storage is an array of numbers of one type.
type storage struct {
	key   string
	dtype weights.DType
	count int64                 // of numbers; their bytes fit an int64
	begin func() (int64, error) // the offset of its bytes in the file
	kind  string                // of what its bytes, counted as U8, are; "" for numbers
}

func (s *storage) size() int64 { return s.count * int64(s.dtype.Size()) }

// storages are the storages that the persistent ids of a file name.
type storages struct {
	byKey map[string]*storage
	apart bool                   // each has a place of its own, so that others may be of any class
	find  func(s *storage) error // checks a new one and sets its begin, if that is already known
}

// A storageClass is a class of storages: of numbers or, by their kind, of others, which are not read
// and whose bytes count as U8.
type storageClass struct {
	dtype weights.DType
	kind  string // such as "complex64"; "" for numbers
	width int64  // bytes of an element of that kind
}

// storageClasses returns them by their names. Those of UntypedStorage say their type with each tensor.
func storageClasses() map[string]storageClass {
	const u8 = weights.U8
	return map[string]storageClass{
		"torch.FloatStorage": {dtype: weights.F32}, "torch.HalfStorage": {dtype: weights.F16},
		"torch.BFloat16Storage": {dtype: weights.BF16}, "torch.DoubleStorage": {dtype: weights.F64},
		"torch.ByteStorage": {dtype: weights.U8}, "torch.BoolStorage": {dtype: weights.BOOL},
		"torch.CharStorage": {dtype: weights.I8}, "torch.ShortStorage": {dtype: weights.I16},
		"torch.IntStorage": {dtype: weights.I32}, "torch.LongStorage": {dtype: weights.I64},
		"torch.ComplexFloatStorage": {u8, "complex64", 8}, "torch.QInt8Storage": {u8, "qint8", 1},
		"torch.ComplexDoubleStorage": {u8, "complex128", 16},
		"torch.QUInt8Storage":        {u8, "quint8", 1}, "torch.QInt32Storage": {u8, "qint32", 4},
		"torch.QUInt4x2Storage": {u8, "quint4x2", 1}, "torch.QUInt2x4Storage": {u8, "quint2x4", 1},
		"torch.storage.UntypedStorage": {u8, "bytes", 1}, "torch.UntypedStorage": {u8, "bytes", 1},
	}
}

// global returns the few names that tensors need. Others are not known.
func (f *File) global(module, name string) any {
	switch {
	case module == "torch" && name == "Size":
		return Func(size)
	case module == "torch" && name == "Tensor", module == "torch.nn.parameter" && name == "Parameter":
		return tensorClass{}
	case module == "torch._utils" && name == "_rebuild_tensor_v2":
		return Func(f.rebuild)
	case module == "torch._utils" && (name == "_rebuild_parameter" ||
		name == "_rebuild_parameter_with_state"):
		return Func(parameter)
	case module == "torch._utils":
		return rebuildOther(name)
	case module == "torch._tensor" && name == "_rebuild_from_type_v2":
		return Func(f.fromType)
	}
	if class, ok := storageClasses()[module+"."+name]; ok {
		return class
	}
	return nil
}

// tensorClass stands for torch.Tensor and Parameter, which are the same here.
type tensorClass struct{}

// persistent returns the storage for an id: ('storage', class, key, location, numel), and None in
// files of the older form. The location is the device from which it was saved.
func (s *storages) persistent(id any) (any, error) {
	t, ok := id.(Tuple)
	if ok && len(t) == 4 && t[0] == "module" { // a class with its source, in the older form
		return t[1], nil
	}
	if !ok || len(t) < 5 || len(t) > 6 || t[0] != "storage" {
		return nil, errors.New("a persistent id that is no storage's")
	}
	class, ok := t[1].(storageClass)
	if class.kind != "" && s.apart {
		return &storage{kind: class.kind}, nil // an error only where it is needed
	}
	if unknown, is := t[1].(*Class); is && s.apart {
		return &Object{Class: unknown, Args: t}, nil // an error only where it is needed
	}
	if !ok {
		return nil, fmt.Errorf("a storage whose class is %s", Kind(t[1]))
	}
	key, ok := t[2].(string)
	if !ok {
		return nil, fmt.Errorf("a storage whose key is %s, want a string", Kind(t[2]))
	}
	if len(t) == 6 && t[5] != nil {
		return nil, fmt.Errorf("storage %s: a view of another one, as PyTorch 0.3 wrote: save it "+
			"anew", quote.Short(key, 40))
	}
	dtype, width := class.dtype, max(class.width, 1)
	count, ok := t[4].(int64)
	if !ok || count < 0 || count > math.MaxInt64/max(int64(dtype.Size()), width) {
		return nil, fmt.Errorf("storage %s: %s numbers", quote.Short(key, 40), number(t[4]))
	}
	count *= width
	if known, ok := s.byKey[key]; ok {
		if known.dtype != dtype || known.count != count {
			return nil, fmt.Errorf("storage %s: %d numbers of %s, and elsewhere %d of %s",
				quote.Short(key, 40), count, dtype, known.count, known.dtype)
		}
		return known, nil
	}
	x := &storage{key: key, dtype: dtype, count: count, kind: class.kind}
	if err := s.find(x); err != nil {
		return nil, err
	}
	s.byKey[key] = x
	return x, nil
}

// Kind returns the kind of a storage for errors.
func (s *storage) Kind() string { return "a storage" }
