package input

// Parquet files of other writers are read as they were written, and so are those of parquet-go in
// all its encodings. A malformed file gives an error and costs little memory.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"

	"picogpt/internal/rows"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// decoded are the values of rows, without what JSON leaves open: how a number is written.
func decoded(t *testing.T, lines []string) (all []any) {
	t.Helper()
	for _, line := range lines {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%.200s: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

// checkObjects compares the rows of a file, cut in every way, with lines of JSON.
func checkObjects(t *testing.T, name string, want []string) {
	t.Helper()
	for _, pieceBytes := range []int64{0, 400, 3000} {
		var got []string
		for _, p := range cut(t, one(t, "", name), pieceBytes) {
			if p.Line != len(got)+1 || p.Form != "parquet" {
				t.Errorf("%s: part %+v after %d rows", name, p, len(got))
			}
			all, err := rowsOf(t.Context(), p)
			if err != nil || len(all) != p.Lines {
				t.Fatalf("%s: %d rows of %+v, %v", name, len(all), p, err)
			}
			for _, w := range all {
				line, err := w.Object.Line()
				if err != nil || w.Err != nil || w.First != len(got)+1 || w.Last != w.First {
					t.Fatalf("%s: row %d is %+v, %v", name, len(got)+1, w, err)
				}
				got = append(got, string(line))
			}
		}
		g, w := decoded(t, got), decoded(t, want)
		for i := range min(len(g), len(w)) {
			if !reflect.DeepEqual(g[i], w[i]) {
				t.Fatalf("%s: row %d is\n%s, want\n%s", name, i+1, got[i], want[i])
			}
		}
		if len(g) != len(w) {
			t.Fatalf("%s: %d rows, want %d", name, len(g), len(w))
		}
	}
}

func TestParquetOfOtherWritersHoldsWhatTheyWrote(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"arrow-zstd", "rows"}, {"arrow-snappy", "rows"}, {"arrow-lz4", "rows"},
		{"arrow-brotli", "rows"}, {"typed", "typed"},
	} {
		data := golden(t, c.name+".parquet")
		want := linesOf(golden(t, c.want+".jsonl"))
		checkObjects(t, filepath.Join("testdata", c.name+".parquet"), want)
		if c.name == "arrow-snappy" {
			checkObjects(t, store(t, "x.parquet", data), want)
			checkObjects(t, write(t, "told by its first bytes", data), want)
		}
	}
}

func TestMembersOfParquetAreInTheOrderOfColumns(t *testing.T) {
	all, err := rowsOf(t.Context(), cut(t, one(t, "", "testdata/arrow-zstd.parquet"), 0)...)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, m := range all[0].Object {
		keys = append(keys, m.Key)
	}
	if got, want := strings.Join(keys, " "), "text id n big u x ok tags meta"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	all, err = rowsOf(t.Context(), cut(t, one(t, "", "testdata/typed.parquet"), 0)...)
	if err != nil || string(all[1].Object.Get("price")) != "1234.50" {
		t.Errorf("%s, %v, want all digits", all[1].Object.Get("price"), err)
	}
}

// An item is a row with all that parquet-go writes.
type item struct {
	Plain  string            `parquet:"plain,plain" json:"plain"`
	Dict   string            `parquet:"dict,dict" json:"dict"`
	Delta  string            `parquet:"delta,delta" json:"delta"`
	Number int64             `parquet:"number,delta" json:"number"`
	Split  float64           `parquet:"split,split" json:"split"`
	Maybe  *string           `parquet:"maybe,optional,zstd" json:"maybe"`
	List   []string          `parquet:"list,list" json:"list"`
	Old    []int32           `parquet:"old" json:"old"`
	Map    map[string]int32  `parquet:"map" json:"-"`
	Flag   bool              `parquet:"flag" json:"flag"`
	Deep   []struct{ A []B } `parquet:"deep" json:"deep"`
}

// A B is within a list of lists.
type B struct {
	C *int32 `parquet:"C,optional" json:"C"`
}

func randomItem(rng *rand.Rand) (r item) {
	word := func() string { return strings.Repeat(string(rune('a'+rng.IntN(5))), rng.IntN(9)) }
	r = item{Plain: word(), Dict: word(), Delta: word() + word(), Number: rng.Int64() >> rng.IntN(60),
		Split: rng.NormFloat64(), Flag: rng.IntN(2) == 0, List: []string{}, Old: []int32{},
		Map: map[string]int32{word(): rng.Int32N(9)}, Deep: []struct{ A []B }{}}
	if rng.IntN(2) == 0 {
		s := word()
		r.Maybe = &s
	}
	for range rng.IntN(4) {
		r.List, r.Old = append(r.List, word()), append(r.Old, rng.Int32N(100))
		a := struct{ A []B }{[]B{}}
		for range rng.IntN(3) {
			b := B{}
			if n := rng.Int32N(9); n > 3 {
				b.C = &n
			}
			a.A = append(a.A, b)
		}
		r.Deep = append(r.Deep, a)
	}
	return r
}

// itemLine is an item as JSON, by another way than that judged.
func itemLine(t *testing.T, r item) string {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []map[string]any
	for k, v := range r.Map {
		pairs = append(pairs, map[string]any{"key": k, "value": v})
	}
	m, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return string(b[:len(b)-1]) + `,"map":` + string(m) + "}"
}

func TestParquetInAllEncodings(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 2))
	for _, codec := range []compress.Codec{&parquet.Uncompressed, &parquet.Snappy, &parquet.Gzip,
		&parquet.Zstd, &parquet.Brotli, &parquet.Lz4Raw} {
		for version := 1; version <= 2; version++ {
			var b bytes.Buffer
			var want []string
			w := parquet.NewGenericWriter[item](&b, parquet.Compression(codec),
				parquet.DataPageVersion(version), parquet.PageBufferSize(300))
			for i := range 200 {
				r := randomItem(rng)
				want = append(want, itemLine(t, r))
				if _, err := w.Write([]item{r}); err != nil {
					t.Fatal(err)
				}
				if i%90 == 89 {
					if err := w.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			checkObjects(t, write(t, fmt.Sprintf("%v-%d.parquet", codec, version), b.Bytes()), want)
		}
	}
}

// readAll reads a file to its end or to what is wrong with it.
func readAll(t testing.TB, data []byte) (all []rows.Row, err error) {
	name := filepath.Join(t.TempDir(), "x.parquet")
	if err := os.WriteFile(name, data, 0o666); err != nil {
		t.Fatal(err)
	}
	s := Source{Name: name, Form: "parquet", Size: int64(len(data))}
	parts, err := Cut(t.Context(), s, 0)
	if err != nil {
		t.Fatal(err)
	}
	return rowsOf(t.Context(), parts...)
}

// TestBrokenParquetIsAnError changes bytes of files at random: no change ends the process, or makes
// it allocate much more than the unchanged file.
func TestBrokenParquetIsAnError(t *testing.T) {
	const budget = 1 << 30 // of all that is allocated, one after the other
	rng := rand.New(rand.NewPCG(15, 3))
	failed := 0
	for _, name := range []string{"arrow-zstd", "arrow-snappy", "arrow-lz4", "arrow-brotli", "typed"} {
		data := golden(t, name+".parquet")
		for range 150 {
			b := bytes.Clone(data)
			for range 1 + rng.IntN(3) {
				b[rng.IntN(len(b))] = byte(rng.Uint32())
			}
			if rng.IntN(8) == 0 {
				b = b[:rng.IntN(len(b))]
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readAll(t, b)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > budget {
				t.Errorf("%s: %d bytes allocated, %v", name, n, err)
			}
			if err != nil {
				failed++
				if strings.Contains(err.Error(), "\n") && !strings.Contains(err.Error(), "line ") {
					t.Errorf("%s: more than a line: %q", name, err)
				}
			}
		}
	}
	if failed < 100 {
		t.Errorf("%d of 750 broken files are errors", failed)
	}
}

func TestNoParquetIsToldInWords(t *testing.T) {
	data := golden(t, "typed.parquet")
	size := binary.LittleEndian.Uint32(data[len(data)-8:])
	claim := func(n uint32) []byte {
		return binary.LittleEndian.AppendUint32(bytes.Clone(data[:len(data)-8]), n)
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":      {nil, "0 bytes, want a Parquet file"},
		"text":       {[]byte("this is no parquet file"), `it ends with "file", want PAR1`},
		"cut off":    {data[:len(data)/2], "cut off"},
		"encrypted":  {append(claim(size), "PARE"...), "an encrypted Parquet file"},
		"footer":     {append(claim(1<<31), "PAR1"...), "a footer of 2147483648 bytes, want at most"},
		"items":      {footer(0x19, 0xfc, 0xff, 0xff, 0xff, 0x0f), "they end within a value"},
		"bytes":      {footer(0x18, 0xff, 0xff, 0xff, 0xff, 0x0f), "they end within a value"},
		"nested":     {footer(bytes.Repeat([]byte{0x1c}, 1000)...), "nested more than 32 times"},
		"many items": {footer(append([]byte{0x19, 0xf1, 0x81, 0x80, 0x40}, make([]byte, 1<<20+1)...)...), "more than 1048576 items"},
	} {
		all, err := readAll(t, c.data)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(all) > 0 {
			t.Errorf("%s: %d rows, %v, want %s", name, len(all), err, c.want)
		}
	}
}

// footer is a file of nothing but metadata.
func footer(b ...byte) []byte {
	data := append([]byte("PAR1"), b...)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(b)))
	return append(data, "PAR1"...)
}

// FuzzParquet reads anything as Parquet.
func FuzzParquet(f *testing.F) {
	for _, name := range []string{"arrow-zstd", "arrow-snappy", "arrow-lz4", "arrow-brotli", "typed"} {
		f.Add(golden(f, name+".parquet"))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readAll(t, data) })
}
