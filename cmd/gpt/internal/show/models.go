package show

// What stands in lists: the models of a cache, what can compute them, files of sessions and of
// texts that are compressed.

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/x/textzip"
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
		format = cmp.Or(format, "-")
		switch problem := checkpoints.WithoutFolder(m.Problem, m.Path); {
		case !m.Runs:
			runs = "no: " + problem
		case problem != "":
			runs = "on ids alone: " + problem
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, quote.Size(m.Bytes), format,
			terminal.Printable(runs))
	}
	w.Flush()
	return b.Bytes()
}

// A Device is what gpt devices prints of one.
type Device struct {
	Device   string   `json:"device"`
	Name     string   `json:"name"`
	Platform string   `json:"platform"`
	Memory   int64    `json:"memory_bytes,omitempty"`
	Lacks    []string `json:"lacks"`
	Probe    string   `json:"probe"` // "passed", or why not
}

// Show writes a device: its name and memory, its platform, and what the probe says.
func (d *Device) Show(p *cli.Page) {
	const indent = 10
	about := d.Name
	if d.Memory > 0 {
		about += fmt.Sprintf(", %.1f GB", float64(d.Memory)/1e9)
	}
	probe := "probe passed"
	if d.Probe != "passed" {
		probe = "refused: " + d.Probe
	}
	p.Wrap(fmt.Sprintf("%-*s", indent, d.Device), indent, about)
	for _, text := range []string{d.Platform, probe} {
		p.Wrap(strings.Repeat(" ", indent), indent, text)
	}
}

// A Session is the description of a file that keeps a session.
type Session struct {
	Model      string `json:"model"` // digest
	Format     string `json:"format"`
	Cache      string `json:"cache"`
	Arithmetic int    `json:"arithmetic"`
	Tokens     []int  `json:"tokens"`
	Note       string `json:"note,omitempty"` // gpt chat's is the conversation
	Bytes      int64  `json:"bytes"`
}

// SessionOf describes a file of that size.
func SessionOf(s *model.Snapshot, size int64) Session {
	return Session{s.Model, s.Weights, s.Cache, s.Arithmetic, s.Tokens, string(s.Note), size}
}

// Text lays the description out for people.
func (s Session) Text() []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", s.Model)
	fmt.Fprintf(w, "format\t%s\n", Formats(s.Format, s.Cache))
	fmt.Fprintf(w, "arithmetic\t%d\n", s.Arithmetic)
	fmt.Fprintf(w, "tokens\t%d\n", len(s.Tokens))
	if s.Note != "" {
		fmt.Fprintf(w, "note\t%s\n", quote.LongSize(int64(len(s.Note))))
	}
	fmt.Fprintf(w, "bytes\t%d\t%s\n", s.Bytes, quote.LongSize(s.Bytes))
	w.Flush()
	return b.Bytes()
}

// Packed lays the description of a .gptz file out for people.
func Packed(i textzip.Info) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", i.Name)
	fmt.Fprintf(w, "digest\t%s\n", i.Model)
	fmt.Fprintf(w, "tokenizer\t%s\n", i.Tokenizer)
	fmt.Fprintf(w, "format\t%s\n", Formats(i.Format, i.Cache))
	fmt.Fprintf(w, "arithmetic\t%d\n", i.Arithmetic)
	fmt.Fprintf(w, "window\t%d\toverlap %d\n", i.Window, i.Overlap)
	fmt.Fprintf(w, "streams\t%d\n", i.Streams)
	var kinds []string
	for _, kind := range []string{"model", "zstd", "stored"} {
		if n := i.Blocks[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(kinds) == 0 {
		kinds = []string{"none"}
	}
	fmt.Fprintf(w, "blocks\t%s\n", strings.Join(kinds, ", "))
	fmt.Fprintf(w, "text\t%d\t%s\n", i.Text, quote.LongSize(i.Text))
	fmt.Fprintf(w, "bytes\t%d\t%s", i.Bytes, quote.LongSize(i.Bytes))
	if i.Text > 0 {
		fmt.Fprintf(w, ", %.3f bits a byte of text", 8*float64(i.Bytes)/float64(i.Text))
	}
	fmt.Fprintln(w)
	w.Flush()
	return b.Bytes()
}
