// nanoGPT's meta.pkl, the characters of a character-level data set: {vocab_size, stoi, itos}. It is in
// the folder of ckpt.pt, or where nanoGPT has it, with the data.

package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/torch"
	"picogpt/tokenizer"
)

const largestMeta = 8 << 20 // bytes: about 40 for each Unicode character

// hasMeta reports whether a folder has a meta.pkl.
func hasMeta(fsys fs.FS) bool {
	_, err := fs.Stat(fsys, folder.Characters)
	return err == nil
}

// nanoMeta returns the vocabulary of a nanoGPT checkpoint, or nil if there is none. In nanoGPT's tree
// the checkpoint is out/ckpt.pt, and its config names the data set, whose files are in data/NAME. Only
// a plain name is followed, only to a meta.pkl, and only from a folder of this machine.
func nanoMeta(fsys fs.FS, root any, size int) (*vocabulary, error) {
	v, err := readMeta(fsys, size)
	dir, local := fsys.(folder.Dir)
	name := dataset(root)
	if v != nil || err != nil || !local || name == "" || hasTokenizerFile(fsys) {
		return v, err
	}
	for _, above := range []string{"..", "../.."} {
		data := folder.Dir(dir.Path(above + "/data/" + name))
		if v, err = readMeta(data, size); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// dataset returns the name of the data set that a checkpoint of nanoGPT's was trained on, if it is
// that of a folder, else "".
func dataset(root any) string {
	top, ok := root.(*torch.Dict)
	if !ok {
		return ""
	}
	v, _ := top.Get("config")
	config, ok := v.(*torch.Dict)
	if !ok {
		return ""
	}
	v, _ = config.Get("dataset")
	name, _ := v.(string)
	const longest = 255 // bytes of a name, for most file systems: a longer one is an error there
	if len(name) > longest || strings.ContainsAny(name, "/\\:\x00") || name == "." ||
		!filepath.IsLocal(name) {
		return ""
	}
	return name
}

// readMeta returns the vocabulary of the folder's meta.pkl, or nil if there is none. size is the
// number of the model's ids.
func readMeta(fsys fs.FS, size int) (*vocabulary, error) {
	fail := func(err error) (*vocabulary, error) {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, folder.Characters), err)
	}
	data, err := folder.Read(fsys, folder.Characters, largestMeta)
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
	v, err := torch.Load(data, torch.Options{})
	if err != nil {
		return nil, err
	}
	root, ok := v.(*torch.Dict)
	if !ok {
		return nil, fmt.Errorf("%s, want a dict of vocab_size, stoi and itos", torch.Kind(v))
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
			return nil, fmt.Errorf("stoi: %s for %s, want ids of strings", torch.Kind(v),
				torch.Kind(key))
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

func dictOf(root *torch.Dict, key string) (*torch.Dict, error) {
	v, ok := root.Get(key)
	if !ok {
		return nil, fmt.Errorf("%s: missing, want a dict", key)
	}
	d, ok := v.(*torch.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: %s, want a dict", key, torch.Kind(v))
	}
	return d, nil
}
