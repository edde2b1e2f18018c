package main

// The documents of the tests, and the many ways in which files hold them.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
)

// A document is an object of JSONL.
type document struct {
	ID   int    `json:"id" parquet:"id"`
	Text string `json:"text" parquet:"text"`
	Rank int    `json:"rank" parquet:"rank"`
}

// makeDocuments makes texts of all lengths, short ones mostly: none, a few words, more than the context
// of the tests' model. Each tenth has the id of another.
func makeDocuments(n int) []document {
	r := rand.New(rand.NewPCG(15, 0))
	words := strings.Fields("the cat sat on a mat, \"quoted\" naïve 猫 🙂 \\ & <b> = Heading = 1,204 .")
	all := make([]document, n)
	for i := range all {
		var text []string
		for range int(r.ExpFloat64() * 9) {
			text = append(text, words[r.IntN(len(words))])
		}
		all[i] = document{ID: i - i%10/9, Text: strings.Join(text, " "), Rank: i - n/2}
	}
	return all
}

// A form is a way in which documents are written.
type form struct {
	name, flag string // of the files, for --form
	write      func(w io.Writer, all []document) error
}

var forms = []form{
	{"jsonl", "auto", writeObjects},
	{"jsonl.gz", "auto", func(w io.Writer, all []document) error {
		z := gzip.NewWriter(w)
		writeObjects(z, all)
		return z.Close()
	}},
	{"jsonl.zst", "auto", func(w io.Writer, all []document) error {
		z, err := zstd.NewWriter(w)
		if err != nil {
			return err
		}
		writeObjects(z, all)
		return z.Close()
	}},
	{"parquet", "auto", func(w io.Writer, all []document) error {
		p := parquet.NewGenericWriter[document](w)
		if _, err := p.Write(all); err != nil {
			return err
		}
		return p.Close()
	}},
	{"txt", "lines", func(w io.Writer, all []document) error {
		for _, d := range all {
			fmt.Fprintln(w, d.Text)
		}
		return nil
	}},
}

func writeObjects(w io.Writer, all []document) error {
	e := json.NewEncoder(w)
	for _, d := range all {
		if err := e.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

// shards writes documents into a number of files, some of which are empty if there are many, and
// returns the pattern of their names.
func (f *form) shards(t *testing.T, all []document, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		var b bytes.Buffer
		if err := f.write(&b, all[i*len(all)/n:(i+1)*len(all)/n]); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, fmt.Sprintf("%03d.%s", i, f.name)), b.String())
	}
	return filepath.Join(dir, "*."+f.name)
}

// write writes a file and returns its name.
func write(t *testing.T, name, data string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}
