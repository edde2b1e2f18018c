package input

// Files that are cut, packed and read give the same rows as a plain reading of the whole file.

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	"github.com/klauspost/compress/zstd"

	"picogpt/internal/rows"
)

// write makes a file and returns its name.
func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// store makes a file in memory, which cannot seek.
func store(t *testing.T, name string, data []byte) string {
	t.Helper()
	name = "memfs://" + t.TempDir() + "/" + name
	memfs.Write(name, data)
	return name
}

// zipped is gzip data in a number of members.
func zipped(t *testing.T, data []byte, members int) []byte {
	t.Helper()
	var b bytes.Buffer
	for i := range members {
		z := gzip.NewWriter(&b)
		z.Write(data[i*len(data)/members : (i+1)*len(data)/members])
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func zstandard(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(data, nil)
}

// one is the only source of a name.
func one(t *testing.T, form, name string) Source {
	t.Helper()
	all, err := Match(t.Context(), Options{Patterns: []string{name}, Form: form})
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d sources, %v, want 1", name, len(all), err)
	}
	return all[0]
}

func cut(t *testing.T, s Source, pieceBytes int64) []Part {
	t.Helper()
	parts, err := Cut(t.Context(), s, pieceBytes)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// rowsOf are the rows of parts, and what ended them.
func rowsOf(ctx context.Context, parts ...Part) (all []rows.Row, err error) {
	for _, p := range parts {
		for w, failed := range Rows(ctx, p) {
			if failed != nil {
				err = errors.Join(err, failed)
				continue
			}
			all = append(all, w)
		}
	}
	return all, err
}

// show makes rows comparable, and readable.
func show(all []rows.Row) (shown []string) {
	for _, w := range all {
		text := fmt.Sprintf("%d-%d %q", w.First, w.Last, w.Text)
		if w.Object != nil {
			line, _ := w.Object.Line()
			text += " " + string(line)
		}
		if w.Err != nil {
			text += " error: " + w.Err.Error()
		}
		shown = append(shown, text)
	}
	return shown
}

// linesOf are the lines of a text, by bufio.
func linesOf(text []byte) (lines []string) {
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, 1<<30)
	for s.Scan() { // without the end, \r\n or \n
		lines = append(lines, s.Text())
	}
	return lines
}

// randomText is lines of all kinds.
func randomText(rng *rand.Rand, jsonl bool) []byte {
	var b bytes.Buffer
	if rng.IntN(4) == 0 {
		b.WriteString(rows.ByteOrderMark)
	}
	for range rng.IntN(300) {
		body := strings.Repeat(string(rune('a'+rng.IntN(26)))+"é\x00", rng.IntN(30))
		switch {
		case rng.IntN(6) == 0: // an empty line
		case jsonl && rng.IntN(10) > 0:
			fmt.Fprintf(&b, `{"text":%q}`, strings.ReplaceAll(body, "\x00", ""))
		case rng.IntN(8) == 0:
			b.WriteString("\xff\xff")
		default:
			b.WriteString(body)
		}
		b.WriteString([]string{"\n", "\n", "\r\n"}[rng.IntN(3)])
	}
	if rng.IntN(2) == 0 {
		b.WriteString(strings.Repeat("z", rng.IntN(50)))
	}
	return b.Bytes()
}

func TestRowsOfAnyCutAreThoseOfTheFile(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 1))
	for round := range 300 {
		form := []string{"lines", "jsonl"}[round%2]
		text := randomText(rng, form == "jsonl")
		data := [][]byte{text, zipped(t, text, 1+rng.IntN(3)), zstandard(t, text)}[rng.IntN(3)]
		name := write(t, "x", data)
		if rng.IntN(2) == 0 {
			name = store(t, "x", data)
		}
		s := one(t, form, name)
		var want []string
		for i, line := range linesOf(text) {
			w := rows.Row{First: i + 1, Last: i + 1, Text: line}
			if form == "jsonl" {
				w.Text = ""
				if i == 0 {
					line = strings.TrimPrefix(line, rows.ByteOrderMark)
				}
				if strings.TrimSpace(line) != "" {
					w.Object, w.Err = rows.ParseObject([]byte(line))
				}
			}
			want = append(want, show([]rows.Row{w})...)
		}
		pieceBytes := 1 + rng.Int64N(int64(len(text))+10)
		parts := cut(t, s, pieceBytes)
		shuffled := slices.Clone(parts)
		rng.Shuffle(len(parts), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		var packed []Part
		for _, piece := range Pack(shuffled, openCost+rng.Int64N(1<<16)) {
			packed = append(packed, piece...)
		}
		if !reflect.DeepEqual(packed, parts) {
			t.Fatalf("packed: %+v, want %+v", packed, parts)
		}
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		var got []rows.Row
		byLine := map[int][]rows.Row{}
		for _, p := range parts { // in any order
			all, err := rowsOf(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			byLine[p.Line] = all
		}
		for _, p := range packed {
			got = append(got, byLine[p.Line]...)
		}
		if !reflect.DeepEqual(show(got), want) {
			t.Fatalf("%s, pieces of %d bytes of %q:\n%q, want\n%q", form, pieceBytes, text, show(got),
				want)
		}
	}
}

func TestPartsAreAboutAsLargeAsAsked(t *testing.T) {
	text := []byte(strings.Repeat("0123456789abcde\n", 1<<14)) // 16 bytes each
	for name, c := range map[string]struct {
		name       string
		pieceBytes int64
		most       int
		least, max int64
	}{
		"seekable":     {write(t, "a", text), 1000, 1 << 18 / 1000, 1000, 1015},
		"one":          {write(t, "a", text), 1 << 20, 1, 1 << 18, 1 << 18},
		"default":      {write(t, "a", text), 0, 1, 1 << 18, 1 << 18},
		"compressed":   {write(t, "a", zipped(t, text, 1)), 100, mostParts, 1 << 18 / 64, 1 << 18 / 32},
		"not seekable": {store(t, "a", text), 100, mostParts, 1 << 18 / 64, 1 << 18 / 32},
	} {
		parts := cut(t, one(t, "lines", c.name), c.pieceBytes)
		if len(parts) > c.most {
			t.Errorf("%s: %d parts, want at most %d", name, len(parts), c.most)
		}
		line, offset := 1, int64(0)
		for i, p := range parts {
			last := i == len(parts)-1
			if p.Line != line || p.Offset != offset || p.Last != last || p.Broken ||
				p.Bytes > c.max || p.Bytes < c.least && !last || p.Bytes != int64(16*p.Lines) {
				t.Errorf("%s: part %d is %+v", name, i, p)
			}
			line, offset = line+p.Lines, offset+p.Bytes
		}
		if offset != int64(len(text)) {
			t.Errorf("%s: parts of %d bytes, want %d", name, offset, len(text))
		}
	}
}

func TestSmallPartsArePackedTogether(t *testing.T) {
	parts := []Part{{Bytes: 10}, {Bytes: 10}, {Bytes: 1 << 20}, {Bytes: 10}, {Bytes: 30 << 10},
		{Bytes: 10 << 10}}
	var got []int
	for _, piece := range Pack(parts, 64<<10) {
		got = append(got, len(piece))
	}
	if want := []int{2, 1, 2, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("pieces of %v parts, want %v", got, want)
	}
	if pieces := Pack(nil, 10); pieces != nil {
		t.Errorf("%v of nothing", pieces)
	}
}

func TestATextIsOneRow(t *testing.T) {
	text := "a\r\nb\x01\xff\n\nc"
	for _, form := range []string{"text", "wikitext"} {
		for _, name := range []string{
			write(t, "a.jsonl", []byte(text)),
			store(t, "a", []byte(text)),
			write(t, "a.gz", zipped(t, []byte(text), 2)),
		} {
			parts := cut(t, one(t, form, name), 1)
			all, err := rowsOf(t.Context(), parts...)
			if len(parts) != 1 || len(all) != 1 || err != nil || all[0].Text != text {
				t.Errorf("%s: %d parts, %q, %v", name, len(parts), show(all), err)
			}
		}
	}
	name := write(t, "empty", nil)
	all, err := rowsOf(t.Context(), cut(t, one(t, "text", name), 1)...)
	if len(all) != 1 || err != nil || all[0].Text != "" {
		t.Errorf("empty: %q, %v, want one row", show(all), err)
	}
	name = write(t, "large.gz", zipped(t, bytes.Repeat([]byte("a"), longestText+1), 1))
	all, err = rowsOf(t.Context(), cut(t, one(t, "text", name), 1)...)
	if len(all) != 1 || err != nil || all[0].Err == nil || all[0].Text != "" {
		t.Errorf("too large: %.200q, %v, want one row in error", show(all), err)
	}
}

func TestTheFormIsToldByTheFile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a.jsonl", "x\n", "jsonl"},
		{"A.JSONL.gz", "x\n", "jsonl"},
		{"a.txt", "x\n", "lines"},
		{"a.txt", " \n{\n", "jsonl"},
		{"a", rows.ByteOrderMark + "{}\n", "jsonl"},
		{"a.zst", "{}\n", "jsonl"},
	} {
		parts := cut(t, one(t, "", write(t, c.name, []byte(c.text))), 100)
		if len(parts) != 1 || parts[0].Form != c.want {
			t.Errorf("%s %q: %+v, want %s", c.name, c.text, parts, c.want)
		}
	}
}

func TestAnEmptyFileHasNoParts(t *testing.T) {
	for _, data := range [][]byte{nil, zipped(t, nil, 1), zstandard(t, nil)} {
		if parts := cut(t, one(t, "", write(t, "a", data)), 100); len(parts) != 0 {
			t.Errorf("%x: %+v", data, parts)
		}
	}
}

// TestWhatIsNoTextIsSetAsideByName: a binary file or one JSON array gives one row with an error,
// and so does a line that is not UTF-8; with the form lines, all lines are read unchanged.
func TestWhatIsNoTextIsSetAsideByName(t *testing.T) {
	for _, c := range []struct{ name, form, text, want string }{
		{"a", "", rows.ByteOrderMark + "The\ncat\n", "The|cat"},
		{"a", "", rows.ByteOrderMark, ""},
		{"a", "text", rows.ByteOrderMark + "The\n", "The\n"},
		{"a", "", "caf\xe9\ncat\n", "- not UTF-8|cat"},
		{"a", "", "\xff\xfeT\x00", "line 1: UTF-16 text, want UTF-8"},
		{"a", "text", "\xff\xfeT\x00", "line 1: UTF-16 text, want UTF-8"},
		{"a.jsonl", "", "\xff\xfe{\x00}\x00\n", "line 1: UTF-16 text, want UTF-8"},
		{"a.arrow", "", "ARROW1\x00\x00\n\n", "line 1: Arrow data, want text, gzip or zstd"},
		{"a.jsonl", "", "Obj\x01\n\n\n", "line 1: Avro data, want text, gzip or zstd"},
		{"a", "text", "Obj\x01\n", "line 1: Avro data, want text, gzip or zstd"},
		{"a.json", "", "[\n {}\n]\n", "line 1: a JSON array, want an object on each line, as jq -c '.[]' writes them"},
		{"a.json", "", "[Chorus]\nLa\n", "[Chorus]|La"},
		{"a", "lines", rows.ByteOrderMark + "The\n\xe9\n\x00", rows.ByteOrderMark + "The|\xe9|\x00"},
		{"a", "lines", "[{}]\n", "[{}]"},
	} {
		source := one(t, c.form, write(t, c.name, []byte(c.text)))
		all, err := rowsOf(t.Context(), cut(t, source, 1)...)
		var got []string
		for _, w := range all {
			if w.Err != nil {
				w.Text = "- " + w.Err.Error()
			}
			got = append(got, w.Text)
		}
		if err != nil {
			got = append(got, strings.TrimPrefix(err.Error(), source.Name+": "))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s as %q: %q, want %q", c.text, c.form, got, c.want)
		}
	}
}
