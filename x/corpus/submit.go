package main

// A run: from flags to a manifest.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"

	"picogpt/internal/fault"
	"picogpt/x/corpus/internal/finish"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/pipeline"
	"picogpt/x/corpus/internal/storage"
	"picogpt/x/corpus/internal/work"
	"picogpt/x/corpus/internal/worker"
)

// here reports whether the run is in this process.
func here() bool {
	return (*runners.Runner == "" || *runners.Runner == "prism") && *jobopts.Endpoint == ""
}

// submit runs the pipeline to its end. A share has no manifest, which is nil then.
func (f *runFlags) submit(a *app, j *job.Job) (*finish.Manifest, error) {
	if err := f.check(a, j); err != nil {
		return nil, err
	}
	release, err := f.lock(j)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := f.prepare(a, j); err != nil {
		return nil, err
	}
	beam.Init()
	if !f.Verbose { // what ends a run comes back as its error
		slog.SetDefault(slog.New(slog.DiscardHandler))
		beamlog.SetLogger(quiet{})
	}
	end := f.progress(a)
	_, err = worker.Submit(a.ctx, version, pipeline.New(j))
	end()
	if err != nil {
		work.This.Stop()
		gone := pipeline.Cause(err) == "" // of the runner: there is nothing wrong with the run
		err = errors.Join(f.failure(err), f.undo(a, j))
		if gone && f.begun(a, j) {
			err = fmt.Errorf("%w; --resume continues the run", err)
		}
		return nil, err
	}
	if !j.Share.All() {
		return nil, nil
	}
	return manifest(a, j)
}

// failure is what ended a run, in one line: what our functions said of it, or how the runner's
// account begins and ends.
func (f *runFlags) failure(err error) error {
	if cause := pipeline.Cause(err); cause != "" {
		return errors.New(cause)
	}
	if strings.Contains(err.Error(), "SDK worker disconnected") || errors.Is(err, worker.ErrGone) {
		return errors.New("a worker is gone (killed, out of memory) or never started: its own log, or " +
			"the pool's, may say more")
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	if len(lines) == 1 || f.Verbose {
		return err
	}
	first, last := strings.TrimSpace(lines[0]), strings.TrimSpace(lines[len(lines)-1])
	return fmt.Errorf("%.200s … %.200s (-v shows all of it)", first, last)
}

// check errs for what is wrong before any work is done.
func (f *runFlags) check(a *app, j *job.Job) error {
	if err := worker.Check(); err != nil {
		return fault.Usage{Err: err}
	}
	if err := apart(j); err != nil {
		return err
	}
	if _, err := input.Match(a.ctx, j.Input); err != nil {
		return err
	}
	if here() && j.Model.Device != "auto" {
		if _, err := work.Device(a.ctx, j.Model.Device); err != nil {
			return usagef("--device: %w", err)
		}
	}
	return f.openModel(j.Model.Path)
}

// manifest reads what the run came to.
func manifest(a *app, j *job.Job) (*finish.Manifest, error) {
	b, err := storage.ReadFile(a.ctx, j.Manifest())
	if err != nil {
		return nil, fmt.Errorf("the run has ended without a manifest: %w", err)
	}
	var m finish.Manifest
	return &m, json.Unmarshal(b, &m)
}

// done tells what a run came to. It errs where more was set aside than may be.
func (f *runFlags) done(a *app, m *finish.Manifest) error {
	if m == nil {
		if !f.Quiet {
			fmt.Fprintf(a.stderr, "corpus: share %s is done; after the others, --resume without "+
				"--share finishes\n", f.Share)
		}
		return nil
	}
	if !f.Quiet {
		fmt.Fprintf(a.stderr, "corpus: %d records, %d errors, %d tokens, digest %s\n", m.Records,
			m.Errors, m.Tokens, m.Digest)
	}
	if !f.Quiet && m.Filtered != nil {
		fmt.Fprintf(a.stderr, "corpus: kept %d, dropped %d, without a perplexity %d\n", m.Kept,
			m.Dropped, m.Unranked)
	}
	if m.Model.Note != "" {
		fmt.Fprintf(a.stderr, "corpus: %s\n", m.Model.Note)
	}
	if m.Filtered != nil && m.Replaced > 0 {
		fmt.Fprintf(a.stderr, "corpus: in %d of those kept a member %s gave way to the new one, "+
			"--score-field NAME keeps it\n", m.Replaced, m.Options.Filter.ScoreField)
	}
	if m.Errors > f.MaxErrors {
		return fmt.Errorf("%d of %d records were set aside: %s", m.Errors,
			m.Errors+m.Records, m.Reasons[0].Text)
	}
	return nil
}

// quiet is the SDK's logger where -v does not ask for it: what ends a run comes back as its error.
type quiet struct{}

func (quiet) Log(context.Context, beamlog.Severity, int, string) {}
