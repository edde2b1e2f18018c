package input

// Sources that are broken, change or vanish, and stores that fail: the rows before the error are
// read, and the error has its line.

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
)

// A faultyStore is a filesystem that fails as its files say.
type faultyStore struct {
	mu    sync.Mutex
	files map[string]*faultyFile
}

type faultyFile struct {
	data   []byte
	opens  int // that fail before one does not
	after  int // bytes that are read before reading fails, if not 0
	reads  int // that fail so
	err    error
	opened int
	closed int
}

var faulty = &faultyStore{files: map[string]*faultyFile{}}

func init() {
	filesystem.Register("faulty", func(context.Context) filesystem.Interface { return faulty })
	filesystem.Register("panics", func(context.Context) filesystem.Interface {
		panic("no credentials\nand a second line")
	})
}

// put registers a file and returns its name.
func (s *faultyStore) put(t *testing.T, f *faultyFile) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := "faulty://" + t.Name() + "/" + fmt.Sprint(len(s.files))
	s.files[name] = f
	return name
}

func (s *faultyStore) Close() error { return nil }
func (s *faultyStore) List(_ context.Context, name string) ([]string, error) {
	return []string{name}, nil
}
func (s *faultyStore) Size(_ context.Context, name string) (int64, error) {
	return int64(len(s.files[name].data)), nil
}
func (s *faultyStore) OpenWrite(context.Context, string) (io.WriteCloser, error) {
	return nil, errors.ErrUnsupported
}
func (s *faultyStore) OpenRead(_ context.Context, name string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[name]
	if f.opens != 0 {
		f.opens--
		return nil, f.err
	}
	f.opened++
	return &faultyReader{f, bytes.NewReader(f.data)}, nil
}

type faultyReader struct {
	f *faultyFile
	r *bytes.Reader
}

func (r *faultyReader) Close() error { r.f.closed++; return nil }
func (r *faultyReader) Read(b []byte) (int, error) {
	at := len(r.f.data) - r.r.Len()
	if r.f.after > 0 && r.f.reads != 0 {
		if at == r.f.after {
			r.f.reads--
			return 0, r.f.err
		}
		b = b[:min(len(b), r.f.after-at)]
	}
	return r.r.Read(b)
}

// numbered are lines that are unlike each other.
func numbered(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %d of %x\n", i+1, i*i*7919)
	}
	return b.Bytes()
}

// checkEnd checks that the rows of a source are the first lines of a text, and how they end.
func checkEnd(t *testing.T, parts []Part, text []byte, want string) {
	t.Helper()
	lines := linesOf(text)
	all, err := rowsOf(t.Context(), parts...)
	for i, w := range all {
		if w.First != i+1 || w.Text != lines[i] {
			t.Fatalf("row %d is %+v, want %q", i+1, w, lines[i])
		}
	}
	if want == "" {
		if err != nil || len(all) != len(lines) {
			t.Errorf("%d rows, %v, want %d", len(all), err, len(lines))
		}
		return
	}
	var at *LineError
	if !errors.As(err, &at) || at.Line != len(all)+1 || !strings.Contains(at.Err.Error(), want) {
		t.Errorf("after %d rows: %v, want %s", len(all), err, want)
	}
	if err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
	if at != nil && strings.Count(err.Error(), at.Source) != 1 {
		t.Errorf("%v: want the source once", err)
	}
}

func TestRowsBeforeTheCutOfCompressedDataCome(t *testing.T) {
	text := numbered(40000)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"gzip": {zipped(t, text, 1), "gzip data: cut off before their end"},
		"zstd": {zstandard(t, text), "zstd data: cut off before their end"},
	} {
		for _, pieceBytes := range []int64{0, 30000} {
			data := c.data[:len(c.data)*3/4]
			parts := cut(t, one(t, "lines", write(t, name, data)), pieceBytes)
			last := parts[len(parts)-1]
			if !last.Broken || !last.Last || last.Line+last.Lines < 10000 {
				t.Errorf("%s: the last part is %+v", name, last)
			}
			checkEnd(t, parts, text, c.want)
		}
	}
	broken := zipped(t, text, 1)
	broken[len(broken)-6] ^= 1 // its sum
	checkEnd(t, cut(t, one(t, "lines", write(t, "sum", broken)), 0), text, "gzip data: invalid checksum")
}

func TestWhatIsNoTextIsRefusedByName(t *testing.T) {
	for data, want := range map[string]string{
		"\xfd7zXZ\x00abc": "xz data, want text, gzip or zstd",
		"BZh91AY&SYabc":   "bzip2 data, want",
		"PK\x03\x04abc":   "zip data, want",
		"\x1f\x8babc":     "gzip data: ",
	} {
		for _, form := range []string{"", "jsonl", "lines", "text"} {
			checkEnd(t, cut(t, one(t, form, write(t, "x", []byte(data))), 0), nil, want)
		}
	}
	dir := t.TempDir()
	for _, form := range []string{"auto", "lines", "text", "parquet"} {
		s := Source{Name: dir, Form: form, Size: 10}
		checkEnd(t, cut(t, s, 0), nil, "is a directory")
	}
}

func TestASourceThatChangesIsAnError(t *testing.T) {
	text := numbered(1000)
	half := len(text) / 2
	for name, c := range map[string]struct {
		now  []byte // nil: no file
		want string
	}{
		"shrinks":         {text[:half], "changed while it was read: "},
		"shrinks to none": {[]byte{}, "changed while it was read: "},
		"grows":           {append(bytes.Clone(text), "more\n"...), "it goes on after line 1000"},
		"last line grows": {append(bytes.Clone(text[:len(text)-1]), "more\n"...), "changed while it was read: "},
		"shifts":          {append([]byte("x"), text...), "changed while it was read: "},
		"vanishes":        {nil, "no such file"},
	} {
		for _, pieceBytes := range []int64{0, 2000} {
			file := write(t, "x", text)
			parts := cut(t, one(t, "lines", file), pieceBytes)
			if c.now == nil {
				os.Remove(file)
			} else if err := os.WriteFile(file, c.now, 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := rowsOf(t.Context(), parts...)
			var at *LineError
			if !errors.As(err, &at) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, pieces of %d: %v, want %s", name, pieceBytes, err, c.want)
			}
		}
	}
	file := write(t, "x", text)
	parts := cut(t, one(t, "text", file), 0)
	os.WriteFile(file, text[:half], 0o666)
	if _, err := rowsOf(t.Context(), parts...); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("a text that shrinks: %v", err)
	}
	parquet := write(t, "x.parquet", golden(t, "arrow-zstd.parquet"))
	parts = cut(t, one(t, "", parquet), 1)
	os.WriteFile(parquet, golden(t, "typed.parquet"), 0o666)
	if _, err := rowsOf(t.Context(), parts...); err == nil || !strings.Contains(err.Error(), "it has 2 rows") {
		t.Errorf("Parquet that changes: %v", err)
	}
}

func TestASourceThatCannotBeCutIsOnePart(t *testing.T) {
	missing := Source{Name: filepath.Join(t.TempDir(), "x"), Form: "auto", Order: 7}
	parts := cut(t, missing, 0)
	if len(parts) != 1 || !parts[0].Broken || !parts[0].Last || parts[0].Order != 7 {
		t.Fatalf("%+v", parts)
	}
	checkEnd(t, parts, nil, "no such file")
	if err := os.WriteFile(missing.Name, []byte("{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	checkEnd(t, parts, nil, "it can be read now") // its form was not known
}

func TestStoresAreTriedAgain(t *testing.T) {
	text := numbered(3000)
	reset := errors.New("connection\nreset")
	for name, c := range map[string]struct {
		file faultyFile
		want string
	}{
		"opens at last":       {faultyFile{data: text, opens: 2, err: reset}, ""},
		"reads at last":       {faultyFile{data: text, after: 70000, reads: 2, err: reset}, ""},
		"is cut off, once":    {faultyFile{data: text, after: 70000, reads: 1, err: io.ErrUnexpectedEOF}, ""},
		"never reads on":      {faultyFile{data: text, after: 30000, reads: -1, err: reset}, "connection reset"},
		"never opens":         {faultyFile{data: text, opens: -1, err: reset}, "connection reset"},
		"may not be read":     {faultyFile{data: text, opens: -1, err: fs.ErrPermission}, "permission denied"},
		"compressed, at last": {faultyFile{data: zipped(t, text, 1), after: 9000, reads: 2, err: reset}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			name := faulty.put(t, &c.file)
			s := Source{Name: name, Form: "lines"}
			checkEnd(t, cut(t, s, 0), text, c.want)
			if c.file.opened != c.file.closed {
				t.Errorf("opened %d times, closed %d", c.file.opened, c.file.closed)
			}
		})
	}
}

// The clock advances only while a test waits.
func TestALocalFileIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		checkEnd(t, cut(t, Source{Name: t.TempDir(), Form: "lines"}, 0), nil, "is a directory")
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waited for %v", waited)
		}
	})
}

func TestAStoreWithoutCredentialsIsOneLine(t *testing.T) {
	_, err := Match(t.Context(), Options{Patterns: []string{"panics://x/y"}})
	if err == nil || err.Error() != "panics://x/y: no credentials and a second line" {
		t.Error(err)
	}
}

func TestTheContextEndsReading(t *testing.T) {
	file := &faultyFile{data: numbered(20000), after: 200000, reads: -1, err: errors.New("reset")}
	name := faulty.put(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for w, err := range Rows(ctx, Part{Source: name, Form: "lines", Line: 1, Lines: 20000, Last: true}) {
		if n++; n == 3 {
			cancel()
		}
		if err != nil && err != context.Canceled { // and no *LineError, which would set it aside
			t.Errorf("row %d: %+v, %v", n, w, err)
		}
	}
	if n < 3 || n == 20000 {
		t.Errorf("%d rows", n)
	}
	if _, err := Cut(ctx, Source{Name: name, Form: "lines"}, 0); err != context.Canceled {
		t.Errorf("Cut: %v", err)
	}
	if _, err := Cut(ctx, Source{Name: "testdata/typed.parquet", Form: "parquet"}, 0); err != context.Canceled {
		t.Errorf("Cut: %v", err)
	}
	if file.opened != file.closed {
		t.Errorf("opened %d times, closed %d", file.opened, file.closed)
	}
}

func TestNoMoreRowsAreReadThanAreWanted(t *testing.T) {
	file := &faultyFile{data: numbered(100)}
	for range Rows(t.Context(), Part{Source: faulty.put(t, file), Form: "lines", Line: 1, Lines: 100}) {
		break
	}
	for range Rows(t.Context(), Part{Source: "testdata/typed.parquet", Form: "parquet", Line: 1, Lines: 2}) {
		break
	}
	if file.opened != 1 || file.closed != 1 {
		t.Errorf("opened %d times, closed %d, want 1", file.opened, file.closed)
	}
	defer func() {
		if p := recover(); p != "the caller's" {
			t.Errorf("%v, want the caller's panic", p)
		}
	}()
	for range Rows(t.Context(), Part{Source: "testdata/typed.parquet", Form: "parquet", Line: 1, Lines: 2}) {
		panic("the caller's")
	}
}

func TestAParquetFileOfAStoreIsCopiedAndRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	data := golden(t, "typed.parquet")
	name := faulty.put(t, &faultyFile{data: data, after: 100, reads: 2, err: errors.New("reset")})
	all, err := rowsOf(t.Context(), cut(t, Source{Name: name, Form: "parquet"}, 0)...)
	if len(all) != 2 || err != nil {
		t.Errorf("%d rows, %v, want 2", len(all), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestALineOf100MBIsReadPast in constant memory: all allocations together are smaller than the
// line.
func TestALineOf100MBIsReadPast(t *testing.T) {
	const size = 100 << 20
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte("first\n"))
	for range size >> 16 {
		z.Write(bytes.Repeat([]byte("x"), 1<<16))
	}
	z.Write([]byte("\nlast"))
	z.Close()
	s := one(t, "lines", write(t, "x.gz", b.Bytes()))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	parts := cut(t, s, 0)
	all, err := rowsOf(t.Context(), parts...)
	runtime.ReadMemStats(&after)
	if err != nil || len(all) != 3 || all[0].Text != "first" || all[1].Err == nil ||
		all[1].Object != nil || all[1].Text != "" || all[2].Text != "last" || all[2].First != 3 {
		t.Errorf("%.300q, %v", show(all), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > size {
		t.Errorf("%d bytes allocated", n)
	}
}
