package finish

// The end of a run: writing its page and its manifest, and removing temporary files.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/storage"
	"picogpt/x/corpus/internal/work"
)

// Write completes a run of one phase.
func Write(ctx context.Context, j *job.Job, all []work.Summary) error {
	c, err := Add(ctx, j, all)
	if err != nil {
		return err
	}
	mine := map[string]bool{}
	for i := range all {
		p := &all[i].Piece
		mine[j.Shard(p)], mine[j.Errors(p)] = true, all[i].Errors > 0
	}
	return c.write(ctx, j, mine)
}

// WriteKept completes a filter, with Add's result for its first phase and all pieces of its second.
func (c *Corpus) WriteKept(ctx context.Context, j *job.Job, all []work.Kept) error {
	mine := map[string]bool{}
	var sum Filtered
	for i := range all {
		k := &all[i]
		if k.Piece.Index != i || k.Piece.Of != len(all) {
			return missing(i, k.Piece.Of)
		}
		sum.Kept += k.Kept
		sum.Dropped += k.Dropped
		sum.Unranked += k.Unranked
		sum.Replaced += k.Replaced
		mine[j.Kept(&k.Piece)], mine[j.Errors(&k.Piece)] = true, k.Errors > 0
	}
	f := c.Manifest.Filtered
	if len(all) != c.Manifest.Pieces || sum.Kept != f.Kept ||
		sum.Dropped != f.Dropped || sum.Unranked != f.Unranked {
		return fmt.Errorf("%d pieces with %d kept, %d dropped and %d unranked; want %d with %d, "+
			"%d and %d: the input has changed", len(all), sum.Kept, sum.Dropped, sum.Unranked,
			c.Manifest.Pieces, f.Kept, f.Dropped, f.Unranked)
	}
	f.Replaced = sum.Replaced
	return c.write(ctx, j, mine)
}

// write writes the page and the manifest. Of files of records and errors, only those in mine stay.
func (c *Corpus) write(ctx context.Context, j *job.Job, mine map[string]bool) error {
	var page bytes.Buffer
	r, err := c.report(j)
	if err != nil {
		return err
	}
	if err := r.HTML(&page); err != nil {
		return err
	}
	if err := storage.WriteFile(ctx, j.Report(), page.Bytes()); err != nil {
		return err
	}
	return cmp.Or(c.Manifest.write(ctx, j), clean(ctx, j, mine))
}

// clean removes the folder of temporary files, and shards of an interrupted run that had other
// pieces.
func clean(ctx context.Context, j *job.Job, mine map[string]bool) error {
	shards, err := j.Shards(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(shards, func(name string) bool { return mine[name] })
	return errors.Join(storage.Remove(ctx, others...), storage.Clean(ctx, j.Output),
		storage.Clean(ctx, storage.Join(j.Output, "errors")), storage.RemoveFolder(ctx, j.Work))
}

// Encode returns a corpus as bytes for the second phase.
func (c *Corpus) Encode() ([]byte, error) { return json.Marshal(c) }

// Decode reads what Encode has written.
func Decode(b []byte) (*Corpus, error) {
	c := &Corpus{}
	return c, json.Unmarshal(b, c)
}
