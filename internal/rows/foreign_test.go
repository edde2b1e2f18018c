package rows

// Inputs that are no UTF-8 text in rows, and texts that look like one of those.

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"
)

// read is all that becomes of an input: its rows as text, ! before an error.
func read(name, data, form string) (all []string) {
	s := NewSource(name, strings.NewReader(data))
	if err := s.Decompress(); err != nil {
		return []string{"! " + err.Error()}
	}
	r := NewReader(s, form)
	if err := r.Check(); err != nil {
		return []string{"! " + err.Error()}
	}
	if err := r.ReadHeader(); err != nil {
		return []string{"! " + err.Error()}
	}
	for {
		w, err := r.Next()
		switch {
		case err == io.EOF:
			return all
		case err != nil:
			return append(all, "! "+err.Error())
		case w.Err != nil:
			all = append(all, "- "+w.Err.Error())
		case w.Object != nil:
			line, _ := w.Object.Line()
			all = append(all, string(bytes.TrimSpace(line)))
		default:
			all = append(all, w.Text)
		}
	}
}

func tarFile(name string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	w.WriteHeader(&tar.Header{Name: name, Size: 4, Mode: 0o600})
	io.WriteString(w, "The\n")
	w.Close()
	return b.String()
}

func TestWhatIsNoTextIsRefusedByName(t *testing.T) {
	const objects = "a JSON array, want an object on each line, as jq -c '.[]' writes them"
	for _, c := range []struct{ data, form, want string }{
		{"ARROW1\x00\x00\xff\xff", "auto", "Arrow data, want text, gzip or zstd"},
		{"Obj\x01\x04\x16avro.schema", "auto", "Avro data, want text, gzip or zstd"},
		{"\x04\x22\x4d\x18dThe cat\n", "auto", "lz4 data, want text, gzip or zstd"},
		{"\xff\x06\x00\x00sNaPpY", "auto", "snappy data, want text, gzip or zstd"},
		{"PK\x03\x04", "auto", "zip data, want text, gzip or zstd"},
		{"PK\x05\x06", "auto", "zip data, want text, gzip or zstd"},
		{"PAR1\x15\x04", "auto", "Parquet data, want text, gzip or zstd"},
		{"BZh11AY&SY", "lines", "bzip2 data, want text, gzip or zstd"}, // as ever
		{tarFile("a.txt"), "auto", "tar data, want text, gzip or zstd"},
		{tarFile(strings.Repeat("a", 100)), "auto", "tar data, want text, gzip or zstd"},
		{"The\ncat\x00", "auto", "binary data (byte 7 is 0), want text, gzip or zstd"},
		{"\xff\xfeT\x00h\x00\n\x00", "auto", "UTF-16 text, want UTF-8"},
		{"\xfe\xff\x00T\x00\n", "auto", "UTF-16 text, want UTF-8"},
		{"\xff\xfeT\x00\n\x00", "jsonl", "UTF-16 text, want UTF-8"},
		{"\xff\xfet\x00\n\x00", "csv", "UTF-16 text, want UTF-8"},
		{"\xff\xfe\x00\x00T\x00\x00\x00", "auto", "UTF-32 text, want UTF-8"},
		{`[{"text":"a"},{"text":"b"}]` + "\n", "auto", objects},
		{`[{"text":"a"},{"text":"b"}]`, "jsonl", objects},
		{ByteOrderMark + "\n [\n  {\n", "auto", objects},
		{"[\n", "auto", objects},
		{"[]", "auto", objects},
		{`[{"text":"a","x":NaN}]`, "auto", objects},
		{`[{"text":"a"},` + "\n" + `{"text":"b"}]`, "auto", objects},
		{`[{"text":"` + strings.Repeat("x", 1<<17) + `"}]`, "auto", objects},
		{`["a b", "c d"]`, "auto", strings.Replace(objects, ".[]", ".[] | {text: .}", 1)},
		{"[[1, 2],\n [3]]\n", "auto", strings.Replace(objects, ".[]", ".[] | {tokens: .}", 1)},
		{"[1, 2]\n", "auto", strings.Replace(objects, ".[]", "{tokens: .}", 1)},
	} {
		got := read("x", c.data, c.form)
		if len(got) != 1 || got[0] != "! x: "+c.want {
			t.Errorf("%.40q as %s: %.200q, want %q", c.data, c.form, got, c.want)
		}
	}
}

func TestWhatIsTextIsTaken(t *testing.T) {
	for _, c := range []struct{ data, form, want string }{
		{ByteOrderMark + "The cat\nsat", "auto", "The cat|sat"},
		{ByteOrderMark + "{\"text\":\"a\"}\n", "auto", `{"text":"a"}`},
		{ByteOrderMark + "{\"text\":\"a\"}\n", "jsonl", `{"text":"a"}`},
		{ByteOrderMark + "text\na\n", "csv", `{"text":"a"}`},
		{ByteOrderMark, "auto", ""},
		{ByteOrderMark + "\n", "auto", ""},
		{ByteOrderMark + ByteOrderMark + "a\n" + ByteOrderMark + "b" + ByteOrderMark, "auto",
			ByteOrderMark + "a|" + ByteOrderMark + "b" + ByteOrderMark},
		{"caf\xe9\nok\n", "auto", "- not UTF-8|ok"},
		{"\xef\xbb\n", "auto", "- not UTF-8"},
		{"[Chorus]\nla", "auto", "[Chorus]|la"},
		{"[1] A note\n", "auto", "[1] A note"},
		{"[1]\n[2]\n", "auto", "[1]|[2]"},
		{"[\nnot JSON\n", "auto", "[|not JSON"},
		{"[1]\n{\"text\":\"a\"}\n", "jsonl", `- byte 0: want an object, found an array|{"text":"a"}`},
		{"PAR1 is a gene\n", "auto", "PAR1 is a gene"},
		{"Obj 1\n", "auto", "Obj 1"},
		{"ustar" + strings.Repeat(" ", 300), "auto", "ustar" + strings.Repeat(" ", 300)},
		// Who says lines takes all of them as they stand.
		{ByteOrderMark + "a\ncaf\xe9\n\x00\n", "lines", ByteOrderMark + "a|caf\xe9|\x00"},
		{"Obj\x01\n", "lines", "Obj\x01"},
		{"\xff\xfeT\x00\n\x00", "lines", "\xff\xfeT\x00|\x00"},
		{`[{"text":"a"}]`, "lines", `[{"text":"a"}]`},
	} {
		if got := strings.Join(read("x", c.data, c.form), "|"); got != c.want {
			t.Errorf("%.40q as %s: %.200q, want %q", c.data, c.form, got, c.want)
		}
	}
}

// TestCheckWaitsForTheFirstLineOnly: nothing follows, and the pipe stays open.
func TestCheckWaitsForTheFirstLineOnly(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"The cat\n", "The cat"}, {ByteOrderMark + "The cat\n", "The cat"}, {"[Chorus]\n", "[Chorus]"},
		{"[1] note\n", "[1] note"}, {"caf\xe9\n", ""}, {"\xff\n", ""}, {"P\n", "P"},
	} {
		in, out := io.Pipe()
		go func() {
			for i := range len(c.line) {
				out.Write([]byte(c.line[i : i+1]))
			}
		}()
		s := NewSource("stdin", in)
		if err := s.Decompress(); err != nil {
			t.Fatal(err)
		}
		r := NewReader(s, "auto")
		err := r.Check()
		w, e := r.Next()
		if err != nil || e != nil || w.Text != c.want {
			t.Errorf("%q: %q, %v, %v", c.line, w.Text, err, e)
		}
	}
}

// TestATextHasNoMark: what is read whole.
func TestATextHasNoMark(t *testing.T) {
	for data, want := range map[string]string{
		ByteOrderMark + "a\n" + ByteOrderMark: "a\n" + ByteOrderMark, "": "", "a\xe9": "a\xe9",
		"\xff\xfea\x00": "! x: UTF-16 text, want UTF-8",
		"Obj\x01":       "! x: Avro data, want text, gzip or zstd",
	} {
		s := NewSource("x", strings.NewReader(data))
		r, err := s.Text()
		got := ""
		if err != nil {
			got = "! " + err.Error()
		} else {
			b, _ := io.ReadAll(r)
			got = string(b)
		}
		if got != want || err == nil && s.Bytes+int64(len(got)) != int64(len(data)) {
			t.Errorf("%q: %q and %d bytes, want %q", data, got, s.Bytes, want)
		}
	}
}
