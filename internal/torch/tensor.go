// Tensors: views of storages, checked when they are made.

package torch

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"picogpt/internal/quote"
	"picogpt/weights"
)

// maxRank bounds the dimensions of a tensor, as in package weights.
const maxRank = 16

// A Tensor is a view of a storage.
type Tensor struct {
	file    *File
	storage *storage
	offset  int64 // in numbers, as strides are
	shape   []int
	strides []int64
}

// rebuild implements _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks,
// metadata).
func (f *File) rebuild(args Tuple) (any, error) {
	if len(args) < 6 || len(args) > 7 {
		return nil, fmt.Errorf("a tensor of %d arguments, want 6", len(args))
	}
	switch s := args[0].(type) {
	case *Object: // of numbers that are not known
		return &Object{Class: s.Class, Args: args}, nil
	case *storage:
		if s.kind != "" {
			return &Other{"a tensor of " + s.kind, wantFloats}, nil
		}
	}
	t := &Tensor{file: f}
	var ok bool
	if t.storage, ok = args[0].(*storage); !ok {
		return nil, fmt.Errorf("a tensor of %s, want a storage", Kind(args[0]))
	}
	if t.offset, ok = args[1].(int64); !ok {
		return nil, fmt.Errorf("a tensor whose offset is %s", Kind(args[1]))
	}
	shape, err := integers("size", args[2])
	if err != nil {
		return nil, err
	}
	if t.strides, err = integers("stride", args[3]); err != nil {
		return nil, err
	}
	if len(args) == 7 {
		if err := unchanged(args[6]); err != nil {
			return nil, err
		}
	}
	if err := t.check(shape); err != nil {
		return nil, fmt.Errorf("a tensor of size %v, stride %v, offset %d: %w", shape, t.strides,
			t.offset, err)
	}
	return t, nil
}

// unchanged refuses metadata, which say that the elements are the storage's numbers negated or
// conjugated: PyTorch applies these when it reads them.
func unchanged(metadata any) error {
	d, ok := metadata.(*Dict)
	if metadata == nil || ok && len(d.Keys) == 0 {
		return nil
	}
	if !ok {
		return fmt.Errorf("a tensor whose metadata are %s, want a dict", Kind(metadata))
	}
	return fmt.Errorf("a tensor with metadata, %s: save x.resolve_neg().resolve_conj()",
		quote.Short(fmt.Sprint(d.Keys[0]), 40))
}

// integers returns the values of a tuple of a few integers.
func integers(what string, v any) ([]int64, error) {
	t, ok := v.(Tuple)
	if !ok || len(t) > maxRank {
		return nil, fmt.Errorf("a tensor whose %s is %s, want a tuple of at most %d", what,
			Kind(v), maxRank)
	}
	all := make([]int64, len(t))
	for i, x := range t {
		if all[i], ok = x.(int64); !ok {
			return nil, fmt.Errorf("a tensor whose %s has %s, want integers", what, Kind(x))
		}
	}
	return all, nil
}

// check checks that a tensor of that shape lies within its storage and, if strides of 0 repeat
// elements, that it is not larger than the file. It sets the shape.
func (t *Tensor) check(shape []int64) error {
	if len(shape) != len(t.strides) {
		return errors.New("want as many strides as sizes")
	}
	elements, most := int64(1), t.storage.count
	if t.offset < 0 || min(slices.Min(append(shape, 0)), slices.Min(append(t.strides, 0))) < 0 {
		return errors.New("want nothing negative")
	}
	for _, n := range shape {
		if n > math.MaxInt {
			return errors.New("more elements than can be addressed")
		}
		t.shape = append(t.shape, int(n))
		elements = product(elements, n)
	}
	if slices.Contains(shape, 0) {
		return nil
	}
	if elements > most && elements > t.file.Size()/int64(t.storage.dtype.Size()) {
		return errors.New("more elements than the whole file has")
	}
	last := t.offset
	for i, n := range shape {
		step := product(n-1, t.strides[i])
		if last > most-1-min(step, most) { // all are at most 2^63-1, so that neither side overflows
			return fmt.Errorf("beyond its storage, which has %d numbers", most)
		}
		last += step
	}
	if last >= most {
		return fmt.Errorf("beyond its storage, which has %d numbers", most)
	}
	return nil
}

// product multiplies two numbers that are not negative. The result is at most the largest int64.
func product(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// size implements torch.Size(tuple), which is a tuple.
func size(args Tuple) (any, error) {
	if len(args) == 1 {
		if t, ok := args[0].(Tuple); ok {
			return t, nil
		}
	}
	return nil, errors.New("torch.Size without a tuple")
}

// parameter implements _rebuild_parameter(tensor, requires_grad, hooks) and
// _rebuild_parameter_with_state(tensor, requires_grad, hooks, attributes), which are the tensor.
func parameter(args Tuple) (any, error) {
	if len(args) == 3 || len(args) == 4 {
		switch t := args[0].(type) {
		case *Tensor, *Other, *Object: // of numbers that are not known
			return t, nil
		}
	}
	return nil, errors.New("a parameter without a tensor")
}

// fromType implements _rebuild_from_type_v2(function, class, arguments, state): the function's
// result, without attributes.
func (f *File) fromType(args Tuple) (any, error) {
	if len(args) != 4 {
		return nil, fmt.Errorf("a tensor of a type with %d arguments, want 4", len(args))
	}
	of, _ := args[2].(Tuple)
	called, isCalled := args[0].(*Class)
	_, isFunc := args[0].(Func)
	class, isClass := args[1].(*Class)
	_, isTensor := args[1].(tensorClass)
	switch {
	case isCalled:
		if _, err := called.Call(of); err != nil {
			return nil, err
		}
	case !isFunc || len(of) == 0 || !isClass && !isTensor || !isNumbers(of[0]):
		return nil, errors.New("a tensor of another type than torch.Tensor and Parameter")
	}
	switch {
	case isClass:
		return &Other{"a tensor of the class " + class.String(), "want a plain torch.Tensor"}, nil
	case isCalled:
		return &Other{"a tensor that " + called.String() + " makes", "want a plain torch.Tensor"}, nil
	}
	return f.rebuild(of) // the only known function that begins with a storage
}

// isNumbers reports whether an argument is what a function that rebuilds tensors begins with. That
// of fromType is a function, which could be any.
func isNumbers(v any) bool {
	switch v.(type) {
	case *storage, *Tensor:
		return true
	}
	return false
}

// Kind returns the kind of a tensor for errors.
func (t *Tensor) Kind() string { return "a tensor" }

// Shape returns the sizes. The caller must not change the slice.
func (t *Tensor) Shape() []int { return t.shape }

// Same reports whether two tensors are the same view of one storage.
func (t *Tensor) Same(u *Tensor) bool {
	return t.storage == u.storage && t.offset == u.offset && slices.Equal(t.shape, u.shape) &&
		slices.Equal(t.strides, u.strides)
}

// Weights returns the tensor under a name. If its elements lie in order and as floats must, its
// Data are the file's bytes; otherwise Fill makes it. Errors name it.
func (t *Tensor) Weights(name string) (weights.Tensor, error) {
	w := weights.Tensor{Name: name, DType: t.storage.dtype, Shape: t.shape}
	if slices.Contains(t.shape, 0) {
		w.Data = []byte{}
		return w, nil
	}
	if t.file.file.IsFar() {
		w.Fill = weights.Far
		return w, nil
	}
	begin, err := t.begin()
	var data []byte
	width := int64(w.DType.Size())
	if err == nil {
		data, err = t.file.file.Part(begin, t.storage.size()-t.offset*width)
	}
	if err != nil {
		return w, fmt.Errorf("%s: storage %s: %w", quote.Plain(name, 80),
			quote.Short(t.storage.key, 40), err)
	}
	switch {
	case t.inOrder() && uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(width) == 0:
		w.Data = data[:w.Size():w.Size()]
	case t.inOrder():
		w.Fill = func(dst []byte, from int64) error {
			copy(dst, data[from:])
			return nil
		}
	case len(t.shape) == 2 && t.strides[0] == 1 && t.strides[1] == int64(t.shape[0]):
		w.Shape, w.Data = []int{t.shape[1], t.shape[0]}, data[:w.Size():w.Size()]
		w = w.Transposed()
	default:
		w.Fill = func(dst []byte, from int64) error {
			t.gather(dst, data, from/width)
			return nil
		}
	}
	w.Done = func() { t.file.file.Forget(data) }
	return w, nil
}

// InPlace reports whether the elements of a tensor that is not empty lie in order and aligned in the
// file, so that Data can be its bytes.
func (t *Tensor) InPlace() (bool, error) {
	begin, err := t.begin()
	return err == nil && t.inOrder() && begin%int64(t.storage.dtype.Size()) == 0, err
}

// begin returns the offset of the first element in the file.
func (t *Tensor) begin() (int64, error) {
	begin, err := t.storage.begin()
	return begin + t.offset*int64(t.storage.dtype.Size()), err
}

// inOrder reports whether the elements lie one after another.
func (t *Tensor) inOrder() bool {
	next := int64(1)
	for i := len(t.shape) - 1; i >= 0; i-- {
		if t.shape[i] != 1 && t.strides[i] != next {
			return false
		}
		next *= int64(t.shape[i])
	}
	return true
}

// gather sets dst to the elements from index `from` on, in row-major order. data begins at the
// first element.
func (t *Tensor) gather(dst, data []byte, from int64) {
	width := int64(t.storage.dtype.Size())
	last := len(t.shape) - 1
	columns, stride := int64(t.shape[last]), t.strides[last]*width
	for len(dst) > 0 {
		row, column := from/columns, from%columns
		at := column * stride
		for i := last - 1; i >= 0; i-- {
			at += row % int64(t.shape[i]) * t.strides[i] * width
			row /= int64(t.shape[i])
		}
		n := min(columns-column, int64(len(dst))/width)
		for range n {
			copy(dst[:width], data[at:at+width])
			dst, at = dst[width:], at+stride
		}
		from += n
	}
}

// Tensors whose numbers are not read: an error where they are needed, and nothing where they are not.

// An Other is a tensor of a kind that is not read.
type Other struct {
	what, want string
}

const wantFloats = "want float32, float16, bfloat16 or float64"

// Kind returns the kind of a tensor for errors: "a tensor of float8_e4m3fn, want float32, …".
func (o *Other) Kind() string { return o.what + ", " + o.want }

// rebuildOther returns the function of torch._utils of that name, which makes an Other, or nil.
func rebuildOther(name string) any {
	var o Other
	switch name {
	case "_rebuild_tensor_v3": // of numbers that have no class of storages
		return Func(ofType)
	case "_rebuild_sparse_tensor":
		o = Other{"a sparse tensor", "want a dense one: save x.to_dense()"}
	case "_rebuild_qtensor":
		o = Other{"a quantized tensor", "want numbers: save x.dequantize()"}
	case "_rebuild_nested_tensor":
		o = Other{"a nested tensor", "want one of one shape"}
	case "_rebuild_meta_tensor_no_storage":
		o = Other{"a tensor without numbers, of the device meta", "want one with them"}
	default:
		return nil
	}
	return Func(func(Tuple) (any, error) { return &o, nil })
}

// ofType implements _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype,
// metadata).
func ofType(args Tuple) (any, error) {
	kind := "a type that is not known"
	if len(args) > 6 {
		if c, ok := args[6].(*Class); ok {
			kind = quote.Plain(c.Name, 40)
		}
	}
	return &Other{"a tensor of " + kind, wantFloats}, nil
}
