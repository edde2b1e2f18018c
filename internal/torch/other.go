package torch

// Tensors whose numbers are not read: an error where they are needed, and nothing where they are not.

import (
	"picogpt/internal/pickle"
	"picogpt/internal/quote"
)

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
		return pickle.Func(ofType)
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
	return pickle.Func(func(pickle.Tuple) (any, error) { return &o, nil })
}

// ofType implements _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype,
// metadata).
func ofType(args pickle.Tuple) (any, error) {
	kind := "a type that is not known"
	if len(args) > 6 {
		if c, ok := args[6].(*pickle.Class); ok {
			kind = quote.Plain(c.Name, 40)
		}
	}
	return &Other{"a tensor of " + kind, wantFloats}, nil
}
