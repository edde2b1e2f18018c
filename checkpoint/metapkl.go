package checkpoint

// nanoGPT's meta.pkl, the characters of a character-level data set: {vocab_size, stoi, itos}.
// nanoGPT keeps it with the data; here it is read if it is in the folder of ckpt.pt.

import (
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/folder"
	"picogpt/internal/format/pickle"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

const (
	metaName    = "meta.pkl"
	largestMeta = 8 << 20 // bytes: about 40 for each Unicode character
)

// hasMeta reports whether a folder has a meta.pkl.
func hasMeta(fsys fs.FS) bool {
	_, err := fs.Stat(fsys, metaName)
	return err == nil
}

// readMeta returns the vocabulary of the folder's meta.pkl, or nil if there is none. size is the
// number of the model's ids.
func readMeta(fsys fs.FS, size int) (*vocabulary, error) {
	fail := func(err error) (*vocabulary, error) {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, metaName), err)
	}
	data, err := folder.Read(fsys, metaName, largestMeta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return fail(err)
	}
	stoi, err := parseMeta(data)
	if err != nil {
		return fail(err)
	}
	t, err := tokenizer.Characters(stoi)
	if err != nil {
		return fail(err)
	}
	if t.Size() > size {
		return fail(fmt.Errorf("%d ids, but the model's vocab_size is %d", t.Size(), size))
	}
	return &vocabulary{
		load: func() (*tokenizer.Tokenizer, error) { return t, nil },
		raw:  func() ([]byte, error) { return data, nil },
	}, nil
}

// parseMeta returns stoi of a meta.pkl. It is an error if itos disagrees.
func parseMeta(data []byte) (map[string]int, error) {
	v, err := pickle.Load(data, pickle.Options{})
	if err != nil {
		return nil, err
	}
	root, ok := v.(*pickle.Dict)
	if !ok {
		return nil, fmt.Errorf("%s, want a dict of vocab_size, stoi and itos", pickle.Kind(v))
	}
	to, err := dictOf(root, "stoi")
	if err != nil {
		return nil, err
	}
	from, err := dictOf(root, "itos")
	if err != nil {
		return nil, err
	}
	stoi := make(map[string]int, len(to.Keys))
	for _, key := range to.Keys {
		text, isString := key.(string)
		v, _ := to.Get(key)
		id, isInt := v.(int64)
		if !isString || !isInt || int64(int(id)) != id {
			return nil, fmt.Errorf("stoi: %s for %s, want ids of strings", pickle.Kind(v),
				pickle.Kind(key))
		}
		if back, _ := from.Get(id); back != text {
			return nil, fmt.Errorf("stoi and itos disagree on id %d, %s", id, quote.Short(text, 20))
		}
		stoi[text] = int(id)
	}
	if len(from.Keys) != len(stoi) {
		return nil, fmt.Errorf("itos has %d ids, but stoi %d", len(from.Keys), len(stoi))
	}
	return stoi, nil
}

func dictOf(root *pickle.Dict, key string) (*pickle.Dict, error) {
	v, ok := root.Get(key)
	if !ok {
		return nil, fmt.Errorf("%s: missing, want a dict", key)
	}
	d, ok := v.(*pickle.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: %s, want a dict", key, pickle.Kind(v))
	}
	return d, nil
}
