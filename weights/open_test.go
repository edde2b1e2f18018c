package weights

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/internal/folder"
)

// tiny is a file with one F32 tensor of the given name.
func tiny(name string) string {
	return string(raw(fmt.Sprintf(`{"__metadata__":{"of":"%s"},"%s":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, name, name), 8))
}

func names(f *Tensors) string {
	var list []string
	for _, t := range f.All() {
		list = append(list, t.Name)
	}
	return strings.Join(list, " ")
}

func openPath(path string) (*Tensors, error) {
	return Open(folder.Dir(filepath.Dir(path)), filepath.Base(path))
}

func TestPathsThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "none.safetensors")
	_, err := openPath(missing)
	wantError(t, err, missing+": ")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not ErrNotExist", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "model.safetensors"), 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = Open(folder.Dir(dir), "model.safetensors")
	wantError(t, err, "a directory, want a regular file")
	if err := os.Symlink("nowhere", filepath.Join(dir, "dangling")); err == nil {
		_, err = Open(os.DirFS(dir), "dangling")
		wantError(t, err, "dangling: ")
	}
	if _, err := os.Stat(os.DevNull); err == nil && filepath.IsAbs(os.DevNull) {
		_, err = openPath(os.DevNull)
		wantError(t, err, "a device, want a regular file")
	}
}

func TestDirIsWhereTheConfigLies(t *testing.T) {
	dir := put(t, "model.safetensors", tiny("a"))
	if got := Dir(dir); got != dir {
		t.Errorf("Dir(directory) = %s, want %s", got, dir)
	}
	if got := Dir(filepath.Join(dir, "model.safetensors")); got != dir {
		t.Errorf("Dir(file) = %s, want %s", got, dir)
	}
	if got := Dir("m.safetensors"); got != "." {
		t.Errorf("Dir(plain name) = %s, want .", got)
	}
}

func TestShardsMakeOneCheckpoint(t *testing.T) {
	dir := put(t,
		"s2.safetensors", tiny("b"), "s1.safetensors", tiny("a"), "s10.safetensors", tiny("c"),
		"model.safetensors.index.json", `{"weight_map":{"b":"s2.safetensors","c":"s10.safetensors","a":"s1.safetensors"},"metadata":null}`)
	const index = "model.safetensors.index.json"
	for _, open := range []func() (*Tensors, error){
		func() (*Tensors, error) { return Open(folder.Dir(dir), index) },
		func() (*Tensors, error) { return Open(os.DirFS(dir), index) },
	} {
		f, err := open()
		if err != nil {
			t.Fatal(err)
		}
		if names(f) != "a c b" || f.Metadata()["of"] != "a" || f.Size() != 3*int64(len(tiny("a"))) {
			t.Errorf("tensors %s, metadata %v, %d bytes", names(f), f.Metadata(), f.Size())
		}
		c, ok := f.Tensor("c")
		if v, err := c.Float32s(); !ok || err != nil || len(v) != 2 {
			t.Errorf("c: %v %v %v", ok, v, err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMalformedIndexesAreRefusedByName(t *testing.T) {
	for _, c := range []struct {
		name, index string
		want        []string
	}{
		{"empty", ``, []string{"JSON"}},
		{"not JSON", `hello`, []string{"JSON"}},
		{"a number of a thousand digits", strings.Repeat("3", 1000), []string{"object"}},
		{"a list", `[]`, []string{"object"}},
		{"cut short", `{"weight_map":{"a":"s1.safetensors"`, []string{"JSON"}},
		{"trailing", `{"weight_map":{"a":"s1.safetensors"}} x`, []string{"want the end"}},
		{"no weight_map", `{"metadata":{}}`, []string{"weight_map"}},
		{"weight_map null", `{"weight_map":null}`, []string{"weight_map", "null"}},
		{"weight_map empty", `{"weight_map":{}}`, []string{"weight_map", "no tensors"}},
		{"weight_map twice", `{"weight_map":{"a":"s1.safetensors"},"weight_map":{"a":"s1.safetensors"}}`, []string{"weight_map", "twice"}},
		{"tensor twice", `{"weight_map":{"a":"s1.safetensors","a":"s2.safetensors"}}`,
			[]string{`"a" comes twice`}},
		{"shard a number", `{"weight_map":{"a":1}}`, []string{"a:", "string"}},
		{"shard empty", `{"weight_map":{"a":""}}`, []string{"a:", "plain file name"}},
		{"shard above", `{"weight_map":{"a":"../s1.safetensors"}}`,
			[]string{"a:", "plain file name"}},
		{"shard dot dot", `{"weight_map":{"a":".."}}`, []string{"a:", "plain file name"}},
		{"shard below", `{"weight_map":{"a":"x/s1.safetensors"}}`,
			[]string{"a:", "plain file name"}},
		{"shard with a backslash", `{"weight_map":{"a":"..\\s1.safetensors"}}`,
			[]string{"a:", "plain file name"}},
		{"shard absolute", `{"weight_map":{"a":"/etc/passwd"}}`, []string{"a:", "plain file name"}},
		{"shard with NUL", `{"weight_map":{"a":"s1\u0000.safetensors"}}`,
			[]string{"a:", "plain file name"}},
		{"shard missing", `{"weight_map":{"a":"s1.safetensors","z":"s9.safetensors"}}`,
			[]string{"s9.safetensors: "}},
		{"shard malformed", `{"weight_map":{"a":"s1.safetensors","z":"bad.safetensors"}}`,
			[]string{"bad.safetensors: ", "too short"}},
		{"shard is the index", `{"weight_map":{"a":"model.safetensors.index.json"}}`,
			[]string{"model.safetensors.index.json: ", "not a safetensors file"}},
		{"tensor not in its shard", `{"weight_map":{"a":"s1.safetensors","z":"s1.safetensors"}}`,
			[]string{"z:", "s1.safetensors", "does not have it"}},
		{"tensor in another shard", `{"weight_map":{"a":"s2.safetensors","b":"s1.safetensors"}}`,
			[]string{"listed in", "found in"}},
		{"tensor in two shards", `{"weight_map":{"a":"s1.safetensors","b":"again.safetensors"}}`,
			[]string{"a: also in another shard"}},
		{"newline in a tensor name", `{"weight_map":{"a\nb":"s1.safetensors"}}`,
			[]string{"unprintable"}},
		{"too large", `{"weight_map":{"a":"s1.safetensors"}}` + strings.Repeat(" ", maxIndex),
			[]string{"want at most"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := put(t, "model.safetensors.index.json", c.index,
				"s1.safetensors", tiny("a"), "s2.safetensors", tiny("b"), "again.safetensors",
				tiny("a"), "bad.safetensors", "x")
			_, err := Open(os.DirFS(dir), "model.safetensors.index.json")
			wantError(t, err, append(c.want, dir)...)
		})
	}
}

// Each shard may be harmless while all together are not.
func TestHeadersOfAllShardsShareOneBound(t *testing.T) {
	half := func(name string) string {
		header := fmt.Sprintf(`{"%s":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, name)
		return string(raw(header+strings.Repeat(" ", maxHeader*2/3-len(header))+"}", 0))
	}
	dir := put(t, "s1.safetensors", half("a"), "s2.safetensors", half("b"),
		"model.safetensors.index.json", `{"weight_map":{"a":"s1.safetensors","b":"s2.safetensors"}}`)
	_, err := Open(os.DirFS(dir), "model.safetensors.index.json")
	wantError(t, err, "s2.safetensors: ", "header of", "want at most")
	f, err := Open(os.DirFS(dir), "s2.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestTooManyShardsAreRefused(t *testing.T) {
	var b strings.Builder
	for i := range maxShards + 1 {
		fmt.Fprintf(&b, `,"t%d":"s%d"`, i, i)
	}
	_, err := parseIndex([]byte(`{"weight_map":{` + b.String()[1:] + `}}`))
	wantError(t, err, "more than 1024 shards")
}

// raw builds a safetensors file from a header and so many bytes of data.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range data {
		b = append(b, byte(i))
	}
	return b
}

// rawLength builds one whose stated header length is a lie.
func rawLength(n uint64, rest string) []byte {
	return append(binary.LittleEndian.AppendUint64(nil, n), rest...)
}

// put writes files, name and content by turns, into a new directory.
func put(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(files[i+1]),
			0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// wantError checks that an error is one line that has all the words in it.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b") || len(err.Error()) > 1500 {
		t.Errorf("error is not one plain line: %.300q", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not have %q", err, w)
		}
	}
}
