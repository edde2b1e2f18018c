package work

// A piece: reading rows and writing records and a ledger; each file is complete or does not exist.

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"iter"
	"reflect"
	"slices"
	"time"

	"picogpt/eval"
	"picogpt/internal/lines"
	"picogpt/internal/rows"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
	"picogpt/x/corpus/internal/storage"
)

// A Summary is the result of a piece. It is small, and all that is sent.
type Summary struct {
	Piece   job.Piece
	Records int      // scored records
	Errors  int      // records with errors
	Tokens  int      // tokens with a log-probability, or generated ones
	Digest  string   // an eval.Digest of the records
	Model   Identity //
	Reasons []Reason // of the errors, the most frequent first
	Seconds float64  // of work
	Resumed bool     // an earlier run has done the piece
}

// A Reason is the reason of errors, and the number of records with it.
type Reason struct {
	Text  string `json:"reason"`
	Count int    `json:"records"`
}

// mostReasons bounds the number of reasons in a summary.
const mostReasons = 50

// A method turns items into outcomes, in order.
type method func(context.Context, iter.Seq[*item]) iter.Seq2[outcome, error]

// An outcome is the result for an item.
type outcome struct {
	item    *item
	line    []byte         // for the shard; nil if there is none
	records []*eval.Record // for the digest
	entry   ledger.Entry   // Source, Line, ID and Order are set
	err     error          // why the item has no record
}

// Do does the work on a piece, unless it is already done. An error is one of the work, not of a
// record: another attempt may succeed.
func (p *Process) Do(ctx context.Context, j *job.Job, piece *job.Piece) (*Summary, error) {
	ctx, end, err := p.begin(ctx, max(1, j.Workers))
	if err != nil {
		return nil, err
	}
	defer end()
	l, err := p.Load(ctx, j.Model)
	if err != nil {
		return nil, err
	}
	key, err := j.Key(piece)
	if err != nil {
		return nil, err
	}
	done, err := earlier(ctx, j, piece, key, l)
	if done != nil {
		p.Pieces.Add(1)
		p.Resumed.Add(1)
	}
	if done != nil || err != nil {
		return done, err
	}
	start := time.Now()
	r := &run{process: p, job: j, piece: piece, loaded: l, seen: sha256.New(),
		summary: Summary{Piece: *piece, Model: l.Identity}, reasons: map[string]int{}}
	if err := r.write(ctx); err != nil {
		return nil, err
	}
	r.finish(time.Since(start))
	p.Pieces.Add(1)
	return &r.summary, remember(ctx, j.Done(piece),
		mark{key, l.Identity, hex.EncodeToString(r.seen.Sum(nil)), r.summary})
}

// A mark says that the files of a piece exist.
type mark struct {
	Key     string
	Model   Identity
	Input   string // the sum of the rows' contents
	Summary Summary
}

// earlier returns the summary of an earlier run that has done the same work, or nil.
func earlier(
	ctx context.Context, j *job.Job, piece *job.Piece, key string, l *Loaded,
) (*Summary, error) {
	var d mark
	err := recall(ctx, j.Done(piece), &d)
	if err != nil || d.Key != key || d.Model != l.Identity {
		return nil, err
	}
	if same, err := unchanged(ctx, j, piece, d.Input); err != nil || !same {
		return nil, err
	}
	d.Summary.Resumed = true
	return &d.Summary, nil
}

// remember writes a mark of either phase.
func remember(ctx context.Context, name string, mark any) error {
	b, err := json.Marshal(mark)
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, name, b)
}

// recall reads a mark. If there is none, or it has another form, *mark keeps its zero value.
func recall(ctx context.Context, name string, mark any) error {
	b, err := storage.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if json.Unmarshal(b, mark) != nil {
		reflect.ValueOf(mark).Elem().SetZero()
	}
	return nil
}

// A run is the work on a piece.
type run struct {
	process *Process
	job     *job.Job
	piece   *job.Piece
	loaded  *Loaded

	shard, errors *lineFile
	ledger        *ledger.Writer
	seen          hash.Hash // of the rows' contents
	digest        eval.Digest
	summary       Summary
	reasons       map[string]int
}

// write writes the files. If it ends early, no incomplete file exists.
func (r *run) write(ctx context.Context) (err error) {
	if r.ledger, err = ledger.Create(ctx, r.job.Ledger(r.piece)); err != nil {
		return err
	}
	defer r.ledger.Abort()
	if r.job.Shard(r.piece) != "" {
		if r.shard, err = createLines(ctx, r.job.Shard(r.piece)); err != nil {
			return err
		}
		defer r.shard.abort()
	}
	defer func() { r.errors.abort() }()
	for o, err := range r.method()(ctx, items(ctx, r.job, r.piece, r.seen)) {
		if err != nil {
			return err
		}
		if err := r.take(ctx, &o); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return cmp.Or(r.shard.commit(), r.errors.commit(), r.ledger.Commit())
}

// take writes an outcome.
func (r *run) take(ctx context.Context, o *outcome) error {
	if o.err != nil {
		return r.setAside(ctx, o)
	}
	o.entry.Source, o.entry.Line = o.item.order, o.item.First
	o.entry.ID, o.entry.Order = o.item.canonical, o.item.key
	for _, record := range o.records {
		if err := r.digest.Add(record); err != nil {
			return err
		}
	}
	r.summary.Records++
	r.summary.Tokens += o.entry.Count
	r.process.Records.Add(1)
	r.process.Tokens.Add(int64(o.entry.Count))
	return cmp.Or(r.shard.write(o.line), r.ledger.Write(&o.entry))
}

// setAside writes a record with the error of an item.
func (r *run) setAside(ctx context.Context, o *outcome) error {
	if r.errors == nil {
		var err error
		if r.errors, err = createLines(ctx, r.job.Errors(r.piece)); err != nil {
			return err
		}
	}
	var out lines.Output
	record := out.Error(&o.item.Row, o.err)
	line, err := out.Line(&o.item.Row, record)
	if err != nil {
		return err
	}
	r.summary.Errors++
	r.process.Errors.Add(1)
	// a bound, in case each record has its own reason
	if r.reasons[record.Error]++; len(r.reasons) > 20*mostReasons {
		kept := Top(r.reasons)
		clear(r.reasons)
		for _, k := range kept {
			r.reasons[k.Text] = k.Count
		}
	}
	return r.errors.write(line)
}

// finish completes the summary.
func (r *run) finish(took time.Duration) {
	r.summary.Digest, r.summary.Seconds = r.digest.String(), took.Seconds()
	r.summary.Reasons = Top(r.reasons)
}

// Top returns the most frequent reasons.
func Top(reasons map[string]int) []Reason {
	all := make([]Reason, 0, len(reasons))
	for text, n := range reasons {
		all = append(all, Reason{text, n})
	}
	slices.SortFunc(all, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Text, b.Text))
	})
	return all[:min(len(all), mostReasons)]
}

// method returns the method of the command.
func (r *run) method() method {
	return map[string]method{
		job.Score: r.score, job.Filter: r.score, job.Perplexity: r.perplexity,
		job.Generate: r.generate,
	}[r.job.Command]
}

// lineFile is a file of lines that is being written; nil writes nothing.
type lineFile struct {
	file   *storage.File
	buffer *bufio.Writer
}

func createLines(ctx context.Context, name string) (*lineFile, error) {
	f, err := storage.Create(ctx, name)
	if err != nil {
		return nil, err
	}
	return &lineFile{f, bufio.NewWriterSize(f, 1<<18)}, nil
}

func (l *lineFile) write(line []byte) error {
	if l == nil || line == nil {
		return nil
	}
	_, err := l.buffer.Write(line)
	return err
}

func (l *lineFile) commit() error {
	if l == nil {
		return nil
	}
	if err := l.buffer.Flush(); err != nil {
		return err
	}
	return l.file.Commit()
}

func (l *lineFile) abort() {
	if l != nil {
		l.file.Abort()
	}
}

// Items: the rows of a piece, with ids and positions.

// An item is a row with its id and its position.
type item struct {
	lines.Row
	form      string
	order     int    // index of the source
	canonical []byte // id in the form for comparisons
	key       []byte // the value of --order-field
}

// texts reports whether the rows of a form are texts, not objects.
func texts(form string) bool { return form == "lines" || form == "text" || form == "wikitext" }

// items yields the rows of a piece, in order. Empty rows are left out. Data that cannot be read are
// an item with an error. The contents of the rows are added to seen.
func items(
	ctx context.Context, j *job.Job, piece *job.Piece, seen hash.Hash,
) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for _, part := range piece.Parts {
			for row, err := range input.Rows(ctx, part) {
				if ctx.Err() != nil {
					return
				}
				if row.Object == nil && row.Err == nil && err == nil && !texts(part.Form) {
					continue // an empty line
				}
				it := newItem(&part, row, err, &j.Fields)
				if it.sum(seen); !yield(it) {
					return
				}
			}
		}
	}
}

// sum adds the contents of the row to h.
func (it *item) sum(h hash.Hash) {
	fmt.Fprintf(h, "%d %d %d %v ", it.order, it.First, len(it.Text), it.Err)
	io.WriteString(h, it.Text)
	for _, m := range it.Object {
		fmt.Fprintf(h, "%d %s %d %s", len(m.Key), m.Key, len(m.Value), m.Value)
	}
}

// unchanged reports whether sum is that of the rows of a piece.
func unchanged(ctx context.Context, j *job.Job, piece *job.Piece, sum string) (bool, error) {
	seen := sha256.New()
	for range items(ctx, j, piece, seen) {
	}
	return hex.EncodeToString(seen.Sum(nil)) == sum, ctx.Err()
}

// newItem returns the item for a row, or for an error of reading.
func newItem(part *input.Part, row rows.Row, err error, f *job.Fields) *item {
	it := &item{form: part.Form, order: part.Order}
	it.Row.Row, it.Source = row, part.Source
	var at *input.LineError
	if errors.As(err, &at) {
		it.First, it.Err = at.Line, at.Err
	} else if err != nil {
		it.Err = err
	}
	it.identify(f)
	return it
}

// identify reads the id and the key. An item without the key has an error.
func (it *item) identify(f *job.Fields) {
	if it.Object == nil {
		if f.Order != "" && it.Err == nil {
			it.Err = fmt.Errorf("want %s to order by: a text has no fields", f.Order)
		}
		return
	}
	it.ID = it.Object.Get(cmp.Or(f.ID, "id"))
	var err error
	if it.canonical, err = eval.CanonicalID(it.ID); err != nil && it.Err == nil {
		it.Err = err
	}
	if f.Order == "" || it.Err != nil {
		return
	}
	if it.key, err = ledger.Sortable(it.Object.Get(f.Order)); err != nil {
		it.Err = fmt.Errorf("%s: %w", f.Order, err)
	}
}
