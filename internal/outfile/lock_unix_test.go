//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package outfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestALockIsTakenUntilItsFileIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	for range 2 {
		first, second := open(), open()
		for _, try := range []struct {
			f     *os.File
			taken bool
		}{{first, false}, {second, true}, {first, false}} {
			if taken, err := TryLock(try.f); taken != try.taken || err != nil {
				t.Errorf("taken %v, error %v, want taken %v", taken, err, try.taken)
			}
		}
		first.Close()
		if taken, err := TryLock(second); taken || err != nil {
			t.Errorf("after the other is closed: taken %v, error %v", taken, err)
		}
		second.Close()
	}
}

func TestSharedLocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	var files [3]*os.File
	for i := range files {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	for i, try := range []func(*os.File) (bool, error){TryLockShared, TryLockShared, TryLock} {
		if taken, err := try(files[i]); taken != (i == 2) || err != nil {
			t.Errorf("%d: taken %v, error %v", i, taken, err)
		}
	}
	files[0].Close()
	files[1].Close()
	if taken, err := TryLock(files[2]); taken || err != nil {
		t.Errorf("after both are closed: taken %v, error %v", taken, err)
	}
}

func TestAnInterruptedCallIsMadeAgain(t *testing.T) {
	for _, end := range []struct {
		err   error
		taken bool
	}{{nil, false}, {syscall.EWOULDBLOCK, true}, {syscall.ENOLCK, false}} {
		calls := 0
		taken, err := tryWith(func() error {
			if calls++; calls < 4 {
				return syscall.EINTR
			}
			return end.err
		})
		if calls != 4 || taken != end.taken || (err == nil) != (end.err == nil || end.taken) {
			t.Errorf("%d calls, taken %v, error %v; want 4, %v for %v", calls, taken, err,
				end.taken, end.err)
		}
	}
	if _, err := tryWith(func() error { return syscall.ENOLCK }); !errors.Is(err, syscall.ENOLCK) {
		t.Errorf("error %v, want %v", err, syscall.ENOLCK)
	}
}
