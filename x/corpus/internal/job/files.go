package job

// The files of a run.

import (
	"context"
	"fmt"

	"picogpt/x/corpus/internal/storage"
)

// Name returns the name of a piece's file in a folder.
func (p *Piece) Name(folder, kind, ending string) string {
	return storage.Join(folder, fmt.Sprintf("%s-%05d-of-%05d.%s", kind, p.Index, p.Of, ending))
}

// Shard returns the name of the file of a piece's records, or "" if its records are written later.
func (j *Job) Shard(p *Piece) string {
	kind := map[string]string{Score: "scores", Generate: "texts"}[j.Command]
	if kind == "" {
		return ""
	}
	return p.Name(j.Output, kind, "jsonl")
}

// Kept returns the name of the file for a piece's documents that a filter keeps.
func (j *Job) Kept(p *Piece) string { return p.Name(j.Output, "kept", "jsonl") }

// Errors returns the name of the file of a piece's records with errors.
func (j *Job) Errors(p *Piece) string {
	return p.Name(storage.Join(j.Output, "errors"), "errors", "jsonl")
}

// Ledger returns the name of the file of a piece's entries. Done and Selected return the names of
// the marks which say that all files of a phase exist.
func (j *Job) Ledger(p *Piece) string { return p.Name(j.Work, "ledger", "gob") }
func (j *Job) Done(p *Piece) string   { return p.Name(j.Work, "done", "json") }
func (j *Job) Selected(p *Piece) string {
	return p.Name(j.Work, "selected", "json")
}

// Manifest and Report return the names of the files that complete a run.
func (j *Job) Manifest() string { return storage.Join(j.Output, "manifest.json") }
func (j *Job) Report() string   { return storage.Join(j.Output, "report.html") }

// Started returns the name of the file that marks a started run: it holds the options.
func (j *Job) Started() string { return storage.Join(j.Work, "started.json") }

// digits matches the number of a piece in a file's name.
const digits = "[0-9][0-9][0-9][0-9][0-9]*"

// Shards returns the names of the files of records, of this run and of others.
func (j *Job) Shards(ctx context.Context) ([]string, error) {
	kinds := []string{"scores", "kept", "texts", "errors/errors"}
	var all []string
	for _, kind := range kinds {
		names, err := storage.List(ctx,
			storage.Join(j.Output, kind+"-"+digits+"-of-"+digits+".jsonl"))
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// Files returns the names of all files that runs have left: results, and temporary files of an
// interrupted run.
func (j *Job) Files(ctx context.Context) ([]string, error) {
	all, err := j.Shards(ctx)
	if err != nil {
		return nil, err
	}
	for _, pattern := range []string{j.Manifest(), j.Report(), storage.Join(j.Work, "*")} {
		names, err := storage.List(ctx, pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}
