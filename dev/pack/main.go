// Command pack makes the archives of a release: beside each binary a tar.gz, or a zip for Windows,
// that holds the binary as gpt, its licence and those of its modules, the manual pages, the
// completions, and the README with the documents, pictures and examples that it links to.
//
//	go run ./dev/pack -man dist/man/man1 dist/gpt-v1.0.0-linux-amd64 dist/gpt-v1.0.0-windows-amd64.exe
//
// It runs from the root of the project. The same files give the same bytes: names are sorted, times
// and owners fixed.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"picogpt/internal/cli"
)

// modified is the time of every file: what they were made of has no time of its own.
var modified = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func main() {
	man := flag.String("man", "dist/man/man1", "the folder of the manual pages")
	flag.Parse()
	for _, binary := range flag.Args() {
		out, err := pack(".", *man, binary)
		if err != nil {
			fmt.Fprintln(os.Stderr, "pack:", err)
			os.Exit(1)
		}
		fmt.Println(filepath.ToSlash(out))
	}
}

// A file of an archive.
type file struct {
	name  string // below the archive's folder
	mode  os.FileMode
	bytes []byte
}

// pack writes the archive of a binary beside it, and returns its path.
func pack(root, man, binary string) (out string, err error) {
	files, err := contents(root, man, binary)
	if err != nil {
		return "", err
	}
	name, windows := strings.CutSuffix(filepath.Base(binary), ".exe")
	write, out := writeTar, strings.TrimSuffix(binary, ".exe")+".tar.gz"
	if windows {
		write, out = writeZip, strings.TrimSuffix(binary, ".exe")+".zip"
	}
	f, err := os.Create(out)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := write(f, name, files); err != nil {
		return "", err
	}
	return out, f.Close()
}

// contents are the files of an archive, whose bytes are read.
func contents(root, man, binary string) ([]file, error) {
	pages, err := filepath.Glob(filepath.Join(man, "*.1")) // sorted
	if err != nil || len(pages) == 0 {
		return nil, fmt.Errorf("%s: no manual pages, want those of gpt help --man (%v)", man, err)
	}
	gpt := "gpt"
	if strings.HasSuffix(binary, ".exe") {
		gpt += ".exe"
	}
	names := []string{gpt, "LICENSE", "LICENSES", "README.md"}
	from := map[string]string{gpt: binary}
	linked, err := links(root)
	if err != nil {
		return nil, err
	}
	names = append(names, slices.DeleteFunc(linked, func(name string) bool {
		return slices.Contains(names, name)
	})...)
	for _, name := range names[1:] {
		from[name] = filepath.Join(root, filepath.FromSlash(name))
	}
	from["LICENSES"] = filepath.Join(root, "cmd", "gpt", "LICENSES")
	for _, page := range pages {
		name := "man/man1/" + filepath.Base(page)
		names, from[name] = append(names, name), page
	}
	var files []file
	for _, name := range names {
		b, err := os.ReadFile(from[name])
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, b})
	}
	files[0].mode = 0o755
	for _, shell := range cli.Shells() {
		script, err := cli.Script(shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{"completions/gpt." + shell, 0o644, script})
	}
	return files, nil
}

var link = regexp.MustCompile(`\]\(([^):#]+)(?:#[^)]*)?\)`)

// links returns the files that the README links to, those of folders too, and all of docs. Files that
// only these link to stay in the repository.
func links(root string) (names []string, err error) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return nil, err
	}
	to := []string{"docs"}
	for _, found := range link.FindAllSubmatch(readme, -1) {
		to = append(to, string(found[1]))
	}
	for _, target := range to {
		err := fs.WalkDir(os.DirFS(root), path.Clean(target),
			func(name string, e fs.DirEntry, err error) error {
				if err == nil && !e.IsDir() {
					names = append(names, name)
				}
				return err
			})
		if err != nil {
			return nil, fmt.Errorf("README.md: a link: %w", err)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func writeTar(w io.Writer, folder string, files []file) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, f := range files {
		err := t.WriteHeader(&tar.Header{Name: path.Join(folder, f.name), Mode: int64(f.mode),
			Size: int64(len(f.bytes)), ModTime: modified, Format: tar.FormatUSTAR})
		if err != nil {
			return err
		}
		if _, err := t.Write(f.bytes); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func writeZip(w io.Writer, folder string, files []file) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: path.Join(folder, f.name), Method: zip.Deflate,
			Modified: modified}
		h.SetMode(f.mode)
		out, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := out.Write(f.bytes); err != nil {
			return err
		}
	}
	return z.Close()
}
