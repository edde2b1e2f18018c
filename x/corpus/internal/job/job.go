// Package job describes a run of the pipeline, as one value that is sent to every worker.
package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"picogpt/eval"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/storage"
)

// The commands.
const (
	Score      = "score"
	Filter     = "filter"
	Perplexity = "perplexity"
	Generate   = "generate"
)

// A Job is everything that the workers need to know.
type Job struct {
	Command string
	Input   input.Options
	Fields  Fields
	Model   Model
	Output  string // a folder, or the beginning of objects' names
	Work    string // for temporary files, in the same form
	Workers int    // pieces that one process works on at a time
	Share   Share  // of the pieces

	Score      ScoreOptions      // for score and filter
	Filter     FilterOptions     // for filter
	Perplexity PerplexityOptions // for perplexity
	Generate   Generation        // for generate
}

// Fields say which members of an object to use.
type Fields struct {
	Text    string // "" means text, or context and continuation, or tokens
	ID      string // of a record
	Order   string // "" means the order of the input
	Special bool   // special tokens in a text become their ids
}

// A Model says which checkpoint to load, and how.
type Model struct {
	Name       string // as the user wrote it; "" is the embedded demo
	Path       string // "" is the embedded demo
	GELU       string
	Dtype      string
	CacheDtype string

	// These do not change the bits.
	Threads int
	Device  string `json:",omitempty"` // "" is the processor; a name is one of the worker's machine
}

// ScoreOptions are those of gpt score.
type ScoreOptions struct {
	BOS     bool      `json:"bos"`
	Top     int       `json:"top,omitempty"`
	Offsets eval.Unit `json:"offsets"`
	Fields  []string  `json:"fields,omitempty"`
	Keep    bool      `json:"keep,omitempty"`
}

// FilterOptions say which documents stay: those that meet all conditions.
type FilterOptions struct {
	Keep       string  `json:"keep,omitempty"`  // a range of ranks, as ParseRanks reads it
	Above      float64 `json:"above,omitempty"` // perplexities of at least that
	Below      float64 `json:"below,omitempty"` // and perplexities less than that
	ScoreField string  `json:"score_field"`     // the member that is added to a document
}

// PerplexityOptions are those of gpt perplexity.
type PerplexityOptions struct {
	Protocol eval.Protocol `json:"protocol"`
	Window   int           `json:"window,omitempty"`
	Stride   int           `json:"stride,omitempty"`
}

// A Piece is the work of one element: a few parts of the input.
type Piece struct {
	Index, Of int
	Parts     []input.Part
}

// Key returns a string that identifies the work on a piece. Options that do not change the bits are
// not part of it.
func (j *Job) Key(p *Piece) (string, error) {
	same := *j
	same.Model.Name, same.Model.Threads, same.Model.Device = "", 0, ""
	same.Input.Patterns = nil // they do not matter: the parts are known
	same.Output, same.Work, same.Workers, same.Share = "", "", 0, Share{}
	b, err := json.Marshal(struct {
		Job   Job
		Piece *Piece
	}{same, p})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// Ranks reports whether the command gives documents perplexities that may be ranked.
func (j *Job) Ranks() bool { return j.Command != Generate }

// ModelName returns the name of the checkpoint for users.
func (m *Model) ModelName() string {
	return cmp.Or(m.Name, "the embedded demo")
}

// Described returns the options that the results depend on, for the manifest.
func (j *Job) Described() Options {
	o := Options{Input: j.Input.Patterns, Form: j.Input.Form, TextField: j.Fields.Text,
		IDField: j.Fields.ID, OrderField: j.Fields.Order, Special: j.Fields.Special,
		PieceBytes: j.Input.PieceBytes, Model: j.Model.Path, GELU: j.Model.GELU,
		DType: j.Model.Dtype, CacheDType: j.Model.CacheDtype}
	switch j.Command {
	case Score:
		o.Score = &j.Score
	case Filter:
		o.Score, o.Filter = &j.Score, &j.Filter
	case Perplexity:
		o.Perplexity = &j.Perplexity
	case Generate:
		o.Generate = j.Generate.Options()
	}
	return o
}

// Options are the flags that the results depend on.
type Options struct {
	Input      []string           `json:"input"`
	Form       string             `json:"form"`
	TextField  string             `json:"text_field,omitempty"`
	IDField    string             `json:"id_field"`
	OrderField string             `json:"order_field,omitempty"`
	Special    bool               `json:"special,omitempty"`
	PieceBytes int64              `json:"piece_bytes"`
	Model      string             `json:"model,omitempty"`
	GELU       string             `json:"gelu,omitempty"`
	DType      string             `json:"dtype"`
	CacheDType string             `json:"cache_dtype"`
	Score      *ScoreOptions      `json:"score,omitempty"`
	Filter     *FilterOptions     `json:"filter,omitempty"`
	Perplexity *PerplexityOptions `json:"perplexity,omitempty"`
	Generate   *GenerateOptions   `json:"generate,omitempty"`
}

// The files of a run.

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

// Shares: several runs that divide the pieces among themselves.

// A Share is every Of-th piece, beginning with the Number-th, from 1. The zero Share is all pieces.
type Share struct{ Number, Of int }

// ParseShare reads a share such as 2/7. "" means all.
func ParseShare(text string) (s Share, err error) {
	if text == "" {
		return s, nil
	}
	number, of, found := strings.Cut(text, "/")
	s.Number, err = strconv.Atoi(number)
	if err == nil {
		s.Of, err = strconv.Atoi(of)
	}
	if !found || err != nil || s.Number < 1 || s.Number > s.Of {
		return Share{}, fmt.Errorf("%.40q: want a number and how many there are, such as 2/7", text)
	}
	return s, nil
}

// All reports whether the share is all pieces.
func (s Share) All() bool { return s.Of == 0 }

// Has reports whether the piece of an index is in the share.
func (s Share) Has(index int) bool { return s.All() || index%s.Of == s.Number-1 }
