package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestVersionsOfPython(t *testing.T) {
	for version, want := range map[string]string{
		"v0.1.0": "0.1.0", "v1.2.3-rc.1": "1.2.3rc1", "v1.2.3-beta2": "1.2.3b2", "f942006d": "0.0.0+f942006d",
		"v0.1.0-3-gf942006d-dirty": "0.0.0+v0.1.0.3.gf942006d.dirty",
	} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestNotesAreTheSection(t *testing.T) {
	const log = "# Changelog\n\n## [Unreleased]\n\n- c\n\n## [0.2.0] - 2026-12-01\n\n- b\n\n## [0.1.0]\n\n- a\n"
	for version, want := range map[string]string{"v0.2.0": "- b\n", "v0.1.0": "- a\n"} {
		if got, err := section(log, version); got != want || err != nil {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	for _, version := range []string{"v0.3.0", "v0.2"} {
		if got, err := section(log, version); err == nil {
			t.Errorf("%s: %q, want an error", version, got)
		}
	}
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if notes, err := section(string(text), "v0.1.0"); err != nil || len(strings.Fields(notes)) > 1500 {
		t.Errorf("0.1.0 has %d words, want 1,500 at most (%v)", len(strings.Fields(notes)), err)
	}
}

func TestTheImageIsTheContainerfiles(t *testing.T) {
	text, err := os.ReadFile("../../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	c, err := containerConfig(string(text))
	if err != nil || c.User != "65532:65532" || !reflect.DeepEqual(c.Entrypoint, []string{"/gpt"}) ||
		len(c.Cmd) != 3 || len(c.Env) != 1 || len(c.ExposedPorts) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := containerConfig("FROM scratch\nRUN true\n"); err == nil {
		t.Error("RUN is taken")
	}
}

// A break is what a program that compiled may no longer do, and nothing else is one.
func TestBreaksOfAnAPI(t *testing.T) {
	old := []string{"p: func F(int)", "p: type I interface", "p: type I wants A()", "p: type S struct",
		"p: type S has A int"}
	for _, c := range []struct{ now, breaks string }{
		{"p: func F(int)|p: func G()|p: type I interface|p: type I wants A()|p: type S has A int|p: type S has B int|" +
			"p: type S struct|p: type J interface|p: type J wants A()", ""},
		{"p: func F(string)|p: type I interface|p: type I wants A()|p: type S has A int|p: type S struct",
			"- p: func F(int)"},
		{"p: func F(int)|p: type I interface|p: type I wants A()|p: type I wants B()|p: type S struct",
			"- p: type S has A int|+ p: type I wants B()"},
	} {
		breaks, _ := difference(old, strings.Split(c.now, "|"))
		if got := strings.Join(breaks, "|"); got != c.breaks {
			t.Errorf("%s: breaks %q, want %q", c.now, got, c.breaks)
		}
	}
}

// A wheel has its record, its tags, and the same bytes again.
func TestAWheel(t *testing.T) {
	files := map[string][]byte{"gpt": []byte("a program"), "LICENSE": []byte("a"), "LICENSES": []byte("b")}
	var first []byte
	for range 2 {
		r := &release{version: "v0.1.0", time: time.Unix(1767225600, 0).UTC(), dist: t.TempDir()}
		if err := r.wheels([]*target{{os: "linux", arch: "amd64", files: files}}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(r.dist,
			"picogpt-0.1.0-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"))
		if err != nil || first != nil && !bytes.Equal(b, first) {
			t.Fatalf("other bytes, or %v", err)
		}
		first = b
	}
	z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	if err != nil {
		t.Fatal(err)
	}
	var lines string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if !strings.HasSuffix(f.Name, "/RECORD") {
			lines += fmt.Sprintf("%s,sha256=%s,%d\n", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(b))
		} else if want := lines + f.Name + ",,\n"; string(b) != want {
			t.Errorf("RECORD is\n%swant\n%s", b, want)
		}
		if strings.HasSuffix(f.Name, "scripts/gpt") && f.Mode() != 0o755 {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
	}
	large := map[string][]byte{"gpt": make([]byte, 0)}
	random := sha256.Sum256(nil)
	for len(large["gpt"]) < most+most/4 { // which no deflate makes smaller
		random = sha256.Sum256(random[:])
		large["gpt"] = append(large["gpt"], random[:]...)
	}
	r := &release{version: "v0.1.0", dist: t.TempDir()}
	if err := r.wheel(&target{os: "linux", arch: "amd64", files: large}); err == nil {
		t.Error("a wheel of more than 20 MiB")
	}
}
