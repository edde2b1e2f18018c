// Pull: a checkpoint's files, from the hub into the cache.

package hub

import (
	"context"
	"fmt"
	"path"
	"picogpt/internal/folder"
	"slices"
)

// Pull downloads the files of a checkpoint that the cache does not have, and returns its snapshot:
// config.json, the weights (model.safetensors, else its shards, else pytorch_model.bin, else its
// shards, else the only other file of weights) and the tokenizer's files. If files is given, it
// downloads those and no others.
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
		err = r.wantAll(ctx, files, files)
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
	return file == folder.Config || slices.Contains(companions[:], file)
}
