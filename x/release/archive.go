package main

// The archives of make dist, which are read, and those that packages are.

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// A target is a binary of the release with its system, and its archive.
type target struct {
	os, arch string            // Go's
	name     string            // gpt-v0.1.0-linux-amd64
	exe      string            // ".exe" or ""
	archive  string            // path
	files    map[string][]byte // of the archive, by their names below its folder
}

// targets are the archives of the folder, with what is in them.
func (r *release) targets() (all []*target, err error) {
	prefix := "gpt-" + r.version + "-"
	archives, err := filepath.Glob(filepath.Join(r.dist, prefix+"*")) // sorted
	for _, archive := range archives {
		name, isTar := strings.CutSuffix(archive, ".tar.gz")
		name, isZip := strings.CutSuffix(name, ".zip")
		if !isTar && !isZip {
			continue
		}
		t := &target{archive: archive, name: filepath.Base(name)}
		t.os, t.arch, _ = strings.Cut(strings.TrimPrefix(t.name, prefix), "-")
		read := readTar
		if isZip {
			t.exe, read = ".exe", readZip
		}
		b, err := os.ReadFile(archive)
		if err == nil {
			t.files, err = read(b)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		all = append(all, t)
	}
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: no archives of %s, want those of make dist", r.dist, r.version)
	}
	return all, err
}

// gpt is the program.
func (t *target) gpt() []byte { return t.files["gpt"+t.exe] }

// below is a file's name without the folder of the archive.
func below(name string) string {
	_, name, _ = strings.Cut(name, "/")
	return name
}

func readTar(b []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[below(h.Name)], err = io.ReadAll(t); err != nil {
			return nil, err
		}
	}
}

func readZip(b []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			files[below(f.Name)], err = io.ReadAll(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// A member is a file of an archive that is written.
type member struct {
	name  string
	mode  os.FileMode
	bytes []byte
}

// tarball is a tar of files.
func (r *release) tarball(files []member) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.bytes)),
			ModTime: r.time, Format: tar.FormatUSTAR}
		err := t.WriteHeader(h)
		if err == nil {
			_, err = t.Write(f.bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	err := t.Close() // before the bytes are taken
	return b.Bytes(), err
}

func zipped(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	return out.Bytes(), err
}
