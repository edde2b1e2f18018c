package main

import (
	"crypto/x509"
	"flag"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
)

// TestCertificatesOfAnEmptyImage: with no file of certificates there are those of the binary. They
// are chosen when a process starts, so that the test starts itself again.
func TestCertificatesOfAnEmptyImage(t *testing.T) {
	const none = "/nonexistent"
	if os.Getenv("SSL_CERT_FILE") == none {
		if pool, err := x509.SystemCertPool(); err != nil || pool.Equal(x509.NewCertPool()) {
			t.Errorf("no certificates: %v", err)
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+none, "SSL_CERT_DIR="+none)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestTheArgumentsOfTheManifests are those that this program takes.
func TestTheArgumentsOfTheManifests(t *testing.T) {
	list := regexp.MustCompile(`image: corpus:(?:.*\n)*?\s+args:\n((?:\s+- .*\n)+)`)
	for name, want := range map[string]string{
		"taskmanager": "localhost:50000", "job": "/data/out",
	} {
		text, err := os.ReadFile("../deploy/flink/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		found := list.FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s: no arguments of corpus", name)
		}
		args := strings.Fields(strings.ReplaceAll(string(found[1]), "- ", " "))
		t.Cleanup(func() { forget(args) })
		parsed, err := parse(args, io.Discard)
		if err != nil {
			t.Fatalf("%s: %q: %v", name, args, err)
		}
		switch c := parsed.(type) {
		case *poolCommand:
			if c.Address != want {
				t.Errorf("%s: address %s, want %s", name, c.Address, want)
			}
		case *scoreCommand:
			if c.Output != want || !c.Resume || *jobopts.Parallelism != 8 {
				t.Errorf("%s: %+v", name, c)
			}
		default:
			t.Errorf("%s: %T", name, c)
		}
	}
}

// forget sets the flags of Beam that arguments have set to what they were.
func forget(args []string) {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if f := flag.Lookup(name); f != nil {
			f.Value.Set(f.DefValue)
		}
	}
}
