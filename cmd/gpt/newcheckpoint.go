package main

// A checkpoint that a command makes of another one: where it goes, and how it is written.

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/internal/outfile"
	"picogpt/internal/terminal"
)

// A newCheckpoint is a folder of files or, where there is only one, a file.
type newCheckpoint struct {
	app        *app
	path       string
	conversion *checkpoint.Conversion
	rules      outfile.Options
	folder     *outfile.Folder // nil for a file
}

// newCheckpoint checks that the place of a conversion of the current checkpoint may be written. It
// makes nothing yet. Call close at the end.
func (a *app) newCheckpoint(
	path string, v *checkpoint.Conversion, force bool,
) (*newCheckpoint, error) {
	c := &newCheckpoint{app: a, path: path, conversion: v, rules: a.writing(force)}
	if v.File() {
		return c, outputError("out", outfile.Check(path, c.rules))
	}
	if a.Model != nil {
		path, err := a.modelPath()
		if err != nil {
			return nil, err
		}
		dir, _, err := folder.Split(path)
		if err != nil {
			return nil, err
		}
		a.inputs.Add(dir.Path("."), "")
	}
	var err error
	c.folder, err = outfile.NewFolder(path, v.Names(), c.rules)
	return c, outputError("out", err)
}

// write loads the model, in the format that --dtype names, and writes the checkpoint: the weights
// last.
func (c *newCheckpoint) write() error {
	c.app.chosen.known = true // the processor: nothing is evaluated
	m, err := c.app.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, release := c.app.Graceful()
	defer release()
	title := c.path
	if c.folder != nil {
		title = filepath.Join(c.path, c.conversion.Weights)
	}
	bar := terminal.NewByteBar("writing " + title)
	defer c.app.ShowBar(bar)()
	weights := func(w io.Writer) error {
		w = bar.Counting(w, m.SaveSize())
		return c.conversion.WriteWeights(ctx, w, m)
	}
	if c.folder == nil {
		return outputError("out", outfile.WriteFile(ctx, c.path, c.rules, weights))
	}
	return c.writeFolder(ctx, weights)
}

func (c *newCheckpoint) writeFolder(
	ctx context.Context, weights func(w io.Writer) error,
) error {
	for _, file := range c.conversion.Files {
		err := c.folder.Write(ctx, file.Name, func(w io.Writer) error {
			_, err := w.Write(file.Data)
			return err
		})
		if err != nil {
			return err
		}
	}
	if err := c.folder.Write(ctx, c.conversion.Weights, weights); err != nil {
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
	ours := c.conversion.Names()
	for _, name := range checkpoint.Companions() {
		path := filepath.Join(c.path, name)
		if _, err := os.Lstat(path); err == nil && !slices.Contains(ours, name) {
			c.app.Notef("%s: was there before and stays, though %s has no such file",
				path, c.app.modelName())
		}
	}
}

// close removes what is not complete.
func (c *newCheckpoint) close() {
	if c.folder != nil {
		c.folder.Close()
	}
}

// fromArgument makes an argument the current checkpoint. "demo" is the embedded one, unless there
// is a file of that name.
func (a *app) fromArgument(name, path string) error {
	if path == "" {
		return usagef("%s: want a directory or a file, found nothing", name)
	}
	a.globals.Model = &path
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && path == "demo" {
		a.globals.Model = nil
	}
	return nil
}
