package show

// The models of a cache.

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/quote"
	"picogpt/model"
)

// A Model is a model in the cache, or in the program.
type Model struct {
	Name    string   `json:"name"` // as -m takes it
	Commit  string   `json:"commit"`
	Refs    []string `json:"refs"`
	Path    string   `json:"path"` // "" for the demo, which is in the program
	Bytes   int64    `json:"bytes"`
	Format  string   `json:"format"`            // of the file, "" if it cannot be read
	DType   string   `json:"dtype"`             // "" if the model does not run
	Runs    bool     `json:"runs"`              // its config and tensors fit
	Problem string   `json:"problem,omitempty"` // why it does not, or runs on ids alone
}

// Describe says what a snapshot is, with its checkpoint or why that cannot be opened.
func Describe(s *hub.Snapshot, c *checkpoint.Checkpoint, err error) Model {
	m := Model{Name: s.Name.String(), Commit: s.Commit, Refs: s.Refs, Path: s.Dir,
		Bytes: s.Size()}
	return m.opened(c, err)
}

// Embedded says what the checkpoint in the program is.
func Embedded(name string, bytes int64, c *checkpoint.Checkpoint, err error) Model {
	m := Model{Name: name, Bytes: bytes}
	return m.opened(c, err)
}

// opened adds what a checkpoint says, or why it cannot be opened.
func (m Model) opened(c *checkpoint.Checkpoint, err error) Model {
	if m.Refs == nil {
		m.Refs = []string{}
	}
	if err == nil {
		m.Format = c.Format()
		m.DType, _, err = model.Check(c.Config, c.Tensors)
	}
	if m.Runs = err == nil; m.Runs {
		_, _, err = c.Vocabulary()
	}
	if err != nil {
		m.Problem = quote.OneLine(err)
	}
	return m
}

// Models is a table of models.
func Models(models []Model) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "NAME\tSIZE\tFORMAT\tRUNS\n")
	for _, m := range models {
		format, runs := m.Format, "yes"
		if m.DType != "" {
			format += " " + m.DType
		}
		if format == "" {
			format = "-"
		}
		switch problem := checkpoints.WithoutFolder(m.Problem, m.Path); {
		case !m.Runs:
			runs = "no: " + problem
		case problem != "":
			runs = "on ids alone: " + problem
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, quote.Size(m.Bytes), format, terminal.Printable(runs))
	}
	w.Flush()
	return b.Bytes()
}
