// The form before the zip form: five pickles, then the storages, each after the number of its
// elements.

package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"

	"picogpt/internal/folder"

	"picogpt/internal/quote"
)

// readLegacy reads the object of a file in the older form.
func (f *File) readLegacy() error {
	const usual, most = 256 << 10, 16 << 20 // bytes of all pickles; Read takes no more
	n := f.Size()
	if f.file.IsFar() {
		n = min(n, usual)
	}
	for {
		start, err := f.file.Part(0, n)
		if err == nil {
			err = f.readPickles(start)
		}
		if n >= min(f.Size(), most) || !errors.Is(err, ErrShort) {
			return err
		}
		n = min(2*n, f.Size())
	}
}

// readPickles reads the object, of which the bytes are a beginning of the file.
func (f *File) readPickles(file []byte) error {
	s := storages{byKey: map[string]*storage{}, find: func(*storage) error { return nil }}
	d := NewDecoder(file, Options{Global: f.global, Persistent: s.persistent})
	if err := readPreamble(d); err != nil {
		return err
	}
	var err error
	if f.Root, err = d.Next(); err != nil {
		return err
	}
	keys, err := d.Next()
	if err != nil {
		return fmt.Errorf("the list of storages: %w", err)
	}
	end, err := s.locate(f.file, int64(d.Offset()), keys)
	if err == nil && end != f.Size() {
		err = fmt.Errorf("%d bytes after the last storage", f.Size()-end)
	}
	return err
}

// readPreamble reads the pickles before the object: a magic number, a version, and the machine on
// which the file was saved.
func readPreamble(d *Decoder) error {
	magic, err := d.Next()
	if err != nil {
		return err
	}
	if n, ok := magic.(*big.Int); !ok || n.Text(16) != "1950a86a20f9469cfc6c" {
		return errors.New("not a file of torch.save: another magic number")
	}
	version, err := d.Next()
	if err != nil {
		return err
	}
	if version != int64(1001) {
		return fmt.Errorf("protocol version: %s, want 1001", number(version))
	}
	info, err := d.Next()
	if err != nil {
		return fmt.Errorf("what machine it was saved on: %w", err)
	}
	machine, ok := info.(*Dict)
	if !ok {
		return fmt.Errorf("what machine it was saved on: %s, want a dict", Kind(info))
	}
	if little, _ := machine.Get("little_endian"); little != true {
		return errors.New("little_endian: not True: numbers in the other byte order")
	}
	return nil
}

// number shows a value in errors that want an integer.
func number(v any) string {
	if n, ok := v.(int64); ok {
		return fmt.Sprint(n)
	}
	return Kind(v)
}

// locate finds the storages in the order of their keys, from byte at on, and returns the end of the
// last one.
func (s *storages) locate(file folder.Mapped, at int64, keys any) (int64, error) {
	list, ok := keys.(*List)
	if !ok {
		return 0, fmt.Errorf("the list of storages: %s, want a list", Kind(keys))
	}
	if len(list.Items) != len(s.byKey) {
		return 0, fmt.Errorf("a list of %d storages, but the tensors have %d", len(list.Items),
			len(s.byKey))
	}
	for _, key := range list.Items {
		name, _ := key.(string)
		x, ok := s.byKey[name]
		if !ok {
			return 0, fmt.Errorf("storage %s, which no tensor has", quote.Short(name, 40))
		}
		if x.begin != nil {
			return 0, fmt.Errorf("storage %s is listed twice", quote.Short(name, 40))
		}
		size := x.size()
		if left := file.Size() - at - 8; size > left {
			return 0, fmt.Errorf("storage %s: %d numbers of %s, but only %d bytes are left: "+
				"cut short?", quote.Short(name, 40), x.count, x.dtype, max(0, left))
		}
		from := at
		x.begin = func() (int64, error) {
			count, err := file.Part(from, 8)
			if err != nil {
				return 0, err
			}
			if n := int64(binary.LittleEndian.Uint64(count)); n != x.count {
				return 0, fmt.Errorf("%d numbers, but the object says %d", n, x.count)
			}
			return from + 8, nil
		}
		at += 8 + size
	}
	return at, nil
}
