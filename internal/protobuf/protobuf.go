// Package protobuf splits messages of protocol buffers into fields, without their definitions.
package protobuf

import (
	"encoding/binary"
	"errors"
)

// ErrBroken is the error for bytes that are not a message.
var ErrBroken = errors.New("not a message of protocol buffers")

// Fields calls f with each field of a message: its number, and its value, which is a number or, for
// fields with a length, bytes.
func Fields(b []byte, f func(number int, n uint64, bytes []byte) error) error {
	for len(b) > 0 {
		tag, size := binary.Uvarint(b)
		if size <= 0 || tag>>3 == 0 || tag>>3 > 1<<29 {
			return ErrBroken
		}
		b = b[size:]
		var n uint64
		var part []byte
		switch tag & 7 {
		case 0:
			if n, size = binary.Uvarint(b); size <= 0 {
				return ErrBroken
			}
		case 1:
			if size = 8; len(b) < size {
				return ErrBroken
			}
			n = binary.LittleEndian.Uint64(b)
		case 2:
			var length uint64
			length, size = binary.Uvarint(b)
			if size <= 0 || length > uint64(len(b)-size) {
				return ErrBroken
			}
			part = b[size : size+int(length)]
			size += int(length)
		case 5:
			if size = 4; len(b) < size {
				return ErrBroken
			}
			n = uint64(binary.LittleEndian.Uint32(b))
		default:
			return ErrBroken
		}
		b = b[size:]
		if err := f(int(tag>>3), n, part); err != nil {
			return err
		}
	}
	return nil
}
