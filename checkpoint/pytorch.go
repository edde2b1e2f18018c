package checkpoint

// PyTorch files: a state dict in one file or in shards (Hugging Face's pytorch_model.bin, minGPT's
// model.pt), or what a training has saved with one in it (nanoGPT's ckpt.pt).

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/weights"
)

// isPyTorch reports whether the file is a zip, a file of the older form, or an index of shards. Some
// zips are by their names something else.
func isPyTorch(p probe) bool {
	if ext := path.Ext(p.name); ext == ".npz" || ext == ".distcp" {
		return false
	}
	return p.begins("PK\x03\x04", "PK\x05\x06") || torch.IsLegacy(p.head) || isPyTorchIndex(p.name)
}

func isPyTorchIndex(name string) bool { return strings.HasSuffix(name, ".bin.index.json") }

// openPyTorch opens a file that torch.save wrote, or an index of such files. It executes nothing in
// them.
func openPyTorch(fsys fs.FS, name string, o Options) (f found, err error) {
	s := &state{path: folder.Path(fsys, name)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if isPyTorchIndex(name) {
		if err := s.openShards(fsys, name); err != nil {
			return found{}, err
		}
		return s.open(fsys, nil, o)
	}
	file, err := s.openFile(fsys, name)
	if err == nil {
		err = s.find(file.Root)
	}
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", s.path, err)
	}
	return s.open(fsys, file.Root, o)
}

// openFile opens one of the files.
func (s *state) openFile(fsys fs.FS, name string) (*torch.File, error) {
	file, err := torch.Open(fsys, name)
	if err == nil {
		s.files = append(s.files, file)
	}
	return file, err
}

// openShards adds the tensors of the files of an index.
func (s *state) openShards(fsys fs.FS, name string) error {
	index, err := weights.ReadIndex(fsys, name)
	if err != nil {
		return err
	}
	holder := map[string]string{}
	for _, shard := range index.Shards() {
		from := len(s.names)
		file, err := s.openFile(fsys, shard)
		if err == nil {
			_, err = file.Dict()
		}
		if err == nil {
			err = s.take(file.Root)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", folder.Path(fsys, shard), err)
		}
		for _, tensor := range s.names[from:] {
			if _, twice := holder[tensor]; twice {
				return fmt.Errorf("%s: %s: there twice, want it once", folder.Path(fsys, shard),
					quote.Plain(tensor, 80))
			}
			holder[tensor] = shard
		}
	}
	return index.Check(holder)
}

func (s *state) close() (all error) {
	for _, f := range s.files {
		all = errors.Join(all, f.Close())
	}
	return all
}

// open returns the checkpoint of a state dict. root is the object that it was found in, or nil.
func (s *state) open(fsys fs.FS, root any, o Options) (found, error) {
	source := weights.Source{Name: s.path, Close: s.close}
	for _, f := range s.files {
		source.Size += f.Size()
	}
	all := make([]weights.Tensor, len(s.tensors))
	used := int64(0)
	for i, t := range s.tensors {
		var err error
		if all[i], err = t.Weights(s.names[i]); err != nil {
			return found{}, fmt.Errorf("%s: %w", s.path, err)
		}
	}
	stack, err := newStack(s.path, all)
	if errors.Is(err, errNoEmbedding) { // a config may say that this is another architecture
		if _, other := model.ReadConfigFS(fsys); other != nil && !errors.Is(other, fs.ErrNotExist) {
			err = other
		}
	}
	if err != nil {
		return found{}, err
	}
	stack.activation = s.activation
	f, fill, err := stack.config(fsys, root, o)
	if err != nil {
		return found{}, err
	}
	f.notes = append(f.notes, s.notes...)
	head, inPlace, err := s.tied(stack)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", s.path, err)
	}
	f.tied = head >= 0
	if f.config.TieWordEmbeddings && !inPlace {
		fill.tied = head
	}
	for i, t := range stack.tensors {
		if i != fill.tied {
			used += t.Size()
		}
	}
	if used > 2*source.Size { // so many tied or expanded tensors would take too much memory
		return found{}, fmt.Errorf("%s: tensors of %d bytes in a file of %d: they share storages",
			s.path, used, source.Size)
	}
	if source.Tensors, err = stack.arranged(fill); err != nil {
		return found{}, err
	}
	if f.format == "nanogpt" || !hasTokenizerFile(fsys) {
		if f.vocabulary, err = nanoMeta(fsys, root, f.config.VocabSize); err != nil {
			return found{}, err
		}
	}
	f.tensors, err = weights.New(source)
	return f, err
}

// tied returns the index of a head that is wte once more in the file; -1 if there is none. inPlace
// reports whether it need not be made.
func (s *state) tied(stack *stack) (index int, inPlace bool, err error) {
	wte := stack.index["wte.weight"]
	for _, name := range []string{"lm_head.weight", "lm_head.decoder.weight"} {
		i, ok := stack.index[name]
		if ok && s.tensors[i].Same(s.tensors[wte]) {
			inPlace, err = s.tensors[i].InPlace()
			return i, inPlace, err
		}
	}
	return -1, false, nil
}
