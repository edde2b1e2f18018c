// The zip form: data.pkl is the object; data/0, data/1, … are the storages, each as in memory. All
// are in one folder.

package torch

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"picogpt/internal/folder"

	"picogpt/internal/quote"
)

// Signatures and sizes of a zip's records (APPNOTE.TXT, 4.3).
const (
	endMagic, endSize             = "PK\x05\x06", 22
	locator64Magic, locator64Size = "PK\x06\x07", 20
	end64Magic, end64Size         = "PK\x06\x06", 56
	entryMagic, entrySize         = "PK\x01\x02", 46
	localMagic, localSize         = "PK\x03\x04", 30

	largestComment = 1<<16 - 1
	maxEntries     = 1 << 17 // GPT-2 XL with its optimizer has 1,750
)

// An archive is a zip whose directory was read. Only the directory decides about an entry: local
// headers may leave sizes out, and are read together with their entry.
type archive struct {
	file    folder.Mapped
	entries map[string]entry
}

type entry struct {
	header int64 // the offset of the local header
	size   int64
	end    int64 // the offset of the next entry, or of the directory
	method uint16
	flags  uint16
}

// readZip reads the object of a file in the zip form.
func (f *File) readZip() error {
	a, err := readArchive(f.file)
	if err != nil {
		return err
	}
	root, err := a.root()
	if err != nil {
		return err
	}
	if err := a.checkKind(root); err != nil {
		return err
	}
	object, err := a.data(root + "data.pkl")
	if err != nil {
		return fmt.Errorf("data.pkl: %w", err)
	}
	s := storages{byKey: map[string]*storage{}, apart: true, find: func(s *storage) error {
		e, ok := a.entries[root+"data/"+s.key]
		if !ok {
			return fmt.Errorf("storage %s: the archive has no such record", quote.Short(s.key, 40))
		}
		if e.size != s.size() {
			return fmt.Errorf("storage %s: a record of %d bytes, want %d numbers of %s", s.key,
				e.size, s.count, s.dtype)
		}
		s.begin = func() (int64, error) { return a.begin(e) }
		return nil
	}}
	if f.Root, err = Load(object, Options{Global: f.global, Persistent: s.persistent}); err != nil {
		return fmt.Errorf("data.pkl: %w", err)
	}
	return nil
}

// root returns the folder of data.pkl, with its slash.
func (a *archive) root() (string, error) {
	var roots []string
	for name := range a.entries {
		root, ok := strings.CutSuffix(name, "data.pkl")
		if ok && strings.IndexByte(root, '/') == len(root)-1 {
			roots = append(roots, root)
		}
	}
	arrays := func(name string) bool { return strings.HasSuffix(name, ".npy") }
	switch {
	case len(roots) == 0 && slices.ContainsFunc(slices.Collect(maps.Keys(a.entries)), arrays):
		return "", errors.New("a zip of NumPy's arrays: save them by Hugging Face's names with " +
			"safetensors.numpy.save_file")
	case len(roots) == 0:
		return "", errors.New("a zip without data.pkl: not a file of torch.save")
	case len(roots) > 1:
		slices.Sort(roots)
		return "", fmt.Errorf("data.pkl is there %d times, in %s and %s, want it once", len(roots),
			quote.Short(roots[0], 40), quote.Short(roots[1], 40))
	}
	return roots[0], nil
}

// checkKind refuses programs, other pickles, and numbers in the other byte order.
func (a *archive) checkKind(root string) error {
	names := slices.Sorted(maps.Keys(a.entries))
	for _, name := range names {
		part, ok := strings.CutPrefix(name, root)
		if ok && (part == "constants.pkl" || strings.HasPrefix(part, "code/")) {
			return fmt.Errorf("a TorchScript program (it has %s), which is not run: "+
				"save model.state_dict() with torch.save", quote.Short(part, 40))
		}
	}
	for _, name := range names {
		if name != root+"data.pkl" && (strings.HasSuffix(name, ".pkl") ||
			strings.HasSuffix(name, ".pickle")) {
			return fmt.Errorf("%s: a pickle beside data.pkl, which torch.save does not write: "+
				"refused", quote.Short(name, 80))
		}
	}
	if _, ok := a.entries[root+"byteorder"]; !ok {
		return nil
	}
	order, err := a.data(root + "byteorder")
	if err != nil {
		return fmt.Errorf("byteorder: %w", err)
	}
	if string(order) != "little" {
		return fmt.Errorf("byteorder: %s, want little", quote.Short(string(order), 20))
	}
	return nil
}

// data returns the bytes of an entry.
func (a *archive) data(name string) ([]byte, error) {
	e, ok := a.entries[name]
	if !ok {
		return nil, errors.New("the archive has no such record")
	}
	begin, err := a.begin(e)
	if err != nil {
		return nil, err
	}
	return a.file.Part(begin, e.size)
}

// begin returns the offset of the bytes of an entry.
func (a *archive) begin(e entry) (int64, error) {
	switch {
	case e.method != 0:
		return 0, errors.New("compressed, want it stored as torch.save does: " +
			"unzip it, and zip it with -0")
	case e.flags&1 != 0:
		return 0, errors.New("encrypted")
	}
	// readArchive has checked that it is within the file
	local, err := a.file.Part(e.header, localSize)
	if err != nil {
		return 0, err
	}
	if string(local[:4]) != localMagic {
		return 0, errors.New("no local header where the directory says")
	}
	begin := e.header + localSize + int64(binary.LittleEndian.Uint16(local[26:])) +
		int64(binary.LittleEndian.Uint16(local[28:]))
	if begin > e.end-e.size {
		return 0, fmt.Errorf("%d bytes at byte %d, but the next record begins at byte %d", e.size,
			begin, e.end)
	}
	return begin, nil
}

// readArchive reads the directory of a zip, and checks that no two entries share bytes or a name.
func readArchive(file folder.Mapped) (*archive, error) {
	directory, count, at, err := findDirectory(file)
	if err != nil {
		return nil, err
	}
	if count > maxEntries || count > uint64(len(directory)/entrySize) {
		return nil, fmt.Errorf("a directory of %d records in %d bytes", count, len(directory))
	}
	a := &archive{file: file, entries: make(map[string]entry, count)}
	var all []string
	for range count {
		name, e, rest, err := readEntry(directory)
		if err != nil {
			return nil, err
		}
		if _, ok := a.entries[name]; ok {
			return nil, fmt.Errorf("%s is there twice, want it once", quote.Short(name, 80))
		}
		a.entries[name] = e
		all = append(all, name)
		directory = rest
	}
	slices.SortFunc(all, func(x, y string) int {
		return cmp.Compare(a.entries[x].header, a.entries[y].header)
	})
	for i := len(all) - 1; i >= 0; i-- {
		e := a.entries[all[i]]
		if e.header > at-localSize || e.method == 0 && e.size > at-localSize-e.header {
			return nil, fmt.Errorf("%s: %d bytes at byte %d, but what follows begins at byte %d",
				quote.Short(all[i], 80), e.size, e.header, at)
		}
		e.end, at = at, e.header
		a.entries[all[i]] = e
	}
	return a, nil
}

// findDirectory returns the directory of a zip, the number of entries that it announces, and its
// offset.
func findDirectory(
	file folder.Mapped,
) (directory []byte, count uint64, at int64, err error) {
	most := min(file.Size(), endSize+largestComment)
	tail, err := file.Part(file.Size()-most, most)
	if err != nil {
		return nil, 0, 0, err
	}
	i := bytes.LastIndex(tail, []byte(endMagic))
	if i < 0 || len(tail)-i < endSize {
		return nil, 0, 0, errors.New("a zip without its directory, which is at the end: cut short?")
	}
	end := tail[i:]
	endAt := uint64(file.Size() - most + int64(i))
	count = uint64(binary.LittleEndian.Uint16(end[10:]))
	size := uint64(binary.LittleEndian.Uint32(end[12:]))
	begin := uint64(binary.LittleEndian.Uint32(end[16:]))
	if count == 1<<16-1 || size == 1<<32-1 || begin == 1<<32-1 {
		e, ok, err := findEnd64(file, endAt)
		if err != nil {
			return nil, 0, 0, err
		}
		if ok {
			count = binary.LittleEndian.Uint64(e[32:])
			size = binary.LittleEndian.Uint64(e[40:])
			begin = binary.LittleEndian.Uint64(e[48:])
		}
	}
	if begin > endAt || size > endAt-begin {
		return nil, 0, 0, fmt.Errorf("a zip whose directory has %d bytes at byte %d, but it ends "+
			"at byte %d", size, begin, endAt)
	}
	directory, err = file.Part(int64(begin), int64(size))
	return directory, count, int64(begin), err
}

// findEnd64 returns the record that large zips have before the last one.
func findEnd64(file folder.Mapped, endAt uint64) (end []byte, ok bool, err error) {
	if endAt < locator64Size {
		return nil, false, nil
	}
	locator, err := file.Part(int64(endAt-locator64Size), locator64Size)
	if err != nil {
		return nil, false, err
	}
	at := binary.LittleEndian.Uint64(locator[8:])
	if string(locator[:4]) != locator64Magic || endAt < end64Size || at > endAt-end64Size {
		return nil, false, nil
	}
	end, err = file.Part(int64(at), end64Size)
	return end, err == nil && string(end[:4]) == end64Magic, err
}

// readEntry reads the first entry of a directory.
func readEntry(directory []byte) (name string, e entry, rest []byte, err error) {
	bad := errors.New("a zip whose directory is cut short or damaged")
	if len(directory) < entrySize || string(directory[:4]) != entryMagic {
		return "", entry{}, nil, bad
	}
	u16 := func(at int) int { return int(binary.LittleEndian.Uint16(directory[at:])) }
	u32 := func(at int) uint64 { return uint64(binary.LittleEndian.Uint32(directory[at:])) }
	nameEnd := entrySize + u16(28)
	extraEnd := nameEnd + u16(30)
	end := extraEnd + u16(32)
	if end > len(directory) {
		return "", entry{}, nil, bad
	}
	packed, size, header := u32(20), u32(24), u32(42)
	if err := extend(directory[nameEnd:extraEnd], &size, &packed, &header); err != nil {
		return "", entry{}, nil, err
	}
	const most = 1 << 62
	e = entry{method: uint16(u16(10)), flags: uint16(u16(8)), size: int64(min(size, most)),
		header: int64(min(header, most))}
	if e.method == 0 && packed != size {
		return "", entry{}, nil, fmt.Errorf("%s: %d bytes stored as %d",
			quote.Short(string(directory[entrySize:nameEnd]), 80), size, packed)
	}
	return string(directory[entrySize:nameEnd]), e, directory[end:], nil
}

// extend replaces sizes that do not fit 32 bits by those of the extra field.
func extend(extra []byte, sizes ...*uint64) error {
	for len(extra) >= 4 {
		id, n := binary.LittleEndian.Uint16(extra), int(binary.LittleEndian.Uint16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			break
		}
		field := extra[:n]
		extra = extra[n:]
		if id != 1 {
			continue
		}
		for _, s := range sizes {
			if *s == 1<<32-1 && len(field) >= 8 {
				*s, field = binary.LittleEndian.Uint64(field), field[8:]
			}
		}
	}
	for _, s := range sizes {
		if *s == 1<<32-1 {
			return errors.New("a zip whose directory leaves out a size of 64 bits")
		}
	}
	return nil
}
