// Pull: the files that make a checkpoint, from the hub into the cache.

package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/weights"
)

// Pull downloads the files of a checkpoint that the cache does not have, and returns its snapshot:
// config.json, the weights (model.safetensors, else its shards, else pytorch_model.bin, else its
// shards, else the only other file of weights) and the tokenizer's files. If files is given, it
// downloads those, and the shards that an index of them lists, and no others.
//
// A revision that is a commit needs no request if the cache has everything. For any other revision
// Pull asks the hub for its commit; if the hub is out of reach, Pull returns what the cache has,
// and tells Options.Progress.
//
// After an error, or when the context ends, complete files stay in the cache. What came of the next
// one stays too, under another name: the next Pull continues after it, or removes it if it is wrong.
// Errors name the repository and the file, and wrap the errors of this package.
func Pull(ctx context.Context, name Name, o Options, files ...string) (*Snapshot, error) {
	switch {
	case ctx == nil:
		return nil, errNoContext
	case o.Cache == "":
		return nil, ErrNoCache
	}
	r, err := newRepo(name, o.withDefaults(), newStore(name, o))
	if err != nil {
		return nil, err
	}
	defer r.close()
	for _, file := range files {
		if err := checkFile(file); err != nil {
			return nil, fmt.Errorf("%s: %w", name.Repo, err)
		}
	}
	if o.Folder != "" {
		if err := checkFile(o.Folder); err != nil {
			return nil, fmt.Errorf("%s: folder: %w", name.Repo, err)
		}
	}
	first := folder.Config
	if len(files) > 0 {
		first = files[0]
	}
	if err := r.settle(ctx, r.at(first)); err != nil {
		return nil, err
	}
	var damaged []string
	if o.Verify {
		if damaged, err = r.mend(ctx); err != nil {
			return nil, err
		}
	}
	if len(files) > 0 {
		if files, err = r.whole(ctx, files); err == nil {
			err = r.wantAll(ctx, files, files)
		}
	} else {
		err = r.choose(ctx)
	}
	for _, file := range damaged {
		if err == nil {
			_, err = r.findAt(ctx, file)
			r.want(file)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := r.takeAll(ctx); err != nil {
		return nil, err
	}
	if err := r.store.setRef(name.revision(), r.commit); err != nil {
		return nil, err
	}
	return &Snapshot{Name: name, Commit: r.commit, Dir: r.store.snapshot(r.commit)}, nil
}

// takeAll downloads the planned files, if the disk has room for all of them.
func (r *repo) takeAll(ctx context.Context) error {
	if len(r.plan) > 0 {
		if err := r.store.open(); err != nil {
			return err
		}
		missing := r.total - r.done
		for _, m := range r.plan {
			missing -= r.store.left(m)
		}
		if err := r.room(missing); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	for _, m := range r.plan {
		limit := int64(maxFile)
		if isSmall(path.Base(m.file)) {
			limit = maxSmall
		}
		if err := r.take(ctx, m, limit); err != nil {
			return err
		}
	}
	return nil
}

// isSmall reports whether a file is known not to hold weights.
func isSmall(file string) bool {
	return file == folder.Config || slices.Contains(companions[:], file) ||
		path.Ext(file) == path.Ext(folder.ChatTemplate)
}

// companions are the files besides the weights that a checkpoint may have, without config.json.
var companions = [...]string{
	folder.Generation, folder.Tokenizer, folder.Vocab, folder.Merges, folder.AddedTokens,
	folder.SpecialTokens, folder.TokenizerConfig, folder.VocabText, folder.Pieces,
	folder.OtherPieces, folder.ChatTemplate, folder.ChatTemplateJSON, folder.Characters,
}

// weightsNames are the names of weights that stand beside a config.json, the best first.
var weightsNames = [...]string{
	folder.Safetensors, folder.SafetensorsIndex,
	folder.PyTorch, folder.PyTorchIndex,
}

// choose plans the download of all that a checkpoint needs. The weights come last: a checkpoint
// whose tokenizer is missing could be taken for one with another tokenizer.
func (r *repo) choose(ctx context.Context) error {
	const config = folder.Config
	if r.o.Part != "" {
		found, err := r.withPart(ctx)
		if err != nil {
			return err
		}
		return r.wantAll(ctx, found, found)
	}
	has, err := r.find(ctx, config)
	if err != nil {
		return err
	}
	if has {
		b, err := r.read(ctx, config, maxIndex)
		if err == nil && r.o.CheckConfig != nil {
			if err = r.o.CheckConfig(b); err != nil {
				err = fmt.Errorf("%s/%s: %w", r.name.Repo, r.at(config), err)
			}
		}
		if err != nil {
			return err
		}
	}
	names, err := r.weights(ctx, has)
	if err != nil {
		return err
	}
	if len(names) == 0 { // the hub cannot be asked
		return r.adapterAlone(ctx)
	}
	templates, err := r.templates(ctx)
	if err != nil {
		return err
	}
	return r.wantAll(ctx, slices.Concat(companions[:], templates, names), names)
}

// templates returns the chat templates beside chat_template.jinja, if the repository has that.
func (r *repo) templates(ctx context.Context) ([]string, error) {
	has, err := r.find(ctx, folder.ChatTemplate)
	if !has || err != nil || r.alone != nil {
		return nil, err
	}
	files, err := r.listed(ctx)
	return slices.DeleteFunc(files, func(file string) bool {
		return path.Dir(file) != folder.ChatTemplates || path.Ext(file) != ".jinja"
	}), err
}

// withPart returns the one GGUF file that Options.Part names.
func (r *repo) withPart(ctx context.Context) ([]string, error) {
	var files []string
	if r.alone == nil {
		var err error
		if files, err = r.listed(ctx); err != nil {
			return nil, err
		}
	} else {
		s := Snapshot{Dir: filepath.Join(r.store.snapshot(r.commit), native(r.o.Folder))}
		files = s.Files()
	}
	found := WithPart(files, r.o.Part)
	if len(found) == 1 {
		return found, nil
	}
	if len(found) == 0 {
		found = slices.DeleteFunc(files, func(name string) bool { return path.Ext(name) != ".gguf" })
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %s: %w, of which GGUF files are some", r.name.Repo,
			quote.Plain(r.o.Part, 40), ErrNoWeights)
	}
	return nil, fmt.Errorf("%s: %s: %w: %s", r.name.Repo, quote.Plain(r.o.Part, 40), ErrChoose,
		few(found))
}

// WithPart returns the GGUF files whose names have a part, in any case: gpt2.Q4_K_M.gguf has the
// parts gpt2 and Q4_K_M, and not Q4_K.
func WithPart(files []string, part string) (found []string) {
	for _, name := range files {
		base, is := strings.CutSuffix(strings.ToLower(path.Base(name)), ".gguf")
		parts := strings.FieldsFunc(base, func(r rune) bool { return r == '.' || r == '-' })
		if is && slices.Contains(parts, strings.ToLower(part)) {
			found = append(found, name)
		}
	}
	return found
}

// adapterFiles are those of a LoRA adapter, of which one of the two last is there.
var adapterFiles = [...]string{
	folder.AdapterConfig, folder.Adapter, folder.AdapterPyTorch,
}

// adapterAlone plans an adapter that the cache has, while the hub cannot be asked.
func (r *repo) adapterAlone(ctx context.Context) error {
	cached, err := r.there(ctx, len(adapterFiles), adapterFiles[:])
	if err != nil {
		return err
	}
	if len(cached) < 2 {
		return r.lacks("weights")
	}
	return r.wantAll(ctx, append(slices.Clone(companions[:]), cached...), cached)
}

// listedWeights returns the files of the only checkpoint in the list of a repository's files.
func (r *repo) listedWeights(ctx context.Context) ([]string, error) {
	listed, err := r.listed(ctx)
	if err != nil {
		return nil, err
	}
	only, err := onlyCheckpoint(listed)
	var in *FolderError
	if errors.As(err, &in) {
		in.Repo = r.name.Repo
		for i, dir := range in.Folders {
			in.Folders[i] = r.at(dir)
		}
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name.Repo, err)
	}
	return only, nil
}

// listed returns the files of the repository in the checkpoint's folder, relative to it.
func (r *repo) listed(ctx context.Context) (files []string, err error) {
	all, err := r.list(ctx)
	if r.o.Folder == "" {
		return all, err
	}
	for _, name := range all {
		if rest, in := strings.CutPrefix(name, r.o.Folder+"/"); in {
			files = append(files, rest)
		}
	}
	if err == nil && len(files) == 0 {
		err = &noFile{r.commit, r.name.Repo, r.o.Folder + "/"}
	}
	return files, err
}

// lacks returns the error for something that the cache does not have while the hub cannot be asked.
func (r *repo) lacks(what string) error {
	return fmt.Errorf("%s: the cache has no %s of it, and %w", r.name, what, r.alone)
}

// wantAll plans the download of those of files that the repository has. A needed file that it does
// not have is an error.
func (r *repo) wantAll(ctx context.Context, files, needed []string) error {
	for _, file := range files {
		has, err := r.find(ctx, file)
		if err != nil {
			return err
		}
		if !has && slices.Contains(needed, file) {
			if r.alone != nil {
				return r.lacks(r.at(file))
			}
			return &noFile{r.commit, r.name.Repo, r.at(file)}
		}
		r.want(r.at(file))
	}
	return nil
}

// weights returns the files of the weights: the one that Options.Part names or, where there is a
// config.json, the best that stands beside it, or else the only checkpoint of all files. It returns
// nil if there are none and the hub cannot be asked.
func (r *repo) weights(ctx context.Context, hasConfig bool) (names []string, err error) {
	switch {
	case r.o.Part != "":
		names, err = r.withPart(ctx)
	case hasConfig:
		names, err = r.there(ctx, 1, weightsNames[:])
	}
	if err == nil && len(names) == 0 && r.alone == nil {
		names, err = r.listedWeights(ctx)
	}
	if err != nil {
		return nil, err
	}
	return r.whole(ctx, names)
}

// there returns the first of the files that the repository has, so many at most.
func (r *repo) there(ctx context.Context, most int, files []string) (names []string, err error) {
	for _, name := range files {
		has := false
		if len(names) < most && err == nil {
			has, err = r.find(ctx, name)
		}
		if has {
			names = append(names, name)
		}
	}
	return names, err
}

// whole returns files and, before each that is an index of shards, the shards.
func (r *repo) whole(ctx context.Context, files []string) (all []string, err error) {
	for _, name := range files {
		if ext := path.Ext(folder.Indexed(name)); ext == ".safetensors" || ext == ".bin" {
			has, err := r.find(ctx, name)
			var shards []string
			if err == nil && has {
				shards, err = r.shards(ctx, name)
			}
			if err != nil {
				return nil, err
			}
			all = append(all, shards...)
		}
		all = append(all, name)
	}
	return all, nil
}

// shards returns the files that an index lists, which lie beside it.
func (r *repo) shards(ctx context.Context, index string) ([]string, error) {
	b, err := r.read(ctx, index, maxIndex)
	if err != nil {
		return nil, err
	}
	names, err := weights.Shards(b)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", r.name.Repo, r.at(index), err)
	}
	for i, name := range names {
		names[i] = path.Join(path.Dir(index), name)
		if err := checkFile(names[i]); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", r.name.Repo, r.at(index), err)
		}
	}
	return names, nil
}

// onlyCheckpoint returns the files of the only checkpoint in a repository's list, by the rules that
// checkpoint.Open has for a folder. Several give ErrChoose, those in folders a FolderError, none
// gives ErrNoWeights.
func onlyCheckpoint(listed []string) ([]string, error) {
	var others []string
	below := map[string][]string{} // folder -> its files
	top := slices.DeleteFunc(slices.Clone(listed), func(name string) bool {
		switch ext := path.Ext(name); {
		case slices.Contains([]string{".h5", ".msgpack", ".onnx", ".ot", ".npz"}, ext):
			others = append(others, name)
		case strings.Contains(name, "/"):
			below[path.Dir(name)] = append(below[path.Dir(name)], path.Base(name))
		}
		return strings.Contains(name, "/")
	})
	maps.DeleteFunc(below, func(_ string, names []string) bool {
		return len(checkpoint.Candidates(names)) == 0
	})
	switch found := checkpoint.Candidates(top); {
	case len(found) == 1:
		return append(tensorflow(top, found[0]), found[0]), nil
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %s", ErrChoose, few(found))
	case slices.Contains(top, adapterFiles[0]):
		for _, name := range adapterFiles[1:] {
			if slices.Contains(top, name) {
				return []string{adapterFiles[0], name}, nil
			}
		}
		return nil, fmt.Errorf("%w, only %s", ErrNoWeights, adapterFiles[0])
	case len(below) > 0:
		return nil, &FolderError{Folders: slices.Sorted(maps.Keys(below))}
	case len(others) > 0:
		return nil, fmt.Errorf("%w, only %s", ErrNoWeights, few(others))
	}
	return nil, ErrNoWeights
}

// tensorflow returns the other files of a TensorFlow checkpoint, or nil if file belongs to another
// kind.
func tensorflow(names []string, file string) (files []string) {
	if file != folder.TensorFlow && path.Ext(file) != ".index" {
		return nil
	}
	for _, name := range names {
		if name != file && (path.Ext(name) == ".index" || strings.Contains(name, ".data-") ||
			slices.Contains([]string{folder.HParams, folder.Encoder, folder.VocabBPE}, name)) {
			files = append(files, name)
		}
	}
	return files
}

// few returns the first names, and the number of the others.
func few(names []string) string {
	const most = 8
	var b strings.Builder
	for i, name := range names[:min(len(names), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(quote.Plain(name, 80))
	}
	if len(names) > most {
		fmt.Fprintf(&b, " and %d more", len(names)-most)
	}
	return b.String()
}
