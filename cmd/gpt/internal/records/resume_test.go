package records

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/outfile"
)

// record returns the record that the runs of these tests write for a line of an input.
func record(line int) string {
	return fmt.Sprintf("{\"line\":%d,%q:%d}\n", line, "x", line*line*line)
}

const inputLines = 12

func options(resume bool) Options {
	return Options{Resume: resume, Program: "test",
		Settings: []Setting{{Name: "model", Value: "m"}, {Name: "--top", Value: "0"}}}
}

// run opens path and writes the records that are missing, up to line last. After each line it calls
// each.
func run(t *testing.T, path string, o Options, last int, each func(f *File, line int)) *File {
	t.Helper()
	f, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	for line := f.Last().Line + 1; line <= last; line++ {
		m := Mark{Line: line, Input: fmt.Sprint("digest of ", line),
			State: []byte(fmt.Sprint(line))}
		if err := f.Write([]byte(record(line)), m); err != nil {
			t.Fatal(err)
		}
		each(f, line)
	}
	return f
}

func nothing(*File, int) {}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// whole returns the file of an uninterrupted run.
func whole(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "out")
	if err := run(t, path, options(false), inputLines, nothing).Close(); err != nil {
		t.Fatal(err)
	}
	return read(t, path)
}

// killed leaves the two files as a process that was killed after line last, and that had marked
// some lines. It returns the length of the journal before the first record.
func killed(t *testing.T, path string, last int, marked func(line int) bool) (begun int) {
	f := run(t, path, options(true), last, func(f *File, line int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if begun == 0 {
			begun = int(f.journal)
		}
		if marked(line) {
			if err := f.mark(); err != nil {
				t.Fatal(err)
			}
		}
	})
	if err := f.Start(); err != nil {
		t.Fatal(err)
	}
	if f.timer != nil {
		f.timer.Stop()
	}
	f.closeFiles(t)
	if begun == 0 {
		begun = int(f.journal)
	}
	return begun
}

// closeFiles closes a file without its last mark.
func (f *File) closeFiles(t *testing.T) {
	f.unlock()
	if err := errors.Join(f.marks.Close(), f.records.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestAKilledRunContinuesToTheSameBytes(t *testing.T) {
	cases.NotShort(t)
	want := whole(t)
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		path := filepath.Join(dir, fmt.Sprint(round))
		if round%3 == 0 { // after a run that has ended
			if err := run(t, path, options(false), rng.IntN(4), nothing).Close(); err != nil {
				t.Fatal(err)
			}
		}
		begun := killed(t, path, 1+rng.IntN(inputLines), func(int) bool { return rng.IntN(3) == 0 })
		// The kill came within a record, within a line of the journal, or a power failure took
		// more.
		records, marks := read(t, path), read(t, path+".resume")
		put(t, path, records[:rng.IntN(len(records)+1)])
		put(t, path+".resume", marks[:begun+rng.IntN(len(marks)-begun+1)])
		f := run(t, path, options(true), inputLines, nothing)
		if last := f.Last(); last.Line > 0 && string(last.State) != fmt.Sprint(last.Line) {
			t.Fatalf("%+v: another line's state", last)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want {
			t.Fatalf("round %d: %q, want %q", round, got, want)
		}
	}
}

func TestAnEndedRunContinuesWhenTheInputGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	for _, last := range []int{0, 4, 4, 9, inputLines} {
		f := run(t, path, options(true), last, nothing)
		if err := errors.Join(f.Start(), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := read(t, path), whole(t); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMarksComeWithoutBeingAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f := run(t, path, options(false), 3, nothing)
	f.markLater() // the timer, early
	f.closeFiles(t)
	again, err := Open(path, options(true))
	if err != nil {
		t.Fatal(err)
	}
	if again.Last().Line != 3 {
		t.Errorf("continues after line %d, want 3", again.Last().Line)
	}
}

func TestNothingChangesBeforeTheFirstRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	killed(t, path, 5, func(line int) bool { return line == 3 })
	records, marks := read(t, path), read(t, path+".resume")
	for _, resume := range []bool{false, true} {
		o := options(resume)
		o.Force = !resume
		f, err := Open(path, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if read(t, path) != records || read(t, path+".resume") != marks {
			t.Errorf("resume %t: a file changed without a record", resume)
		}
	}
}

func TestWhatCannotBeContinuedIsRefusedAndStays(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string, o *Options)
		want   string
	}{
		"no journal": {func(path string, o *Options) { os.Remove(path + ".resume") },
			"out: want "},
		"journal of zero": {func(path string, o *Options) { put(t, path+".resume", "") },
			"out.resume: cut off within its first line"},
		"half a header": {func(path string,
			o *Options) {
			put(t, path+".resume", `{"program":"te`)
		}, "out.resume: cut off"},
		"no header": {func(path string,
			o *Options) {
			put(t, path+".resume", "{\"line\":1}\n")
		}, "out.resume: line 1 is none"},
		"other lines": {func(path string, o *Options) {
			put(t, path+".resume", read(t, path+".resume")+"precious\n")
		}, "out.resume: line 3 is none"},
		"another program": {func(path string, o *Options) { o.Program = "other" },
			`out: "test" wrote it, not "other"`},
		"another model": {func(path string, o *Options) {
			o.Settings = []Setting{{Name: "model", Value: "n"},
				{Name: "--top", Value: "0"}}
		},
			"out: begun with another model: m, now n"},
		"a new option": {func(path string, o *Options) {
			o.Settings = append(o.Settings,
				Setting{Name: "--bos", Value: "true"})
		},
			"out: begun without --bos, now with true"},
		"an option less": {func(path string, o *Options) { o.Settings = o.Settings[:1] },
			"out: begun with --top 0, now without"},
		"changed records": {func(path string, o *Options) {
			put(t, path, strings.Replace(read(t, path), `"x":1`, `"x":2`, 1))
		}, "out: its first 52 bytes were changed"},
		"another file": {func(path string, o *Options) {
			put(t, path,
				strings.Repeat("precious", 99))
		}, "out: its first 52 bytes were changed"},
		"records after the end": {func(path string, o *Options) {
			put(t, path, read(t, path)+record(5))
		}, "out: 71 bytes, want the 52 that were written"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			if err := run(t, path, options(false), 3, nothing).Close(); err != nil {
				t.Fatal(err)
			}
			o := options(true)
			c.change(path, &o)
			records := read(t, path)
			_, err := Open(path, o)
			var mismatch *MismatchError
			if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if read(t, path) != records {
				t.Error("the records changed")
			}
		})
	}
}

func TestAFreeSettingIsThatOfTheBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	free := func(resume bool, value string) Options {
		o := options(resume)
		o.Free = []Setting{{Name: "--seed", Value: value}}
		return o
	}
	if err := run(t, path, free(false, "7"), 3, nothing).Close(); err != nil {
		t.Fatal(err)
	}
	f := run(t, path, free(true, "8"), 4, nothing)
	if got := f.Setting("--seed"); got != "7" {
		t.Errorf("the seed of a continued file is %s, want 7", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	asked := options(true)
	asked.Settings = append(asked.Settings, Setting{Name: "--seed", Value: "8"})
	_, err := Open(path, asked)
	if err == nil || !strings.Contains(err.Error(), "begun with another --seed: 7, now 8") {
		t.Errorf("another seed that was asked for: %v", err)
	}
	asked.Settings[len(asked.Settings)-1].Value = "7"
	if f, err := Open(path, asked); err != nil || f.Setting("--seed") != "7" {
		t.Errorf("the same seed, asked for: %v", err)
	}
}

func TestTextAfterTheLastMarkOfAKilledRunIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	for _, tail := range []string{"precious\n", record(5) + "precious\n"} {
		killed(t, path, 4, func(line int) bool { return line == 2 })
		put(t, path, read(t, path)+tail)
		if _, err := Open(path, options(true)); err == nil ||
			!strings.Contains(err.Error(), "follows its first") {
			t.Errorf("%q: %v, want that more follows", tail, err)
		}
		os.Remove(path)
	}
}

func TestOtherFilesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	put(t, path+".resume", "precious\n")
	for _, resume := range []bool{false, true} {
		if _, err := Open(path, options(resume)); !errors.Is(err, outfile.ErrExists) {
			t.Errorf("resume %t: %v, want that the journal's name is taken", resume, err)
		}
	}
	for _, o := range []Options{{Resume: true}, {Options: outfile.Options{Force: true}}} {
		o.Inputs = &outfile.Inputs{}
		o.Inputs.Add(path+".resume", "")
		if _, err := Open(path, o); !errors.Is(err, outfile.ErrInput) &&
			!errors.Is(err, outfile.ErrExists) {
			t.Errorf("%v, want that the journal's name is the input's", err)
		}
		if _, err := Open(path+".resume", o); !errors.Is(err, outfile.ErrInput) {
			t.Errorf("%v, want that it is the input", err)
		}
	}
	if got := read(t, path+".resume"); got != "precious\n" {
		t.Errorf("the other file holds %q", got)
	}
	dir := filepath.Dir(path)
	if _, err := Open(dir, options(true)); err == nil ||
		!strings.Contains(err.Error(), "found a directory") {
		t.Errorf("a directory: %v", err)
	}
}

func TestAnUnwritableFileLeavesNoJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f, err := Open(path, options(false))
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, "it came meanwhile")
	if err := f.Write([]byte(record(1)), Mark{Line: 1}); !errors.Is(err, outfile.ErrExists) {
		t.Errorf("%v, want that the file is there", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path + ".resume"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want no journal", err)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	f := run(t, path, options(false), 3, nothing)
	probe, err := os.Open(path + ".resume")
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if taken, _ := outfile.TryLock(probe); !taken || runtime.GOOS == "windows" {
		t.Skip("a system without locks")
	}
	forced := options(false)
	forced.Force = true
	for _, o := range []Options{options(true), forced} {
		var mismatch *MismatchError
		other, err := Open(path, o)
		if err == nil {
			err = other.Write([]byte(record(4)), Mark{Line: 4})
		}
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "another process") {
			t.Errorf("%v, want that another process writes to it", err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f = run(t, path, options(true), inputLines, nothing)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := read(t, path), whole(t); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAPipeInPlaceOfAJournalIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	if err := exec.Command("mkfifo", path+".resume").Run(); err != nil {
		t.Skip("a system without mkfifo")
	}
	for _, resume := range []bool{false, true} {
		if _, err := Open(path, options(resume)); !errors.Is(err, outfile.ErrExists) {
			t.Errorf("resume %t: %v, want that the journal's name is taken", resume, err)
		}
	}
	put(t, path, record(1))
	if _, err := Open(path, options(true)); !errors.Is(err, outfile.ErrExists) {
		t.Errorf("%v, want that the journal's name is taken", err)
	}
}

// A journal of before an option existed continues while the option has its default.
func TestANewOptionWithItsDefaultContinues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	begin := func(resume bool, value string) error {
		f, err := Open(path, Options{Program: "test", Resume: resume, Settings: []Setting{
			{Name: "model", Value: "m"}, {Name: "--new", Value: value, Default: "1"}}})
		if err == nil {
			err = errors.Join(f.Start(), f.Close())
		}
		return err
	}
	if err := begin(false, "1"); err != nil {
		t.Fatal(err)
	}
	if text := read(t, path+".resume"); strings.Contains(text, "--new") {
		t.Errorf("the journal holds a default: %s", text)
	}
	if err := begin(true, "1"); err != nil {
		t.Error(err)
	}
	want := "out: begun with another --new: 1, now 2"
	if err := begin(true, "2"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestASettingIsKnownBeforeAFileIsOpened: programs choose by it what the others are.
func TestASettingIsKnownBeforeAFileIsOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	began := func(name, want string, wantOK bool) {
		t.Helper()
		if got, ok := Began(path, name); got != want || ok != wantOK {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, ok, want, wantOK)
		}
	}
	began("model", "", false) // no file
	if err := run(t, path, options(false), 3, nothing).Close(); err != nil {
		t.Fatal(err)
	}
	began("model", "m", true)
	began("rules", "", true)
	put(t, path+".resume", "{}\n")
	began("model", "", false)
	if err := os.Remove(path + ".resume"); err != nil {
		t.Fatal(err)
	}
	began("model", "", false)
}
