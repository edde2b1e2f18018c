// Package job says what a run of the pipeline does: one value that travels to every worker.
package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"

	"picogpt/corpus/internal/input"
	"picogpt/corpus/internal/storage"
	"picogpt/eval"
)

// The commands.
const (
	Score      = "score"
	Filter     = "filter"
	Perplexity = "perplexity"
	Generate   = "generate"
)

// A Job is what the workers need to know.
type Job struct {
	Command string
	Input   input.Options
	Fields  Fields
	Model   Model
	Output  string // a folder, or the beginning of objects' names
	Work    string // where what is needed for a time only is kept, in the same way

	Score      ScoreOptions      // for score and filter
	Filter     FilterOptions     // for filter
	Perplexity PerplexityOptions // for perplexity
}

// Fields say where in an object is what.
type Fields struct {
	Text    string // "" is text, or context and continuation, or tokens
	ID      string // of a record
	Order   string // "" is the place in the input
	Special bool   // special tokens in a text count as such
}

// A Model says which checkpoint is loaded, and how.
type Model struct {
	Path       string // "" is the embedded demo
	GELU       string
	Dtype      string
	CacheDtype string

	Threads int // change no bit
}

// ScoreOptions are those of gpt score.
type ScoreOptions struct {
	BOS     bool
	Top     int
	Offsets eval.Unit
	Fields  []string
	Keep    bool
}

// FilterOptions say which documents stay: those of a range of ranks, or of perplexities.
type FilterOptions struct {
	Ranks      bool
	From, To   string  // shares of the documents, as they were written: "0.1"
	Above      float64 // at least
	Below      float64 // less than
	ScoreField string  // the member that is added
}

// PerplexityOptions are those of gpt perplexity.
type PerplexityOptions struct {
	Protocol       eval.Protocol
	Window, Stride int
	WikiText       bool
}

// A Piece is the work of one element: a few parts of the input.
type Piece struct {
	Index, Of int
	Parts     []input.Part
}

// Key tells the work on a piece from any other. What changes no bit is not in it.
func (j *Job) Key(p *Piece) (string, error) {
	same := *j
	same.Model.Threads = 0
	same.Input.Patterns = nil // the parts are what they matched
	same.Output, same.Work = "", ""
	b, err := json.Marshal(struct {
		Job   Job
		Piece *Piece
	}{same, p})
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), err
}

// Name is the name of a piece's file in a folder.
func (p *Piece) Name(folder, kind, ending string) string {
	return storage.Join(folder, fmt.Sprintf("%s-%05d-of-%05d.%s", kind, p.Index, p.Of, ending))
}

// Shard is where a piece's records are.
func (j *Job) Shard(p *Piece) string { return p.Name(j.Output, j.shards(), "jsonl") }

// shards begins the names of the files of records.
func (j *Job) shards() string {
	return map[string]string{Score: "scores", Filter: "kept", Generate: "texts"}[j.Command]
}

// Errors is where the records of a piece are that were set aside.
func (j *Job) Errors(p *Piece) string {
	return p.Name(storage.Join(j.Output, "errors"), "errors", "jsonl")
}

// Ledger is where a piece's entries are, and Done is the mark that all of its files are there.
func (j *Job) Ledger(p *Piece) string { return p.Name(j.Work, "ledger", "gob") }
func (j *Job) Done(p *Piece) string   { return p.Name(j.Work, "done", "json") }

// Manifest and Report are the files that a run ends with.
func (j *Job) Manifest() string { return storage.Join(j.Output, "manifest.json") }
func (j *Job) Report() string   { return storage.Join(j.Output, "report.html") }

// ModelName names the checkpoint for people.
func (m *Model) ModelName() string {
	if m.Path == "" {
		return "the embedded demo"
	}
	return path.Base(m.Path)
}

// Described is what the results depend on beside the model, for people and for the manifest.
func (j *Job) Described() map[string]any {
	d := map[string]any{"input": j.Input.Patterns, "form": j.Input.Form}
	if j.Fields.Text != "" {
		d["text_field"] = j.Fields.Text
	}
	return d
}
