package weights

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
)

// malformed lists files that must be refused, and words of the reason.
func malformed() []struct {
	name string
	file []byte
	want []string
} {
	const a = `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	one := func(entry string) []byte { return raw(`{"a":`+entry+`}`, 8) }
	list := func(name string, file []byte, want ...string) struct {
		name string
		file []byte
		want []string
	} {
		return struct {
			name string
			file []byte
			want []string
		}{name, file, want}
	}
	return []struct {
		name string
		file []byte
		want []string
	}{
		list("empty", nil, "0 bytes", "too short"),
		list("seven bytes", []byte("1234567"), "7 bytes", "too short"),
		list("length only", rawLength(8, ""), "header of 8 bytes", "truncated"),
		list("no header", rawLength(0, ""), "want {"),
		list("no header but data", rawLength(0, "12345678"), "want {"),
		list("header longer than file", rawLength(100, "{}"), "header of 100 bytes",
			"only 2 follow"),
		list("length 2^64-1", rawLength(1<<64-1, "{}"), "header of 18446744073709551615 bytes"),
		list("length 2^63", rawLength(1<<63, "{}"), "header of 9223372036854775808 bytes"),
		list("length just over the cap", rawLength(maxHeader+1,
			"{"+strings.Repeat(" ", maxHeader-1)+"}"), "want at most"),
		list("space before brace", raw(` {`+a+`}`, 8), "want {"),
		list("an array", raw(`[`+a+`]`, 8), "want {"),
		list("null", raw(`null`, 0), "want {"),
		list("not JSON", raw(`{a}`, 0), "JSON"),
		list("JSON cut short", raw(`{`+a, 8), "JSON", "EOF"),
		list("comma before the end", raw(`{`+a+`,}`, 8), "JSON"),
		list("two objects", raw(`{`+a+`}{}`, 8), "want the end"),
		list("zeros after the object", raw(`{`+a+"}\x00\x00", 8), "want the end"),
		list("deep nesting", raw(`{"a":`+strings.Repeat("[", 100000)+strings.Repeat("]",
			100000)+`}`, 8), "want an object, found an array"),
		list("invalid UTF-8 in a name", raw("{\"a\xff\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 8), "UTF-8"),
		list("invalid UTF-8 in metadata", raw("{\"__metadata__\":{\"k\":\"\xc0\x80\"},"+a+"}", 8),
			"UTF-8"),
		list("half a surrogate in a name", raw(`{"\ud800":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), "lone surrogate"),
		list("newline in a name", raw(`{"a\nb":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`,
			8), `"a\nb"`, "unprintable"),
		list("escape sequence in a name", raw(`{"\u001b[2J":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), "unprintable"),
		list("empty name", raw(`{"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
			"empty name"),
		list("endless name", raw(`{"`+strings.Repeat("a",
			1<<19)+`":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
			"name of 524288 bytes"),
		list("name twice", raw(`{`+a+`,`+a+`}`, 8), `"a" comes twice`),
		list("name twice, once escaped", raw(`{`+a+`,"\u0061":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}}`, 16), `"a" comes twice`),
		list("metadata twice", raw(`{"__metadata__":{},"__metadata__":{},`+a+`}`, 8),
			"__metadata__", "twice"),
		list("metadata null", raw(`{"__metadata__":null,`+a+`}`, 8), "null"),
		list("metadata a list", raw(`{"__metadata__":[],`+a+`}`, 8), "object"),
		list("metadata of numbers", raw(`{"__metadata__":{"k":1},`+a+`}`, 8), "__metadata__", "k",
			"string"),
		list("metadata of nulls", raw(`{"__metadata__":{"k":null},`+a+`}`, 8), "__metadata__",
			"null"),
		list("metadata key twice", raw(`{"__metadata__":{"k":"1","k":"2"},`+a+`}`, 8),
			`"k" comes twice`),
		list("entry null", one(`null`), "a:", "null"),
		list("entry a number", one(`7`), "a:", "7"),
		list("entry empty", one(`{}`), "a:", "fewer"),
		list("no dtype", one(`{"shape":[2],"data_offsets":[0,8]}`), "a:", "dtype"),
		list("no shape", one(`{"dtype":"F32","data_offsets":[0,8]}`), "a:", "shape"),
		list("no offsets", one(`{"dtype":"F32","shape":[2]}`), "a:", "data_offsets"),
		list("another key", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}`), "a:",
			`"x"`),
		list("key in capitals", one(`{"DType":"F32","shape":[2],"data_offsets":[0,8]}`), "a:",
			`"DType"`),
		list("dtype twice", one(`{"dtype":"F32","dtype":"I32","shape":[2],"data_offsets":[0,8]}`),
			"a:", "dtype", "twice"),
		list("dtype unknown", one(`{"dtype":"F8_E4M3","shape":[8],"data_offsets":[0,8]}`), "a:",
			"dtype", "F8_E4M3"),
		list("dtype in lower case", one(`{"dtype":"f32","shape":[2],"data_offsets":[0,8]}`), "a:",
			"dtype", "f32"),
		list("dtype a number", one(`{"dtype":32,"shape":[2],"data_offsets":[0,8]}`), "a:", "dtype",
			"32"),
		list("dtype null", one(`{"dtype":null,"shape":[2],"data_offsets":[0,8]}`), "a:", "dtype",
			"null"),
		list("shape null", one(`{"dtype":"F32","shape":null,"data_offsets":[0,8]}`), "a:", "shape",
			"null"),
		list("shape of null", one(`{"dtype":"F32","shape":[null],"data_offsets":[0,0]}`), "a:",
			"shape", "null"),
		list("shape of strings", one(`{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}`), "a:",
			"shape", "want a whole number"),
		list("shape of fractions", one(`{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}`), "a:",
			"shape", "2.0"),
		list("shape with exponent", one(`{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}`), "a:",
			"shape", "2e0"),
		list("shape negative", one(`{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}`), "a:",
			"shape", "-2"),
		list("shape twice negative", one(`{"dtype":"F32","shape":[-1,-2],"data_offsets":[0,8]}`),
			"a:", "shape", "-1"),
		list("shape minus zero", one(`{"dtype":"F32","shape":[-0],"data_offsets":[0,0]}`), "a:",
			"shape", "-0"),
		list("shape of 2^64", one(`{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8]}`), "a:", "shape"),
		list("shape of 2^63", one(`{"dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,8]}`), "a:", "shape"),
		list("shape overflows to the right size",
			one(`{"dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,0]}`), "a:",
			"shape", "addressed"),
		list("bytes overflow", one(`{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}`), "a:", "shape", "addressed"),
		list("zero hides an absurd dimension",
			one(`{"dtype":"F32","shape":[0,9223372036854775807],"data_offsets":[0,0]}`), "a:",
			"shape", "addressed"),
		list("too many dimensions", one(`{"dtype":"F32","shape":[`+strings.Repeat("1,",
			500000)+`2],"data_offsets":[0,8]}`), "a:", "500001 dimensions"),
		list("offsets null", one(`{"dtype":"F32","shape":[2],"data_offsets":null}`), "a:",
			"data_offsets", "null"),
		list("one offset", one(`{"dtype":"F32","shape":[2],"data_offsets":[8]}`), "a:",
			"data_offsets", "1 numbers"),
		list("three offsets", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}`), "a:",
			"data_offsets", "3 numbers"),
		list("offsets swapped", one(`{"dtype":"F32","shape":[2],"data_offsets":[8,0]}`), "a:",
			"data_offsets [8 0]"),
		list("offsets negative", one(`{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}`), "a:",
			"data_offsets", "-8"),
		list("offsets of fractions", one(`{"dtype":"F32","shape":[2],"data_offsets":[0,8.0]}`),
			"a:", "data_offsets", "8.0"),
		list("offsets too few bytes", one(`{"dtype":"F32","shape":[3],"data_offsets":[0,8]}`), "a:",
			"[0 8]", "want 12 bytes", "F32 [3]"),
		list("offsets too many bytes", one(`{"dtype":"F16","shape":[2],"data_offsets":[0,8]}`),
			"a:", "[0 8]", "want 4 bytes"),
		list("scalar of eight bytes", one(`{"dtype":"F32","shape":[],"data_offsets":[0,8]}`), "a:",
			"want 4 bytes"),
		list("offsets past the end", one(`{"dtype":"F32","shape":[4],"data_offsets":[0,16]}`), "a:",
			"ends at byte 16", "8 bytes of data"),
		list("offsets near 2^63", one(`{"dtype":"F32","shape":[2],"data_offsets":[9223372036854775799,9223372036854775807]}`), "a:", "truncated"),
		list("hole at the start", one(`{"dtype":"F32","shape":[1],"data_offsets":[4,8]}`), "a:",
			"begins at byte 4, want 0"),
		list("bytes left over", one(`{"dtype":"F32","shape":[1],"data_offsets":[0,4]}`),
			"end at byte 4", "8 bytes of data"),
		list("hole between", raw(`{`+a+`,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`,
			16), "b:", "begins at byte 12, want 8"),
		list("overlap", raw(`{`+a+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12),
			"b:", "begins at byte 4, want 8"),
		list("same bytes twice", raw(`{`+a+`,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`,
			8), "begins at byte 0, want 8"),
		list("data missing", raw(`{`+a+`}`, 7), "a:", "ends at byte 8", "7 bytes of data"),
		list("data but no tensors", raw(`{}`, 8), "end at byte 0", "8 bytes of data"),
		list("a zip", []byte("PK\x03\x04 and so on and on"), "zip", "convert"),
		list("a pickle", []byte("\x80\x02}q\x00(X\x0a and so on"), "pickle", "convert"),
		list("GGUF", []byte("GGUF\x03\x00\x00\x00 and so on"), "GGUF"),
		list("an LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
			"git lfs pull"),
		list("a web page", []byte("<!DOCTYPE html><html></html>"), "web page"),
	}
}

func TestMalformedFilesAreRefusedByName(t *testing.T) {
	for _, c := range malformed() {
		t.Run(c.name, func(t *testing.T) {
			_, err := FromBytes("some.file", c.file)
			wantError(t, err, append(c.want, "some.file: ")...)
			dir := put(t, "model.safetensors", string(c.file))
			_, err = Open(os.DirFS(dir), "model.safetensors")
			wantError(t, err, append(c.want, filepath.Join(dir, "model.safetensors")+": ")...)
		})
	}
}

func TestEveryTruncationIsRefused(t *testing.T) {
	whole := raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}`, 11)
	if _, err := FromBytes("x", whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if _, err := FromBytes("x", whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes open", n, len(whole))
		}
	}
	if _, err := FromBytes("x", append(whole, 0)); err == nil {
		t.Error("opens with a byte too many")
	}
}

func TestOddButValidFilesOpen(t *testing.T) {
	for name, b := range map[string][]byte{
		"no tensors": raw(`{}`, 0),
		"padded with spaces": raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}      `,
			8),
		"metadata only": raw(`{"__metadata__":{"format":"pt"}}`, 0),
		"keys in any order": raw(`{"a":{"data_offsets":[0,8],"shape":[2],"dtype":"F32"}}`,
			8),
		"tensors in any order":     raw(`{"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, 8),
		"a scalar":                 raw(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4),
		"no elements":              raw(`{"a":{"dtype":"F32","shape":[0,5],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"c":{"dtype":"U8","shape":[8],"data_offsets":[0,8]}}`, 8),
		"names of any script":      raw(`{"слой.0 <|x|>":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8),
		"a length like a pickle's": raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`+strings.Repeat(" ", 640-54), 8),
		"every type":               raw(`{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I64","shape":[1],"data_offsets":[1,9]}}`, 9),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := FromBytes(name, b); err != nil {
				t.Error(err)
			}
		})
	}
}

// The costliest headers that fit under the cap, valid and not.
func hostileHeaders() map[string][]byte {
	fill := func(start, end string, each func(i int) string, data int) []byte {
		var b strings.Builder
		b.WriteString(start)
		for i := 0; ; i++ {
			s := each(i)
			if b.Len()+len(s)+len(end) > maxHeader {
				return raw(b.String()[:b.Len()-1]+end, data)
			}
			b.WriteString(s)
		}
	}
	return map[string][]byte{
		"empty tensors": fill(`{`, `}`, func(i int) string { return fmt.Sprintf(`"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, i) }, 0),
		"high ranks": fill(`{`, `}`, func(i int) string {
			return fmt.Sprintf(`"%d":{"dtype":"U8","shape":[0%s],"data_offsets":[0,0]},`, i,
				strings.Repeat(",1", maxRank-1))
		}, 0),
		"metadata": fill(`{"__metadata__":{`, `}}`,
			func(i int) string { return fmt.Sprintf(`"%d":"",`, i) }, 0),
		"one shape": fill(`{"a":{"dtype":"U8","data_offsets":[0,0],"shape":[`, `]}}`,
			func(int) string { return "1," }, 0),
		"one nested value": fill(`{"a":[`, `]}`, func(int) string { return "{}," }, 0),
		"offsets": fill(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[`, `]}}`,
			func(int) string { return "0," }, 0),
		"missing at the end": fill(`{`, `,"z":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}`,
			func(i int) string { return fmt.Sprintf(`"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, i) }, 0),
		"escapes": fill(`{"`, `":{}}`, func(int) string { return `\u0061` }, 0),
	}
}

func TestHostileHeadersCostLittle(t *testing.T) {
	cases.NotShort(t)
	for name, b := range hostileHeaders() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "m.safetensors")
			if err := os.WriteFile(path, b, 0o666); err != nil {
				t.Fatal(err)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			stop := watchdog.Start(t, "%d bytes", len(b))
			f, err := openPath(path)
			stop()
			runtime.ReadMemStats(&after)
			if err == nil {
				f.Close()
			} else {
				wantError(t, err)
			}
			taken := after.TotalAlloc - before.TotalAlloc // freed or not
			t.Logf("%d header bytes: %d MB, error %.100v", len(b)-8, taken>>20, err)
			if taken > 200<<20 {
				t.Errorf("allocated %d MB, want at most 200", taken>>20)
			}
		})
	}
}
