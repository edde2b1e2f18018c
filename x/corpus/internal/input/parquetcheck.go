package input

// Checks of a Parquet file before parquet-go reads it: that library allocates as much memory as a
// page claims to need, decompresses without a bound and repeats a value as often as a run says.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

const (
	largestFooter = 64 << 20
	largestHeader = 1 << 20   // of a page
	largestPage   = 256 << 20 // other writers make pages of 1 MiB
	mostValues    = 1 << 24   // of a page; other writers put a million into a row group
	mostRows      = 1 << 40   // of a row group
)

func broken(format string, args ...any) error {
	return fmt.Errorf("broken Parquet data: "+format, args...)
}

// checkFooter checks the sizes in a file's footer.
func checkFooter(r io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < 12 {
		return fmt.Errorf("%d bytes, want a Parquet file", size)
	}
	if _, err := r.ReadAt(tail[:], size-8); err != nil {
		return plain(err)
	}
	switch string(tail[4:]) {
	case "PAR1":
	case "PARE":
		return errors.New("an encrypted Parquet file, want one that is not")
	default:
		return fmt.Errorf("no Parquet file, or it is cut off: it ends with %q, want PAR1", tail[4:])
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if n > min(size-12, largestFooter) {
		return broken("a footer of %d bytes, want at most %d", n, min(size-12, largestFooter))
	}
	footer := make([]byte, n)
	if _, err := r.ReadAt(footer, size-8-n); err != nil {
		return plain(err)
	}
	_, err := walkThrift(footer)
	return err
}

// checkRowGroups checks the counts in a file's metadata.
func checkRowGroups(m *format.FileMetaData) error {
	sum := int64(0)
	for i := range m.RowGroups {
		n := m.RowGroups[i].NumRows
		if n < 0 || n > mostRows {
			return broken("row group %d of %d rows", i, n)
		}
		sum += n
	}
	if sum != m.NumRows {
		return broken("row groups of %d rows, want %d", sum, m.NumRows)
	}
	return nil
}

// checkPages checks all pages of a row group.
func (f *parquetFile) checkPages(group int) error {
	columns := f.Metadata().RowGroups[group].Columns
	if len(columns) != len(f.leaf) {
		return broken("row group %d has %d columns, want %d", group, len(columns), len(f.leaf))
	}
	for i := range columns {
		c := columnCheck{f: f, column: f.leaf[i], codec: columns[i].MetaData.Codec}
		first := f.Metadata().RowGroups[0].Columns[i].MetaData.Codec
		if c.codec != first { // the library assumes the first codec for all
			return fmt.Errorf("row group %d is compressed by %v, want %v as the first", group, c.codec,
				first)
		}
		if columns[i].FilePath != "" {
			return errors.New("a Parquet file with data in other files, want them in one")
		}
		if err := c.pages(&columns[i].MetaData); err != nil {
			return fmt.Errorf("row group %d, column %s: %w", group, f.leaf[i].Name(), err)
		}
	}
	return nil
}

// A columnCheck checks the pages of one column.
type columnCheck struct {
	f      *parquetFile
	column *parquet.Column
	codec  format.CompressionCodec
}

// pages checks the pages of a row group's column.
func (c *columnCheck) pages(m *format.ColumnMetaData) error {
	at := m.DataPageOffset
	if m.DictionaryPageOffset != 0 {
		at = m.DictionaryPageOffset
	}
	if at < 0 || m.TotalCompressedSize < 0 || at > c.f.size ||
		m.TotalCompressedSize > c.f.size-at {
		return broken("bytes %d and %d after them, want bytes of the file", at, m.TotalCompressedSize)
	}
	data := false // whether a page begins where the library will begin to read data
	for end := at + m.TotalCompressedSize; at < end; {
		data = data || at == m.DataPageOffset
		h, size, err := c.header(at, end)
		if err != nil {
			return err
		}
		at += int64(size)
		n := int64(h.CompressedPageSize)
		if n < 0 || n > min(end-at, largestPage) {
			return broken("a page of %d bytes, want at most %d", n, min(end-at, largestPage))
		}
		if h.UncompressedPageSize < 0 || h.UncompressedPageSize > largestPage {
			return broken("a page of %d bytes, want at most %d", h.UncompressedPageSize, largestPage)
		}
		body := make([]byte, n)
		if _, err := c.f.file.ReadAt(body, at); err != nil {
			return plain(err)
		}
		if err := c.page(h, body); err != nil {
			return err
		}
		at += n
	}
	if !data && m.TotalCompressedSize > 0 {
		return broken("no page begins at byte %d", m.DataPageOffset)
	}
	return nil
}

// header reads the header of the page that begins at a byte.
func (c *columnCheck) header(at, end int64) (h *format.PageHeader, size int, err error) {
	for window := int64(1 << 10); ; window = largestHeader {
		b := make([]byte, min(window, end-at))
		if _, err := c.f.file.ReadAt(b, at); err != nil {
			return nil, 0, plain(err)
		}
		size, err := walkThrift(b)
		if err == errShort && window < largestHeader {
			continue
		} else if err != nil {
			return nil, 0, err
		}
		h := new(format.PageHeader)
		return h, size, trusting(func() error {
			return thrift.Unmarshal(new(thrift.CompactProtocol), b[:size], h)
		})
	}
}

// page checks the body of a page.
func (c *columnCheck) page(h *format.PageHeader, body []byte) (err error) {
	values := int64(0)
	switch {
	case h.Type == format.DictionaryPage && h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	case h.Type == format.DataPage && h.DataPageHeader.Valid:
		values = int64(h.DataPageHeader.V.NumValues)
	case h.Type == format.DataPageV2 && h.DataPageHeaderV2.Valid:
		values = int64(h.DataPageHeaderV2.V.NumValues)
	default:
		return broken("a page of type %d without its header", h.Type)
	}
	if values < 0 || values > mostValues {
		return broken("a page of %d values, want at most %d", values, mostValues)
	}
	size := int(h.UncompressedPageSize)
	if h.Type == format.DataPageV2 {
		return c.pageV2(&h.DataPageHeaderV2.V, body, size)
	}
	if body, err = decompress(c.codec, body, size); err != nil {
		return err
	}
	if h.Type == format.DictionaryPage {
		if length := int64(c.column.Type().Length()); c.column.Type().Kind() ==
			parquet.FixedLenByteArray && length*values > int64(len(body))*8 {
			return broken("a dictionary of %d values in %d bytes", values, len(body))
		}
		return nil
	}
	v := &h.DataPageHeader.V
	present := values
	for _, level := range []struct {
		most     int
		encoding format.Encoding
	}{
		{c.column.MaxRepetitionLevel(), v.RepetitionLevelEncoding},
		{c.column.MaxDefinitionLevel(), v.DefinitionLevelEncoding},
	} {
		if level.most == 0 {
			continue
		}
		if level.encoding != format.RLE {
			return fmt.Errorf("levels in %v, want RLE", level.encoding)
		}
		var runs []byte
		if runs, body, err = prefixed(body); err != nil {
			return err
		}
		if present, err = checkRuns(runs, bits.Len(uint(level.most)), values, level.most); err != nil {
			return err
		}
	}
	return c.values(v.Encoding, body, present)
}

// pageV2 is page for pages whose levels are not compressed.
func (c *columnCheck) pageV2(v *format.DataPageHeaderV2, body []byte, size int) error {
	values, present := int64(v.NumValues), int64(v.NumValues)
	for _, level := range []struct {
		most   int
		length int32
	}{
		{c.column.MaxRepetitionLevel(), v.RepetitionLevelsByteLength},
		{c.column.MaxDefinitionLevel(), v.DefinitionLevelsByteLength},
	} {
		if level.length < 0 || int(level.length) > len(body) {
			return broken("levels of %d bytes in %d", level.length, len(body))
		}
		runs := body[:level.length]
		body = body[level.length:]
		size -= len(runs)
		if level.most == 0 {
			continue
		}
		var err error
		if present, err = checkRuns(runs, bits.Len(uint(level.most)), values, level.most); err != nil {
			return err
		}
	}
	if n := int64(v.NumNulls); n != values-present {
		return broken("%d nulls, want %d", n, values-present)
	}
	if !v.IsCompressed.Valid || v.IsCompressed.V {
		var err error
		if body, err = decompress(c.codec, body, size); err != nil {
			return err
		}
	}
	return c.values(v.Encoding, body, present)
}

// Metadata of Parquet, in Thrift's compact protocol: checked before a library allocates what it
// claims to contain.

const (
	// of all lists together: for each item, a reader allocates about a hundred bytes
	mostItems   = 1 << 20
	mostNesting = 32
)

// errShort is the error for metadata that end within a value. More bytes may complete them.
var errShort = errors.New("broken Parquet metadata: they end within a value")

// A thriftWalk reads the values of a struct.
type thriftWalk struct {
	b     []byte // the remaining bytes
	items int
}

// walkThrift returns the size of the struct at the beginning of b.
func walkThrift(b []byte) (int, error) {
	w := thriftWalk{b: b}
	err := w.structure(0)
	return len(b) - len(w.b), err
}

func (w *thriftWalk) skip(n uint64) error {
	if n > uint64(len(w.b)) {
		return errShort
	}
	w.b = w.b[n:]
	return nil
}

func (w *thriftWalk) byte() (byte, error) {
	if len(w.b) == 0 {
		return 0, errShort
	}
	b := w.b[0]
	w.b = w.b[1:]
	return b, nil
}

func (w *thriftWalk) varint() (uint64, error) {
	n, size := binary.Uvarint(w.b)
	if size < 0 {
		return 0, errors.New("broken Parquet metadata: a number of more than 64 bits")
	} else if size == 0 {
		return 0, errShort
	}
	w.b = w.b[size:]
	return n, nil
}

// structure reads fields, up to the one that ends them.
func (w *thriftWalk) structure(depth int) error {
	if depth > mostNesting {
		return fmt.Errorf("broken Parquet metadata: nested more than %d times", mostNesting)
	}
	for {
		head, err := w.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := w.varint(); err != nil {
				return err
			}
		}
		if kind := head & 15; kind > 2 { // not a boolean, whose value is in its kind
			if err := w.value(kind, depth); err != nil {
				return err
			}
		}
	}
}

// value reads a value of a kind.
func (w *thriftWalk) value(kind byte, depth int) error {
	switch kind {
	case 1, 2, 3: // a boolean in a list, a byte
		return w.skip(1)
	case 4, 5, 6: // integers
		_, err := w.varint()
		return err
	case 7: // a double
		return w.skip(8)
	case 8: // bytes
		n, err := w.varint()
		if err != nil {
			return err
		}
		return w.skip(n)
	case 9, 10: // a list, a set
		return w.list(depth)
	case 12:
		return w.structure(depth + 1)
	}
	return fmt.Errorf("broken Parquet metadata: a value of kind %d", kind) // maps do not occur
}

func (w *thriftWalk) list(depth int) error {
	head, err := w.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = w.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(w.b)) { // each item has at least one byte
		return errShort
	}
	if w.items += int(n); w.items > mostItems {
		return fmt.Errorf("more than %d items in Parquet metadata", mostItems)
	}
	for range n {
		if err := w.value(head&15, depth+1); err != nil {
			return err
		}
	}
	return nil
}
