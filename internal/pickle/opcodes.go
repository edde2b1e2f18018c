package pickle

// The unsupported opcodes, so that errors can name them.

import "fmt"

// unknownOpcode returns an error with pickletools' name of an opcode, and what it would do.
func unknownOpcode(op byte) error {
	for _, o := range [...]struct {
		op   byte
		name string
		does string
	}{
		{'0', "POP", ""}, {'2', "DUP", ""}, {'1', "POP_MARK", ""},
		{'I', "INT", ""}, {'L', "LONG", ""}, {0x8b, "LONG4", ""}, {'F', "FLOAT", ""},
		{'S', "STRING", ""}, {'T', "BINSTRING", ""}, {'V', "UNICODE", ""},
		{0x8d, "BINUNICODE8", ""}, {0x8e, "BINBYTES8", ""}, {0x97, "NEXT_BUFFER", ""},
		{0x98, "READONLY_BUFFER", ""},
		{'l', "LIST", ""}, {'d', "DICT", ""}, {'p', "PUT", ""}, {'g', "GET", ""},
		{'i', "INST", "makes an object of any class"},
		{'o', "OBJ", "makes an object of any class"},
		{0x82, "EXT1", "calls what a program has registered"},
		{0x83, "EXT2", "calls what a program has registered"},
		{0x84, "EXT4", "calls what a program has registered"},
		{'P', "PERSID", ""},
	} {
		switch {
		case o.op == op && o.does != "":
			return fmt.Errorf("opcode %s, which %s: refused", o.name, o.does)
		case o.op == op:
			return fmt.Errorf("opcode %s, which no weights need: refused", o.name)
		}
	}
	return fmt.Errorf("opcode 0x%02x, which Python does not have either", op)
}
