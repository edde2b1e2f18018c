// Sweep: removing the files that killed processes have left.

package outfile

import (
	"fmt"
	"hash/crc32"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// A temporary file or folder is locked as long as its process lives: one that is not locked is left
// over. Windows cannot rename open files, so there nothing is locked or swept, nor is it if the
// file system has no locks.
const locks = runtime.GOOS != "windows"

// The beginnings of the names of temporary files and folders.
const (
	beside = ".picogpt-"  // beside the wanted file or folder
	alone  = "gpt-bench-" // in the system's folder for temporary files
)

// tempName returns a name that users do not choose: its second number is a checksum of the first
// one. Earlier versions used names without it and locked nothing: such files stay.
func tempName(begin string, n uint64) string {
	first := fmt.Sprintf("%016x", n)
	return fmt.Sprintf("%s%s-%08x.tmp", begin, first, crc32.ChecksumIEEE([]byte(first)))
}

// isTempName reports whether tempName made a name. The name of a backup has a ~ at its end.
func isTempName(begin, name string) bool {
	name = strings.TrimSuffix(name, "~")
	digits, ok := strings.CutPrefix(name, begin)
	if !ok || len(digits) < 16 {
		return false
	}
	n, err := strconv.ParseUint(digits[:16], 16, 64)
	return err == nil && name == tempName(begin, n)
}

// sweep removes the temporary files and folders in dir that are not locked.
func sweep(dir, begin string) {
	if !locks {
		return
	}
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	for {
		list, err := d.ReadDir(256)
		for _, e := range list {
			if isTempName(begin, e.Name()) && (e.IsDir() || e.Type().IsRegular()) {
				removeUnlocked(join(dir, e.Name()))
			}
		}
		if err != nil || len(list) == 0 {
			return
		}
	}
}

// removeUnlocked removes a file or a folder, unless a process has locked it.
func removeUnlocked(path string) {
	if lock, swept := lockTemp(path); lock != nil && !swept {
		os.RemoveAll(path)
		lock.Close()
	}
}

// lockTemp locks a file or a folder. On a system without locks, lock is nil. If another process has
// locked it, that process is sweeping it; then, or if the path names another file by now, swept is
// true.
func lockTemp(path string) (lock *os.File, swept bool) {
	if !locks {
		return nil, false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, os.IsNotExist(err)
	}
	taken, err := TryLock(f)
	if err != nil {
		f.Close()
		return nil, false
	}
	if open, err := f.Stat(); taken || err != nil || !isAt(open, path) {
		f.Close()
		return nil, true
	}
	return f, false
}

// isAt reports whether a path still names a file.
func isAt(info os.FileInfo, path string) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(info, now)
}
