// Package job says what a run of the pipeline does: one value that travels to every worker.
package job

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"picogpt/corpus/internal/input"
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
	Workers int    // pieces that one process works on side by side
	Share   Share  // of the pieces

	Score      ScoreOptions      // for score and filter
	Filter     FilterOptions     // for filter
	Perplexity PerplexityOptions // for perplexity
	Generate   GenerateOptions   // for generate
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
	Name       string // as it was asked for, for people; "" is the embedded demo
	Path       string // "" is the embedded demo
	GELU       string
	Dtype      string
	CacheDtype string

	Threads int // change no bit
}

// ScoreOptions are those of gpt score.
type ScoreOptions struct {
	BOS     bool      `json:"bos"`
	Top     int       `json:"top,omitempty"`
	Offsets eval.Unit `json:"offsets"`
	Fields  []string  `json:"fields,omitempty"`
	Keep    bool      `json:"keep,omitempty"`
}

// FilterOptions say which documents stay: those for which all holds that is asked for.
type FilterOptions struct {
	Keep       string  `json:"keep,omitempty"`  // a range of ranks, as ParseRanks reads it
	Above      float64 `json:"above,omitempty"` // perplexities that are no less
	Below      float64 `json:"below,omitempty"` // and those that are less
	ScoreField string  `json:"score_field"`     // the member that is added
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

// Key tells the work on a piece from any other. What changes no bit is not in it.
func (j *Job) Key(p *Piece) (string, error) {
	same := *j
	same.Model.Name, same.Model.Threads = "", 0
	same.Input.Patterns = nil // the parts are what they matched
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

// ModelName names the checkpoint for people.
func (m *Model) ModelName() string {
	return cmp.Or(m.Name, "the embedded demo")
}

// Described is what the results depend on, for the manifest.
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
		o.Generate = &j.Generate
	}
	return o
}

// Options are the flags that results depend on.
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
