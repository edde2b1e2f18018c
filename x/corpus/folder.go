package main

// The folder of the results: it is new, or holds what a run before this one has left.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/storage"
)

// apart errs if a pattern of the input would match results too: a run that continues, or a second
// phase of one, would read them as documents.
func apart(j *job.Job) error {
	first := job.Piece{Of: 1}
	results := []string{j.Output, j.Work, j.Shard(&first), j.Kept(&first), j.Errors(&first),
		j.Manifest(), j.Report()}
	for _, pattern := range j.Input.Patterns {
		for _, result := range results {
			if j.Output != "" && input.Matches(pattern, result) {
				return usagef("--input %s: would read results too, such as %s, want another --output",
					pattern, result)
			}
		}
	}
	return nil
}

// undo removes the mark of a run that has not come to any work, so that the next one begins anew.
func (f *runFlags) undo(a *app, j *job.Job) error {
	ctx := context.WithoutCancel(a.ctx)
	there, err := j.Files(ctx)
	if err != nil || len(there) != 1 || there[0] != j.Started() {
		return nil
	}
	return storage.RemoveFolder(ctx, j.Work)
}

// begun reports whether there is something for --resume.
func (f *runFlags) begun(a *app, j *job.Job) bool {
	_, err := storage.ReadFile(context.WithoutCancel(a.ctx), j.Started())
	return err == nil && f.Output != ""
}

// differences names the options that two runs differ in, with both values.
func differences(before, now []byte) string {
	var a, b map[string]json.RawMessage
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(now, &b) != nil {
		return "of another version of this program"
	}
	all := maps.Clone(b)
	maps.Copy(all, a)
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if x, y := a[name], b[name]; !bytes.Equal(x, y) {
			differ = append(differ, fmt.Sprintf("%s %s, now %s", name, cmp.Or(string(x), "none"),
				cmp.Or(string(y), "none")))
		}
	}
	return strings.Join(differ, "; ")
}

// lock keeps other runs out of the folder until release is called. Shares have it together.
func (f *runFlags) lock(j *job.Job) (release func(), err error) {
	if info, err := os.Stat(j.Output); err == nil && !info.IsDir() {
		return nil, usagef("--output %s: a file, want a folder", j.Output)
	}
	if release, err = storage.Lock(j.Output, !j.Share.All()); errors.Is(err, storage.ErrTaken) {
		err = fmt.Errorf("%s: %w", j.Output, err)
	}
	return release, err
}

// prepare makes the folder ready, or says what is in the way.
func (f *runFlags) prepare(a *app, j *job.Job) error {
	there, err := j.Files(a.ctx)
	if err != nil {
		return err
	}
	described, err := json.Marshal(j.Described())
	if err != nil {
		return err
	}
	started, err := storage.ReadFile(a.ctx, j.Started())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		started = nil
	case err != nil:
		return err
	}
	_, err = storage.ReadFile(a.ctx, j.Manifest())
	ended := err == nil
	switch {
	case len(there) == 0:
	case f.Force && !j.Share.All():
		return usagef("--force and --share: want one of them: others may be at work in the folder")
	case f.Force:
		if err := storage.Remove(a.ctx, there...); err != nil {
			return err
		}
	case ended:
		return fmt.Errorf("%s: a run has ended there; --force writes over it", j.Output)
	case !f.Resume && j.Share.All():
		return fmt.Errorf("%s: a run has been interrupted there; --resume continues it, "+
			"--force writes over it", j.Output)
	case started != nil && !bytes.Equal(started, described):
		return fmt.Errorf("%s: the interrupted run had other options: %s", j.Output,
			differences(started, described))
	}
	return storage.WriteFile(a.ctx, j.Started(), described)
}
