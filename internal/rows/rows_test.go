package rows

// Sources and their rows, for files as other programs write them and for malformed ones.

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
)

// records reads all records of a text.
func csvRecords(t *testing.T, text string, comma byte) (all [][]string, errs []error) {
	t.Helper()
	form := map[byte]string{',': "csv", '\t': "tsv"}[comma]
	r := &Reader{Source: NewSource("test", strings.NewReader(text)), Form: form}
	for {
		record, err := r.record()
		if err == io.EOF {
			return all, errs
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, record.fields)
		errs = append(errs, record.err)
	}
}

func TestRecordsAreThoseOfEncodingCSV(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	pieces := []string{"a", "é", " ", "1", "\n", `""`, ",", "\t", "日"}
	for round := range 3000 {
		comma := ",\t"[round%2]
		var want [][]string
		var text strings.Builder
		for range 1 + rng.IntN(4) {
			record := make([]string, 2+rng.IntN(3))
			for i := range record {
				var b strings.Builder
				for range rng.IntN(5) {
					b.WriteString(pieces[rng.IntN(len(pieces))])
				}
				record[i] = strings.ReplaceAll(b.String(), `""`, `"`)
			}
			want = append(want, record)
		}
		w := csv.NewWriter(&text)
		w.Comma = rune(comma)
		w.UseCRLF = round%3 == 0
		if w.UseCRLF { // it would make \r\n of the line feeds within fields
			for _, record := range want {
				for i := range record {
					record[i] = strings.ReplaceAll(record[i], "\n", "")
				}
			}
		}
		if err := w.WriteAll(want); err != nil {
			t.Fatal(err)
		}
		in := text.String()
		if round%5 == 0 {
			in = strings.TrimRight(in, "\r\n")
		}
		got, errs := csvRecords(t, in, comma)
		if err := errors.Join(errs...); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %q, %v, want %q", in, got, err, want)
		}
	}
}

func TestRecordsKeepTheirBytesAndTheirPlace(t *testing.T) {
	cases.NotShort(t)
	long, thousand := strings.Repeat("x", longestLine+1), strings.Repeat("x", 999)+"\n"
	for name, c := range map[string]struct {
		text string
		want string // fields joined by |, ! for a record in error
	}{
		"CRLF within quotes stays":       {"a,\"b\r\nc\"\r\nd,e\r\n", "a|b\r\nc;d|e"},
		"a quote within a field":         {"5\" disk,b\n", `5" disk|b`},
		"empty fields":                   {",\n\"\",\"\"\n", "|;|"},
		"a byte order mark":              {"\uFEFF\"a\",b\n", "a|b"},
		"no line feed at the end":        {"a,b", "a|b"},
		"text after a quoted field":      {"\"a\"b,c\nd,e\n", "!;d|e"},
		"text after it, and more quotes": {"\"a\"b,\"c\nd\"\ne,f\n", "!;e|f"},
		"no end of a quote":              {"a,b\nc,\"d\ne,f\n", "a|b;!"},
		"not UTF-8":                      {"a,\xff\nb,c\n", "!;b|c"},
		"too long":                       {long + "\na,b\n", "!;a|b"},
		"too long, quotes even":          {`"` + long + `"` + "\na,b\n", "!;a|b"},
		"too long, quote open":           {`"` + long + "\na,b\nc\"\nd,e\n", "!;d|e"},
		"too many lines": {`"` + strings.Repeat(thousand, longestLine/1000+1) +
			"\",b\nc,d\n", "!;c|d"},
	} {
		t.Run(name, func(t *testing.T) {
			all, errs := csvRecords(t, c.text, ',')
			var got []string
			for i, fields := range all {
				if errs[i] != nil {
					fields = []string{"!"}
				}
				got = append(got, strings.Join(fields, "|"))
			}
			if s := strings.Join(got, ";"); s != c.want {
				t.Errorf("%.80q, want %q (%v)", s, c.want, errs)
			}
		})
	}
}

// digests are those of the rows of a text, in a form.
func rowDigests(t *testing.T, text, form string) (all []string) {
	r := NewReader(NewSource("test", strings.NewReader(text)), form)
	if err := r.ReadHeader(); err != nil {
		t.Fatal(err)
	}
	for {
		w, err := r.Next()
		if err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(w.Last, w.Digest))
	}
}

func TestDigestsChangeWithTheRowsBeforeThem(t *testing.T) {
	for _, c := range []struct {
		form, text, other string
		alike             int // how many rows begin alike
	}{
		{"lines", "a\nb\nc\n", "a\nb\nc\nd\n", 3},
		{"lines", "a\nb", "a\nb\nc\n", 2},
		{"lines", "a\nb", "a\r\nb\r\n", 2},
		{"lines", "a\nb\nc\n", "a\nx\nc\n", 1},
		{"lines", "a\nb\n", "ab\n", 0},
		{"lines", "a\n\nb\n", "a\nb\n\n", 1},
		{"jsonl", "{}\n{}\n", "{}\n\n{}\n", 1},
		{"csv", "t\na\nb\n", "t\na\nb\nc\n", 2},
		{"csv", "t\na\n", "u\na\n", 0},
		{"csv", "t\na\n\"b\nc\"\n", "t\na\n\"b\r\nc\"\n", 1},
		{"csv", "t\na\n\"b\nc", "t\na\n\"b\nc\"\n", 1},
		{"csv", "t\na\n\"b", "t\na\n\"b\nc\n", 1},
	} {
		a, b := rowDigests(t, c.text, c.form), rowDigests(t, c.other, c.form)
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		if n != c.alike {
			t.Errorf("%s %q and %q: %d rows begin alike, want %d", c.form, c.text, c.other, n,
				c.alike)
		}
	}
}

func TestASourceWaitsForNoMoreThanTells(t *testing.T) {
	for _, text := range []string{"{", "T", "P", "\x1f", "\uFEFF{", " \n{"} {
		r, w := io.Pipe() // without an end
		go io.WriteString(w, text+"x")
		done := make(chan string)
		go func() {
			s := NewSource("stdin", r)
			if err := s.Decompress(); err != nil {
				t.Error(err)
			}
			done <- NewReader(s, "auto").Form
		}()
		form := <-done
		want := "lines"
		if strings.Contains(text, "{") {
			want = "jsonl"
		}
		if form != want {
			t.Errorf("%q: %s, want %s", text, form, want)
		}
	}
}

// TestASourceSaysHowFarItIs: bytes that are read ahead do not count; at the end the whole file
// does.
func TestASourceSaysHowFarItIs(t *testing.T) {
	s := NewSource("test", strings.NewReader("ab\nc\n\ndef"))
	for _, want := range []int64{3, 5, 6, 9, 9} {
		_, err := s.Next()
		if got := s.Read.Load(); got != want || err != nil && err != io.EOF {
			t.Errorf("line %d: at byte %d, %v, want %d", s.Line, got, err, want)
		}
	}
}

// frame is zstd data that ask for a window of 1 KiB times a power of two, with one raw block.
func frame(power byte, text string) string {
	size := len(text)<<3 | 1 // the last block, as it stands
	return "\x28\xb5\x2f\xfd\x00" + string([]byte{power << 3, byte(size), byte(size >> 8), byte(size >> 16)}) + text
}

// longWindow is a power for frame: of 256 MB, or of all 2 GB, which may take seconds to clear.
var longWindow = byte(cases.Of(18, 21))

// TestZstdOfALongWindowIsRead: up to that of zstd --long=31, in memory for what is read.
func TestZstdOfALongWindowIsRead(t *testing.T) {
	if ^uint(0)>>32 == 0 {
		t.Skip("addresses of 32 bits; TestZstdOfTooLongAWindowIsRefused runs")
	}
	if got := read("x", frame(longWindow, "The cat\n"), "auto"); len(got) != 1 || got[0] != "The cat" {
		t.Errorf("%q", got)
	}
}

func TestZstdOfTooLongAWindowIsRefused(t *testing.T) {
	got := read("x", frame(22, "The cat\n"), "auto")
	want := fmt.Sprintf("! x: zstd data: window size exceeded, want at most %d bytes, or %d from the "+
		"first frame on", usualWindow, uint64(2<<30))
	if ^uint(0)>>32 == 0 {
		want = strings.Replace(want, "2147483648", "134217728", 1)
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLongWindowsTakeTurns: many sources are read side by side, closed early, and broken, in the memory
// of one window.
func TestLongWindowsTakeTurns(t *testing.T) {
	if ^uint(0)>>32 == 0 {
		t.Skip("addresses of 32 bits; TestZstdOfTooLongAWindowIsRefused runs")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := strings.Repeat("The cat\n", 8000)[:63000]
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			data := frame(longWindow, text)
			if i%3 == 1 {
				data = data[:40000]
			}
			s := NewSource("x", strings.NewReader("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd"+data+frame(longWindow, text)))
			defer s.Close()
			if err := s.Decompress(); err != nil {
				t.Error(err)
				return
			}
			lines, err := 0, error(nil)
			for ; err == nil && (i%3 != 2 || lines < 10); lines++ {
				_, err = s.Next()
			}
			if want := []int{15751, 7874, 10}[i%3]; lines != want || i%3 == 1 && err == io.EOF {
				t.Errorf("source %d: %d lines, %v, want %d", i, lines, err, want)
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<(10+longWindow)*5/4 {
		t.Errorf("%d bytes, want those of one window", n)
	}
}

// TestSourcesOfAnyKindAreClosed: plain ones too, and those of gzip.
func TestSourcesOfAnyKindAreClosed(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "The cat\n")
	z.Close()
	for _, data := range []string{"The cat\n", zipped.String(), frame(0, "The cat\n")} {
		s := NewSource("x", strings.NewReader(data))
		if err := s.Decompress(); err != nil {
			t.Fatal(err)
		}
		if line, err := s.Next(); string(line) != "The cat\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
		s.Close()
	}
}
