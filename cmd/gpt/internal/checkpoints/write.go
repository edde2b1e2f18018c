package checkpoints

// A checkpoint that is made of another one: where it goes, and how it is written.

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/folder"
	"picogpt/internal/outfile"
	"picogpt/model"
)

// A New checkpoint is a folder of files or, where there is only one, a file.
type New struct {
	path       string
	conversion *checkpoint.Conversion
	rules      outfile.Options
	folder     *outfile.Folder // nil for a file
}

// Create checks that the place of a conversion may be written, under the rules. It makes nothing
// yet. The folder of the checkpoint at from, "" for none, is an input. Call Close at the end.
func Create(
	path string, v *checkpoint.Conversion, from string, rules outfile.Options,
) (*New, error) {
	n := &New{path: path, conversion: v, rules: rules}
	if v.File() {
		return n, outfile.FlagError("out", outfile.Check(path, rules))
	}
	if from != "" {
		dir, _, err := folder.Split(from)
		if err != nil {
			return nil, err
		}
		rules.Inputs.Add(dir.Path("."), "")
	}
	var err error
	n.folder, err = outfile.NewFolder(path, v.Names(), rules)
	return n, outfile.FlagError("out", err)
}

// Write writes the checkpoint with the weights of the model, which come last.
func (n *New) Write(ctx context.Context, m *model.Model, console *terminal.Console) error {
	title := n.path
	if n.folder != nil {
		title = filepath.Join(n.path, n.conversion.Weights)
	}
	bar := terminal.NewByteBar("writing " + title)
	defer console.ShowBar(bar)()
	weights := func(w io.Writer) error {
		return n.conversion.WriteWeights(ctx, bar.Counting(w, m.SaveSize()), m)
	}
	if n.folder == nil {
		return outfile.FlagError("out", outfile.WriteFile(ctx, n.path, n.rules, weights))
	}
	return n.writeFolder(ctx, weights)
}

func (n *New) writeFolder(ctx context.Context, weights func(w io.Writer) error) error {
	for _, file := range n.conversion.Files {
		if err := n.folder.Write(ctx, file.Name, outfile.Bytes(file.Data)); err != nil {
			return err
		}
	}
	if err := n.folder.Write(ctx, n.conversion.Weights, weights); err != nil {
		return err
	}
	return outfile.FlagError("out", n.folder.Commit(ctx))
}

// Others returns the companions that an older checkpoint has left in the folder: they belong to the
// new one from now on.
func (n *New) Others() (paths []string) {
	if n.folder == nil {
		return nil
	}
	ours := n.conversion.Names()
	for _, name := range checkpoint.Companions() {
		path := filepath.Join(n.path, name)
		if _, err := os.Lstat(path); err == nil && !slices.Contains(ours, name) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Close removes what is not complete.
func (n *New) Close() {
	if n.folder != nil {
		n.folder.Close()
	}
}
