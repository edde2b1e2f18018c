package tensorflow

// Protocol buffers: the fields of a message.

import (
	"encoding/binary"
	"errors"
)

var errProto = errors.New("not a message of protocol buffers")

// fields calls f with each field of a message: its number, and its value as a number or, of those
// that have a length, as bytes.
func fields(b []byte, f func(number int, n uint64, bytes []byte) error) error {
	for len(b) > 0 {
		tag, size := binary.Uvarint(b)
		if size <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
			return errProto
		}
		b = b[size:]
		var n uint64
		var part []byte
		switch tag & 7 {
		case 0:
			if n, size = binary.Uvarint(b); size <= 0 {
				return errProto
			}
		case 1:
			if size = 8; len(b) < size {
				return errProto
			}
			n = binary.LittleEndian.Uint64(b)
		case 2:
			var length uint64
			length, size = binary.Uvarint(b)
			if size <= 0 || length > uint64(len(b)-size) {
				return errProto
			}
			part = b[size : size+int(length)]
			size += int(length)
		case 5:
			if size = 4; len(b) < size {
				return errProto
			}
			n = uint64(binary.LittleEndian.Uint32(b))
		default:
			return errProto
		}
		b = b[size:]
		if err := f(int(tag>>3), n, part); err != nil {
			return err
		}
	}
	return nil
}
