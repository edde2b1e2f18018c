// Command page makes the playground of gpt serve as a folder of static files, with the engine of
// cmd/page as WebAssembly: make page.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/internal/webparts"
	"picogpt/serve/page"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: page engine.wasm wasm_exec.js DIR, at the top of the sources")
		os.Exit(2)
	}
	if err := build(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// most is how many bytes the files may have together.
const most = 9_000_000

// build writes the page into a folder.
func build(engine, exec, dir string) error {
	files := map[string][]byte{}
	var errs []error
	read := func(name, from string) {
		b, err := os.ReadFile(from)
		files[name], errs = b, append(errs, err)
	}
	const source = "serve/page/assets/"
	all, err := filepath.Glob(source + "*")
	errs = append(errs, err)
	for _, name := range all {
		read("page/"+filepath.Base(name), name)
	}
	for name, text := range webparts.Files() {
		files["page/"+name] = []byte(text)
	}
	for _, name := range []string{"engine.js", "worker.js", "service.js"} {
		read("page/"+name, "cmd/page/assets/"+name)
	}
	read("page/wasm_exec.js", exec)
	read("page/leaves.wasm", "kernels/wasm/leaves.wasm")
	read("page/engine.wasm.gz", engine)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for name, text := range files {
		ext := path.Ext(name)
		if (ext == ".js" || ext == ".css") && name != "page/wasm_exec.js" { // whose licence is in it
			files[name] = trimmed(text)
		}
	}
	files["page/engine.wasm.gz"] = packed(files["page/engine.wasm.gz"])
	if files["index.html"], err = static(string(files["page/index.html"])); err != nil {
		return err
	}
	files["service.js"] = files["page/service.js"] // a worker is for what stands beside it and below
	delete(files, "page/index.html")
	delete(files, "page/service.js")
	files["service.js"] = versioned(files)
	return write(dir, files)
}

// static returns the page with its policy, which no static host sends, and with the engine's script
// before its own.
func static(html string) ([]byte, error) {
	policy, _, _ := strings.Cut(page.Policy, "; frame-ancestors") // which a page cannot say of itself
	policy = strings.Replace(policy, "script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'", 1)
	for _, edit := range [][2]string{
		{"<meta charset=\"utf-8\">\n", "<meta http-equiv=\"Content-Security-Policy\"\n  content=\"" +
			policy + "\">\n"},
		{"<link rel=\"stylesheet\" href=\"page/style.css\">\n",
			"<script defer src=\"page/engine.js\"></script>\n"},
	} {
		before, after, found := strings.Cut(html, edit[0])
		if !found {
			return nil, fmt.Errorf("index.html: want the line %q", edit[0])
		}
		html = before + edit[0] + edit[1] + after
	}
	return []byte(html), nil
}

// trimmed returns a script or styles without indentation, empty lines and lines of comments, but in the texts
// between backquotes.
func trimmed(text []byte) []byte {
	var out []byte
	quoted := false
	for line := range bytes.Lines(text) {
		bare := bytes.TrimLeft(line, " \t")
		if !quoted {
			if line = bare; bytes.HasPrefix(bare, []byte("//")) || len(bytes.TrimSpace(bare)) == 0 {
				continue
			}
		}
		quoted = quoted != (bytes.Count(line, []byte("`"))%2 == 1)
		out = append(out, line...)
	}
	return out
}

// packed returns the gzip of bytes.
func packed(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // a level that there is
	z.Write(b)                                              // to memory
	z.Close()
	return out.Bytes()
}

// versioned returns the service worker for files: it stores them all, under a name that no other
// files have.
func versioned(files map[string][]byte) []byte {
	names, sum := slices.Sorted(maps.Keys(files)), sha256.New()
	for _, name := range names {
		fmt.Fprintf(sum, "%s %d\n", name, len(files[name]))
		sum.Write(files[name])
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == "service.js" })
	return []byte(strings.NewReplacer("VERSION", fmt.Sprintf("%x", sum.Sum(nil)[:8]),
		`"FILES"`, `"./", "`+strings.Join(names, `", "`)+`"`).Replace(string(files["service.js"])))
}

// write writes files into a new folder, and tells their size.
func write(dir string, files map[string][]byte) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	sum := 0
	for name, b := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return err
		}
		sum += len(b)
	}
	fmt.Printf("%s: %d files, %d bytes\n", dir, len(files), sum)
	if sum > most {
		return fmt.Errorf("%s: %d bytes, want at most %d", dir, sum, most)
	}
	return nil
}
