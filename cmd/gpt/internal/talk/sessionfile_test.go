//go:build unix

package talk

// The files of sessions: which are taken, which are left alone, and that the old one stays when the
// new one cannot be written.

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/outfile"
	"picogpt/model"
)

var ctx = context.Background()

func newModel(t *testing.T, digest string, o fixture.Options) *model.Model {
	config, file := fixture.Checkpoint(o)
	return testmodel.New(t, config, file, model.Options{
		Digest: func() (string, error) { return digest, nil }})
}

// holding returns a session of some tokens.
func holding(t *testing.T, m *model.Model, ids ...int) *model.Session {
	t.Helper()
	s := m.NewSession()
	if err := m.Eval(ctx, model.Input{Session: s, Tokens: ids}); err != nil {
		t.Fatal(err)
	}
	return s
}

func contents(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestASessionIsThereInTheNextRun(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	m := newModel(t, "one", fixture.Options{})
	for run, ids := range [][]int{{3, 1, 4}, {3, 1, 4, 1, 5}, {2}} {
		f := &SessionFile{Path: path}
		s, says, problem, err := f.Restore(ctx, m)
		if err != nil || problem != "" || run == 1 && (s.Len() != 3 || string(says.Note) != "a note") {
			t.Fatalf("run %d: %d tokens, %v, %s, %v", run, s.Len(), says, problem, err)
		}
		if err := f.Save(ctx, holding(t, m, ids...), []byte("a note")); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("mode %v, want it for the owner alone: %v", info.Mode(), err)
		}
		os.Chmod(path, 0o644) // the next Save takes that back
	}
	// What the file holds already is not written again.
	before, _ := os.Stat(path)
	f := &SessionFile{Path: path}
	s, says, _, _ := f.Restore(ctx, m)
	if err := f.Save(ctx, s, says.Note); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("the same session is written again")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the folder holds %v", entries)
	}
}

func TestADamagedSessionIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	m, other := newModel(t, "one", fixture.Options{}), newModel(t, "two", fixture.Options{Seed: 2})
	if err := (&SessionFile{Path: path}).Save(ctx, holding(t, m, 3, 1, 4), nil); err != nil {
		t.Fatal(err)
	}
	good := contents(t, path)
	for _, c := range []struct {
		m             *model.Model
		file, problem string
	}{
		{other, good, `: snapshot: model: digest "one", want two`},
		{m, good[:len(good)-1], "truncated?"},
		{m, good[:len(good)-2] + "??", "want "},
		{m, good[:8] + strings.Replace(good[8:], `"F32"`, `"F99"`, 1), "here"},
	} {
		os.WriteFile(path, []byte(c.file), 0o600)
		f := &SessionFile{Path: path}
		s, _, problem, err := f.Restore(ctx, c.m)
		if err != nil || s.Len() != 0 || !strings.HasPrefix(problem, path) ||
			!strings.Contains(problem, c.problem) || strings.Contains(problem, "\n") {
			t.Errorf("%d tokens, %q, %v, want %q", s.Len(), problem, err, c.problem)
		}
		if err := f.Save(ctx, holding(t, c.m, 3, 1, 4), nil); err != nil {
			t.Error(err)
		}
		if s, _, problem, err := (&SessionFile{Path: path}).Restore(ctx, c.m); s.Len() != 3 || problem != "" {
			t.Errorf("the new file: %d tokens, %s, %v", s.Len(), problem, err)
		}
	}
}

func TestWhatIsNoSessionStays(t *testing.T) {
	dir := t.TempDir()
	m := newModel(t, "one", fixture.Options{})
	at := func(name string) string { return filepath.Join(dir, name) }
	os.WriteFile(at("notes"), []byte("not a session, and as long as the beginning of one"), 0o644)
	os.WriteFile(at("short"), []byte("x"), 0o644)
	os.WriteFile(at("empty"), nil, 0o644)
	os.Mkdir(at("folder"), 0o755)
	if err := (&SessionFile{Path: at("good")}).Save(ctx, holding(t, m, 3), nil); err != nil {
		t.Fatal(err)
	}
	os.Symlink("good", at("link"))
	os.Symlink("nowhere", at("dangling"))
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file SessionFile
		want string
	}{
		{SessionFile{Path: at("notes")}, "not a session that gpt has saved"},
		{SessionFile{Path: at("short")}, "not a session that gpt has saved: 1 bytes"},
		{SessionFile{Path: at("notes"), ReadOnly: true, Force: true}, "not a session that gpt has saved"},
		{SessionFile{Path: at("empty"), ReadOnly: true}, "not a session that gpt has saved: 0 bytes"},
		{SessionFile{Path: at("folder")}, "want a file, found a directory, a device or a pipe"},
		{SessionFile{Path: at("pipe")}, "want a file, found a directory, a device or a pipe"},
		{SessionFile{Path: "/dev/null"}, "want a file, found a directory, a device or a pipe"},
		{SessionFile{Path: "/dev/null", Force: true}, "want a file, found a directory, a device or a pipe"},
		{SessionFile{Path: at("link")}, "want the file of a session itself, found a link"},
		{SessionFile{Path: at("dangling"), Force: true}, "want the file of a session itself, found a link"},
		{SessionFile{Path: "-"}, "want a file, because it is read and then replaced"},
		{SessionFile{Path: ""}, "want a path, found nothing"},
		{SessionFile{Path: at("no/where")}, "no such file or directory"},
		{SessionFile{Path: at("missing"), ReadOnly: true}, "no such file or directory"},
		{SessionFile{Path: at("good"), Writing: outfile.Options{Inputs: inputs(at("good"))}}, "is the input"},
	} {
		_, _, _, restored := c.file.Restore(ctx, m)
		for _, err := range []error{c.file.Check(), restored} {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %s", c.file.Path, err, c.want)
			}
		}
	}
	if contents(t, at("notes"))[:5] != "not a" || contents(t, at("short")) != "x" {
		t.Error("a file has changed")
	}
	for _, f := range []SessionFile{{Path: at("notes"), Force: true}, {Path: at("empty")}} {
		if s, _, problem, err := f.Restore(ctx, m); err != nil || s.Len() != 0 || problem != "" {
			t.Errorf("%s: %d tokens, %s, %v", f.Path, s.Len(), problem, err)
		}
		if err := f.Save(ctx, holding(t, m, 3, 1), nil); err != nil {
			t.Error(err)
		}
		if s, _, _, err := (&SessionFile{Path: f.Path}).Restore(ctx, m); err != nil || s.Len() != 2 {
			t.Errorf("%s: %d tokens, %v", f.Path, s.Len(), err)
		}
	}
	// What has come in the meantime stays, too.
	f := &SessionFile{Path: at("new")}
	f.Restore(ctx, m)
	os.WriteFile(at("new"), []byte("another program's"), 0o644)
	if err := f.Save(ctx, holding(t, m, 3), nil); !errors.Is(err, model.ErrNoSnapshot) {
		t.Errorf("a file that came in the meantime: %v", err)
	}
	if contents(t, at("new")) != "another program's" {
		t.Error("a file that came in the meantime has changed")
	}
}

func inputs(path string) *outfile.Inputs {
	in := &outfile.Inputs{}
	in.Add(path, "")
	return in
}

// otherUsers is a file of another user.
type otherUsers struct{ fs.FileInfo }

func (otherUsers) Sys() any { return &syscall.Stat_t{Uid: uint32(os.Geteuid() + 1)} }

func TestAFileOfAnotherUserIsNotOwned(t *testing.T) {
	info, err := os.Stat(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !owned(info) || owned(otherUsers{info}) {
		t.Errorf("owned: %v of an own file, %v of another user's", owned(info), owned(otherUsers{info}))
	}
}

// TestTheOldSessionStays: the disk is full (a limit on the size of files), the context ends,
// the model is closed.
func TestTheOldSessionStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	m := newModel(t, "one", fixture.Options{})
	if err := (&SessionFile{Path: path}).Save(ctx, holding(t, m, 3, 1, 4), nil); err != nil {
		t.Fatal(err)
	}
	old := contents(t, path)
	s, note := holding(t, m, 1, 5), make([]byte, 6<<20)
	fails := func(ctx context.Context, want error) {
		t.Helper()
		if err := (&SessionFile{Path: path}).Save(ctx, s, note); !errors.Is(err, want) {
			t.Errorf("error %v, want %v", err, want)
		}
		entries, _ := os.ReadDir(dir)
		if !bytes.Equal([]byte(contents(t, path)), []byte(old)) || len(entries) != 1 {
			t.Errorf("%v: the old file is gone, or another is there: %v", want, entries)
		}
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := limit
	small.Cur = 4 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	fails(ctx, syscall.EFBIG)
	syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	fails(ended, context.Canceled)
	m.Close()
	fails(ctx, model.ErrClosed)
}
