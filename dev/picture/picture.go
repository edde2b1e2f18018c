package picture

// The files of pictures, and parts of documents: compared, or written with the flag -update of the
// tests.

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what documents show, pictures too, as it is now")

// Update reports whether a test is to write files instead of comparing them.
func Update() bool { return *update }

const advice = "make pictures draws it anew; look at what has changed"

// Compare compares a picture with its file, or writes it.
func Compare(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		write(t, file, want)
		return
	}
	if got, err := os.ReadFile(file); err != nil {
		t.Errorf("%v: %s", err, advice)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s: not what is shown now: %s\n%s", file, advice, difference(string(got), string(want)))
	}
}

// Part compares the one part of a document that matches a pattern, or writes it.
func Part(t *testing.T, file, pattern, want string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	switch got := regexp.MustCompile(pattern).FindAllString(string(b), -1); {
	case len(got) != 1:
		t.Errorf("%s: %d times what matches %s, want once", file, len(got), pattern)
	case got[0] == want:
	case *update:
		write(t, file, []byte(strings.Replace(string(b), got[0], want, 1)))
	default:
		t.Errorf("%s has\n%s\nwant, as -update writes it,\n%s", file, got[0], want)
	}
}

// difference shows the lines of a file and of what is drawn now from the first to the last that
// differ, at most so many of each.
func difference(file, now string) string {
	const most = 12
	a, b := strings.Split(file, "\n"), strings.Split(now, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	text := ""
	for _, side := range []struct {
		mark  string
		lines []string
	}{{"- ", a}, {"+ ", b}} {
		for _, line := range side.lines[:min(len(side.lines), most)] {
			text += side.mark + line + "\n"
		}
		if more := len(side.lines) - most; more > 0 {
			text += fmt.Sprintf("%sand %d lines more\n", side.mark, more)
		}
	}
	return text
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o777)
	if err == nil {
		err = os.WriteFile(file, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// largest is the size of a PNG at most, so that a clone stays small.
const largest = 200_000

// A Shot is a page in a window, after an expression of JavaScript has been awaited, unless it is "",
// and the middle of what another one is was clicked.
type Shot struct {
	Width, Height  int
	URL, Do, Click string
}

// Page compares a PNG that a browser drew with what it was made from, or writes it: the file has the
// digest of from. No browser is needed to compare; what draws has a module of its own.
func Page(t *testing.T, file string, from [][]byte, shot func() Shot) {
	t.Helper()
	mark := digest(from)
	if *update {
		module, err := exec.Command("go", "env", "GOMOD").Output()
		if err != nil {
			t.Fatal(err)
		}
		s := shot()
		cmd := exec.Command("go", "run", "-C", filepath.Join(filepath.Dir(string(module)), "cmd/gpt/browser"),
			"./shoot", "-do", cmp.Or(s.Do, "0"), "-click", s.Click, fmt.Sprint(s.Width), fmt.Sprint(s.Height), s.URL)
		cmd.Env, cmd.Stderr = append(os.Environ(), "GOWORK=off"), os.Stderr
		png, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		write(t, file, marked(png, mark))
		return
	}
	png, err := os.ReadFile(file)
	if err != nil {
		t.Errorf("%v: %s", err, advice)
	} else if !bytes.Contains(png, mark) {
		t.Errorf("%s: made from something else than is there now: %s", file, advice)
	}
	if len(png) > largest {
		t.Errorf("%s: %d bytes, want at most %d", file, len(png), largest)
	}
}

// digest is a chunk of a PNG with the sum of what a picture was made from.
func digest(from [][]byte) []byte {
	h := sha256.New()
	for _, part := range from {
		fmt.Fprintf(h, "%d\n%s", len(part), part)
	}
	text := fmt.Sprintf("Source\x00sha256:%x", h.Sum(nil))
	b := append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), "tEXt"+text...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// marked returns a PNG with another chunk, before the last one.
func marked(png, chunk []byte) []byte {
	at := len(png) - len("\x00\x00\x00\x00IEND\xae\x42\x60\x82")
	return bytes.Join([][]byte{png[:at], chunk, png[at:]}, nil)
}
