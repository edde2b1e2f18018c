package main

// A checkpoint that a command makes of another one: what it takes along, and how it is written.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"picogpt/internal/folder"
	"picogpt/internal/outfile"
	"picogpt/model"
	"picogpt/weights/demo"
)

// companions are the files beside the weights that are copied along.
var companions = []string{
	"vocab.json", "merges.txt", "added_tokens.json", "tokenizer.json", "tokenizer_config.json",
	"special_tokens_map.json", "generation_config.json",
}

// largestCompanion bounds a file that is copied along, in bytes. The tokenizer reads no larger one.
const largestCompanion = 32 << 20

// weightsName is the file of a new checkpoint's weights.
const weightsName = "model.safetensors"

// A newCheckpoint is a folder with config.json, companions and weights.
type newCheckpoint struct {
	app    *app
	path   string
	folder *outfile.Folder
	copies []companion
}

// A companion is a small file, as it is in the old checkpoint.
type companion struct {
	name string
	data []byte
}

// newCheckpoint reads what the new checkpoint takes along from the current one, and checks that its
// folder may be written. It makes nothing yet. Call close at the end.
func (a *app) newCheckpoint(path string, force bool) (*newCheckpoint, error) {
	c := &newCheckpoint{app: a, path: path}
	var err error
	if c.copies, err = a.readCompanions(); err != nil {
		return nil, err
	}
	var names []string
	for _, file := range c.copies {
		names = append(names, file.name)
	}
	rules := a.writing(force)
	if a.Model != nil {
		path, err := a.modelPath()
		if err != nil {
			return nil, err
		}
		dir, _, err := folder.Split(path)
		if err != nil {
			return nil, err
		}
		info, err := fs.Stat(dir, ".")
		if err != nil {
			return nil, fileError(path, err)
		}
		rules.Inputs = append(rules.Inputs, info)
	}
	c.folder, err = outfile.NewFolder(path, append(names, weightsName), rules)
	return c, outputError("out", err)
}

// write writes the checkpoint: the weights last.
func (c *newCheckpoint) write(ctx context.Context, weights func(w io.Writer) error) error {
	for _, file := range c.copies {
		err := c.folder.Write(ctx, file.name, func(w io.Writer) error {
			_, err := w.Write(file.data)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.folder.Write(ctx, weightsName, weights); err != nil {
		return err
	}
	if err := c.folder.Commit(ctx); err != nil {
		return outputError("out", err)
	}
	c.noteOthers()
	return nil
}

// noteOthers names the companions that an older checkpoint has left in the folder: they belong to
// the new one from now on.
func (c *newCheckpoint) noteOthers() {
	ours := map[string]bool{}
	for _, file := range c.copies {
		ours[file.name] = true
	}
	for _, name := range companions {
		path := filepath.Join(c.path, name)
		if _, err := os.Lstat(path); err == nil && !ours[name] {
			c.app.notef("%s: was there before and stays, though %s has no such file",
				path, c.app.modelName())
		}
	}
}

// close removes what is not complete.
func (c *newCheckpoint) close() { c.folder.Close() }

// readCompanions reads the config.json and the companions of the current checkpoint.
func (a *app) readCompanions() ([]companion, error) {
	if a.Model == nil {
		return []companion{{"config.json", demo.Config()}}, nil
	}
	path, err := a.modelPath()
	if err != nil {
		return nil, err
	}
	if _, err := model.ReadConfig(path); err != nil {
		return nil, err // in better words than those of a copy
	}
	dir, _, err := folder.Split(path)
	if err != nil {
		return nil, err
	}
	var files []companion
	for _, name := range append([]string{"config.json"}, companions...) {
		data, err := readSmall(dir, name)
		if errors.Is(err, fs.ErrNotExist) && name != "config.json" {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(dir, name), err)
		}
		files = append(files, companion{name, data})
	}
	return files, nil
}

// readSmall reads a regular file of at most largestCompanion bytes.
func readSmall(dir fs.FS, name string) ([]byte, error) {
	data, err := folder.Read(dir, name, largestCompanion)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := fs.Lstat(dir, name); err == nil {
			return nil, errors.New("a link to a file that is not there")
		}
	}
	return data, err
}
