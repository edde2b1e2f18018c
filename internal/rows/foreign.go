package rows

// Rows that are not UTF-8 text: byte order marks, binary data, a JSON array.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ByteOrderMark is written before a text by some editors. It is not part of the text.
const ByteOrderMark = "\uFEFF"

// otherMarks are the marks of other encodings. That of UTF-32 begins with that of UTF-16.
var otherMarks = [...]struct{ mark, encoding string }{
	{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"},
	{"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
}

// TrimMark removes the byte order mark at the beginning of an input. It returns an error for the
// mark of another encoding.
func TrimMark(text []byte) ([]byte, error) {
	for _, m := range otherMarks {
		if bytes.HasPrefix(text, []byte(m.mark)) {
			return text, fmt.Errorf("%s text, want UTF-8", m.encoding)
		}
	}
	return bytes.TrimPrefix(text, []byte(ByteOrderMark)), nil
}

// SkipMark is TrimMark for the beginning of r. It waits for no more bytes than it needs.
func SkipMark(r *bufio.Reader) error {
	n := 0
	for _, m := range otherMarks {
		n = max(n, common(r, m.mark))
	}
	first, _ := r.Peek(max(n, common(r, ByteOrderMark)))
	text, err := TrimMark(first)
	if err == nil {
		r.Discard(len(first) - len(text))
	}
	return err
}

// common returns the length of the common prefix of r and prefix. It waits for no more bytes than
// it needs.
func common(r *bufio.Reader, prefix string) int {
	for n := range len(prefix) {
		if b, err := r.Peek(n + 1); err != nil || b[n] != prefix[n] {
			return n
		}
	}
	return len(prefix)
}

// magics are the beginnings of files of other kinds. If a text could begin with a format's magic,
// more bytes than the format requires are listed.
var magics = [...]struct{ magic, kind string }{
	{"ARROW1\x00\x00", "Arrow"}, {"\xff\xff\xff\xff", "Arrow stream"}, {"Obj\x01", "Avro"},
	{"PAR1\x15", "Parquet"}, {"SEQ\x06", "Hadoop sequence"},
	{"\x04\x22\x4d\x18", "lz4"}, {"\x02\x21\x4c\x18", "lz4"}, {"\xff\x06\x00\x00sNaPpY", "snappy"},
	{"PK\x05\x06", "zip"}, {"PK\x07\x08", "zip"}, {"7z\xbc\xaf\x27\x1c", "7z"},
	{"Rar!\x1a\x07", "rar"}, {"\x1f\x9d", "compress"}, {"LZIP\x01", "lzip"}, {"\x89LZO", "lzop"},
	{"x\x01", "zlib"}, {"x\x9c", "zlib"}, {"x\xda", "zlib"},
	{"\x80\x02", "pickle"}, {"\x80\x03", "pickle"}, {"\x80\x04", "pickle"}, {"\x80\x05", "pickle"},
	{"\x93NUMPY", "NumPy"}, {"\x89HDF", "HDF5"}, {"SQLite format 3\x00", "SQLite"},
	{"%PDF-", "PDF"}, {"\x89PNG", "PNG"}, {"\xff\xd8\xff", "JPEG"}, {"\x7fELF", "ELF"},
	{"\xd0\xcf\x11\xe0", "Office"},
}

// checkKind returns an error if an input begins like another format or encoding.
func checkKind(first []byte) error {
	for _, m := range magics {
		if bytes.HasPrefix(first, []byte(m.magic)) {
			return wantText(m.kind)
		}
	}
	if len(first) >= 262 && string(first[257:262]) == "ustar" {
		return wantText("tar")
	}
	_, err := TrimMark(first)
	return err
}

// checkText is checkKind, and also returns an error if a byte is 0.
func checkText(first []byte) error {
	if err := checkKind(first); err != nil {
		return err
	}
	if at := bytes.IndexByte(first, 0); at >= 0 {
		return fmt.Errorf("binary data (byte %d is 0), want text, gzip or zstd", at)
	}
	return nil
}

// An ArrayError says that the input is one JSON array.
type ArrayError struct {
	Filter string // for jq -c, which makes objects on lines of it
}

func (e *ArrayError) Error() string {
	return fmt.Sprintf("a JSON array, want an object on each line, as jq -c '%s' writes them",
		e.Filter)
}

// checkArray returns an error if first is a JSON array or the beginning of one, with nothing after
// it.
func checkArray(first []byte) *ArrayError {
	first = bytes.TrimLeft(bytes.TrimPrefix(first, []byte(ByteOrderMark)), " \t\r\n")
	inner := bytes.TrimLeft(bytes.TrimPrefix(first, []byte("[")), " \t\r\n")
	if len(inner) == len(first) {
		return nil
	}
	filter := ".[]"
	switch {
	case len(inner) == 0:
	case inner[0] == '{':
		if key := bytes.TrimLeft(inner[1:], " \t\r\n"); bytes.HasPrefix(key, []byte(`"`)) {
			return &ArrayError{filter} // also if it contains Python's NaN
		}
	case inner[0] == '"':
		filter = ".[] | {text: .}"
	case inner[0] == '[':
		filter = ".[] | {tokens: .}"
	case strings.IndexByte("-0123456789", inner[0]) >= 0:
		filter = "{tokens: .}"
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(first), jsontext.AllowInvalidUTF8(true),
		jsontext.AllowDuplicateNames(true))
	for {
		_, err := d.ReadToken()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
			return &ArrayError{filter}
		case err != nil:
			return nil
		case d.StackDepth() == 0 && len(bytes.TrimSpace(first[d.InputOffset():])) > 0:
			return nil
		}
	}
}

// arrived returns the bytes of r that have arrived, with the first line: it waits only for that
// line, and returns at most r's buffer.
func arrived(r *bufio.Reader) []byte {
	for seen := 0; ; {
		_, err := r.Peek(seen + 1)
		b, _ := r.Peek(r.Buffered())
		if err != nil || bytes.IndexByte(b[seen:], '\n') >= 0 {
			return b
		}
		seen = len(b)
	}
}
