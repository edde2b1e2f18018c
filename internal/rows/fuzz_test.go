package rows

// Sources of any bytes, in every form.

import (
	"bytes"
	"encoding/csv"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func FuzzRows(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n\n\"x\"\"\ny\",\n", "a\tb\r\n1\t2\r\n", "{\"a\":1,\"b\":[\"\\u00e9\"]}\n{\"a\":{}} \n[1]\n{}", "\ufeffone\ntwo\n\nthree",
		"\xff\xfea\x00", "a,a\n", "\"", "a,b\r1,2", "{\"a\":1,\"a\":2}", "\x1f\x8b\x08\x00", "x\x00y\n", ""} {
		for i := range 5 {
			f.Add([]byte(text), uint8(i))
		}
	}
	forms := []string{"lines", "jsonl", "csv", "tsv", "auto"}
	f.Fuzz(func(t *testing.T, text []byte, kind uint8) {
		form := forms[int(kind)%len(forms)]
		r := NewReader(NewSource("test", bytes.NewReader(text)), form)
		defer r.Close()
		if err := r.Check(); err != nil {
			return
		}
		if err := r.ReadHeader(); err != nil {
			return
		}
		var all []Row
		last := r.Line
		for {
			w, err := r.Next()
			if err != nil {
				if err != io.EOF && strings.Contains(err.Error(), "\n") {
					t.Errorf("an error of several lines: %v", err)
				}
				break
			}
			if w.First != last+1 || w.Last < w.First || w.Digest == "" {
				t.Fatalf("lines %d to %d after %d, digest %q", w.First, w.Last, last, w.Digest)
			}
			last, all = w.Last, append(all, w)
			if w.Err != nil || w.Object == nil {
				continue
			}
			line, err := w.Object.Line()
			if err != nil {
				t.Fatalf("%v: %v", w.Object, err)
			}
			again, err := ParseObject(line)
			twice, err2 := again.Line()
			if err != nil || err2 != nil || !bytes.Equal(line, twice) {
				t.Errorf("%s is written as %s, %v, %v", line, twice, err, err2)
			}
		}
		if last > bytes.Count(text, []byte("\n"))+1 && !compressed(text) {
			t.Errorf("%d lines of %d line ends", last, bytes.Count(text, []byte("\n")))
		}
		if form == "csv" {
			likeEncodingCSV(t, string(text), r.Header, all)
		}
	})
}

func compressed(text []byte) bool {
	return bytes.HasPrefix(text, []byte("\x1f\x8b")) || bytes.HasPrefix(text, []byte("\x28\xb5\x2f\xfd")) || len(text) > 0 && text[0]&0xf0 == 0x50
}

// likeEncodingCSV compares rows with encoding/csv, where that reads all of a text of UTF-8. It skips
// empty lines before the columns too, and those of one column.
func likeEncodingCSV(t *testing.T, text string, header []string, all []Row) {
	if strings.ContainsAny(text, "\r\x00\ufffd") || strings.HasPrefix(text, ByteOrderMark) || strings.HasPrefix(text, "\n") || compressed([]byte(text)) {
		return
	}
	want, err := csv.NewReader(strings.NewReader(text)).ReadAll() // each record as long as the header
	if err != nil || len(want) == 0 || len(want[0]) == 1 {
		return
	}
	if !slices.Equal(header, want[0]) {
		t.Errorf("%q: columns %q, want %q", text, header, want[0])
	}
	var got [][]string
	for _, w := range all {
		if w.Err != nil {
			t.Errorf("%q: line %d: %v", text, w.First, w.Err)
			return
		}
		if w.Object == nil { // an empty line
			continue
		}
		var fields []string
		for _, name := range header {
			s, err := w.Object.Text(name)
			if err != nil || s == nil {
				t.Fatalf("%q: line %d: column %q: %v", text, w.First, name, err)
			}
			fields = append(fields, *s)
		}
		got = append(got, fields)
	}
	if len(got)+len(want) > 1 && !reflect.DeepEqual(got, want[1:]) {
		t.Errorf("%q: %q, want %q", text, got, want[1:])
	}
}
