package main

// A run: from flags to a manifest.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	beamlog "github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"golang.org/x/term"

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

// Progress: one line on a terminal, of a run in this process.

// progress shows how far the run has come, until end is called.
func (f *runFlags) progress(a *app) (end func()) {
	file, ok := a.stderr.(*os.File)
	if f.Quiet || !ok || !term.IsTerminal(int(file.Fd())) || !here() {
		return func() {}
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		start := time.Now()
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				width, _, _ := term.GetSize(int(file.Fd()))
				fmt.Fprintf(file, "\r\x1b[K%s", fitted(state(work.This, time.Since(start)), width))
			case <-stop:
				fmt.Fprint(file, "\r\x1b[K")
				return
			}
		}
	}()
	return func() { close(stop); <-done }
}

// fitted is a line that does not wrap.
func fitted(line string, width int) string {
	if width > 1 && len(line) >= width {
		return line[:width-1]
	}
	return line
}

// state says how far a process has come.
func state(p *work.Process, took time.Duration) string {
	all := p.All.Load()
	if all == 0 {
		return "reading the input"
	}
	parts := []string{fmt.Sprintf("%d of %d pieces", p.Pieces.Load(), all)}
	if n := p.Resumed.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of them from before", n))
	}
	if n := p.Selected.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("of %d is written what is kept", n))
	}
	parts = append(parts, fmt.Sprintf("%d records", p.Records.Load()))
	if n := p.Errors.Load(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d errors", n))
	}
	tokens := p.Tokens.Load()
	return strings.Join(append(parts, fmt.Sprintf("%d tokens", tokens),
		fmt.Sprintf("%.0f tokens/s", float64(tokens)/took.Seconds())), ", ")
}

// The folder of the results: it is new, or holds what a run before this one has left.

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
