package job

// The files of a run.

import (
	"context"
	"fmt"

	"picogpt/corpus/internal/storage"
)

// Name is the name of a piece's file in a folder.
func (p *Piece) Name(folder, kind, ending string) string {
	return storage.Join(folder, fmt.Sprintf("%s-%05d-of-%05d.%s", kind, p.Index, p.Of, ending))
}

// Shard is where a piece's records are that are written when they are made, "" for none.
func (j *Job) Shard(p *Piece) string {
	kind := map[string]string{Score: "scores", Generate: "texts"}[j.Command]
	if kind == "" {
		return ""
	}
	return p.Name(j.Output, kind, "jsonl")
}

// Kept is where a filter writes the documents of a piece that stay.
func (j *Job) Kept(p *Piece) string { return p.Name(j.Output, "kept", "jsonl") }

// Errors is where the records of a piece are that were set aside.
func (j *Job) Errors(p *Piece) string {
	return p.Name(storage.Join(j.Output, "errors"), "errors", "jsonl")
}

// Ledger is where a piece's entries are. Done and Selected are the marks that all files of a phase
// are there.
func (j *Job) Ledger(p *Piece) string { return p.Name(j.Work, "ledger", "gob") }
func (j *Job) Done(p *Piece) string   { return p.Name(j.Work, "done", "json") }
func (j *Job) Selected(p *Piece) string {
	return p.Name(j.Work, "selected", "json")
}

// Manifest and Report are the files that a run ends with.
func (j *Job) Manifest() string { return storage.Join(j.Output, "manifest.json") }
func (j *Job) Report() string   { return storage.Join(j.Output, "report.html") }

// Started is the mark of a run that has begun: its options.
func (j *Job) Started() string { return storage.Join(j.Work, "started.json") }

// digits matches the place of a piece among all, in a file's name.
const digits = "[0-9][0-9][0-9][0-9][0-9]*"

// Shards lists the files of records, of this run and of others.
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

// Files lists what runs have left: results, and what an interrupted run has not come to remove.
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
