// A damaged journal is not continued to a wrong file.

package records

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"
)

// journalOfAKilledRun writes a file that ends in the middle of its records, and returns it with its
// journal.
func journalOfAKilledRun(t *testing.T, path string) (records, journal string) {
	t.Helper()
	killed(t, path, 3, func(line int) bool { return line == 1 || line == 3 })
	return read(t, path), read(t, path+".resume")
}

func TestNoFlippedBitOfAJournalChangesWhatIsWritten(t *testing.T) {
	want := whole(t)
	path := filepath.Join(t.TempDir(), "out")
	records, journal := journalOfAKilledRun(t, path)
	refused := 0
	for i := range 8 * len(journal) {
		damaged := []byte(journal)
		damaged[i/8] ^= 1 << (i % 8)
		if _, err := readJournal(bytes.NewReader(damaged), int64(len(records))); err != nil {
			refused++
			continue
		}
		put(t, path, records)
		put(t, path+".resume", string(damaged))
		if err := run(t, path, options(true), inputLines, nothing).Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want {
			t.Fatalf("bit %d of byte %d: %q is continued to %q, want %q", i%8, i/8, damaged, got,
				want)
		}
	}
	if most := 8 * len(journal); refused < most-16 { // but for the end of the last line
		t.Errorf("%d of %d flipped bits are refused", refused, most)
	}
}

// TestAJournalWithoutDigestsIsContinued has a journal of an earlier version.
func TestAJournalWithoutDigestsIsContinued(t *testing.T) {
	want := whole(t)
	path := filepath.Join(t.TempDir(), "out")
	_, journal := journalOfAKilledRun(t, path)
	old := regexp.MustCompile(`,"sum":"[0-9a-f]{64}"`).ReplaceAllString(journal, "")
	if old == journal {
		t.Fatalf("no digests in %q", journal)
	}
	put(t, path+".resume", old)
	for _, unsealed := range []bool{true, true} { // its first lines stay as they are
		f := run(t, path, options(true), inputLines, nothing)
		if f.Unsealed() != unsealed {
			t.Errorf("lines without digests: %v, want %v", f.Unsealed(), unsealed)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := read(t, path); got != want {
			t.Errorf("continued to %q, want %q", got, want)
		}
	}
	for _, key := range []string{"line", "input", "bytes", "output", "state", "program", "settings"} {
		put(t, path+".resume", regexp.MustCompile(`"`+key+`":`).ReplaceAllString(old, `"x":`))
		if _, err := Open(path, options(true)); err == nil {
			t.Errorf("a journal without %s is continued", key)
		}
	}
}
