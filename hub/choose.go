// Choosing: which files of a repository make a checkpoint.

package hub

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/internal/quote"
	"picogpt/weights"
)

// companions are the files beside the weights that a checkpoint may have, config.json not among
// them.
var companions = [...]string{
	"generation_config.json", "tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json",
	"special_tokens_map.json", "tokenizer_config.json", "vocab.txt", "spiece.model",
	"chat_template.jinja", "meta.pkl",
}

// weightsNames are the names of weights beside a config.json, the best first. One that ends in
// .index.json lists the files.
var weightsNames = [...]string{
	"model.safetensors", "model.safetensors.index.json",
	"pytorch_model.bin", "pytorch_model.bin.index.json",
}

// choose plans to download what a checkpoint needs: the weights last, because without its tokenizer
// a checkpoint may look as if it had another one.
func (r *repo) choose(ctx context.Context) error {
	const config = "config.json"
	has, err := r.find(ctx, config)
	if err != nil {
		return err
	}
	if has {
		b, err := r.read(ctx, config, maxIndex)
		if err == nil && r.o.CheckConfig != nil {
			if err = r.o.CheckConfig(b); err != nil {
				err = fmt.Errorf("%s/%s: %w", r.name.Repo, config, err)
			}
		}
		if err != nil {
			return err
		}
		named, err := r.namedWeights(ctx)
		if err != nil {
			return err
		}
		if len(named) > 0 {
			return r.wantAll(ctx, append(slices.Clone(companions[:]), named...), named)
		}
	}
	if r.alone != nil {
		return r.lacks("weights")
	}
	only, err := r.listedWeights(ctx)
	if err != nil {
		return err
	}
	return r.wantAll(ctx, append(slices.Clone(companions[:]), only...), only)
}

// listedWeights returns the files of the one checkpoint that a repository has, by its list.
func (r *repo) listedWeights(ctx context.Context) ([]string, error) {
	listed, err := r.list(ctx)
	if err != nil {
		return nil, err
	}
	only, err := onlyCheckpoint(listed)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.name.Repo, err)
	}
	return only, nil
}

// lacks is the error of something that neither the cache has nor the hub can be asked for.
func (r *repo) lacks(what string) error {
	return fmt.Errorf("%s: the cache has no %s of it, and %w", r.name, what, r.alone)
}

// wantAll plans to download those of some files that there are. What is needed must be there.
func (r *repo) wantAll(ctx context.Context, files, needed []string) error {
	for _, file := range files {
		has, err := r.find(ctx, file)
		if err != nil {
			return err
		}
		if !has && slices.Contains(needed, file) {
			if r.alone != nil {
				return r.lacks(file)
			}
			return &noFile{r.commit, r.name.Repo, file}
		}
		r.want(file)
	}
	return nil
}

// namedWeights returns the best weights that stand beside a config.json: one file, or an index and
// its shards. None is no error.
func (r *repo) namedWeights(ctx context.Context) ([]string, error) {
	for _, name := range weightsNames {
		has, err := r.find(ctx, name)
		if err != nil {
			return nil, err
		}
		switch {
		case has && strings.HasSuffix(name, ".index.json"):
			return r.shards(ctx, name)
		case has:
			return []string{name}, nil
		}
	}
	return nil, nil
}

// shards returns an index and the files that it names.
func (r *repo) shards(ctx context.Context, index string) ([]string, error) {
	b, err := r.read(ctx, index, maxIndex)
	if err != nil {
		return nil, err
	}
	names, err := weights.Shards(b)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", r.name.Repo, index, err)
	}
	for _, name := range names {
		if err := checkFile(name); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", r.name.Repo, index, err)
		}
	}
	return append(names, index), nil
}

// onlyCheckpoint returns the files of the one checkpoint in a repository's list, by the rules of
// checkpoint.Open for a folder. Several are an ErrChoose, none is an ErrNoWeights.
func onlyCheckpoint(listed []string) ([]string, error) {
	var inFolders, others []string
	top := slices.DeleteFunc(slices.Clone(listed), func(name string) bool {
		switch ext := path.Ext(name); {
		case slices.Contains([]string{".h5", ".msgpack", ".onnx", ".ot", ".npz"}, ext):
			others = append(others, name)
		case strings.Contains(name, "/") &&
			slices.Contains([]string{".gguf", ".safetensors", ".pt", ".pth"}, ext):
			inFolders = append(inFolders, name)
		}
		return strings.Contains(name, "/")
	})
	switch found := checkpoint.Candidates(top); {
	case len(found) == 1:
		return append(tensorflow(top, found[0]), found[0]), nil
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %s", ErrChoose, few(found))
	case len(inFolders) > 0:
		return nil, fmt.Errorf("%w: %s", ErrChoose, few(inFolders))
	case len(others) > 0:
		return nil, fmt.Errorf("%w, only %s", ErrNoWeights, few(others))
	}
	return nil, ErrNoWeights
}

// tensorflow returns the other files of a checkpoint of TensorFlow, nil where the file that stands
// for it is of another kind.
func tensorflow(names []string, file string) (files []string) {
	if file != "checkpoint" && path.Ext(file) != ".index" {
		return nil
	}
	for _, name := range names {
		if name != file && (path.Ext(name) == ".index" || strings.Contains(name, ".data-") ||
			slices.Contains([]string{"hparams.json", "encoder.json", "vocab.bpe"}, name)) {
			files = append(files, name)
		}
	}
	return files
}

// few lists some names, and says how many there are besides.
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
