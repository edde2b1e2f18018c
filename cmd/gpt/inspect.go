package main

// gpt inspect: what a checkpoint holds, and what it needs.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"picogpt/internal/amount"
	"picogpt/internal/cli"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/weights"
)

type inspectCommand struct {
	Path   *string
	Remote bool
	JSON   bool
}

func newInspect(a *app) *cli.Command {
	c := &inspectCommand{}
	return &cli.Command{
		Name: "inspect", Group: "models",
		Short: "show what a checkpoint holds and how much memory it needs",
		Args: []cli.Arg{
			cli.OptionalWord(&c.Path, "model", "the checkpoint to show, as for --model"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Remote, "--remote",
				"show a checkpoint at the Hugging Face hub, and download none of its weights")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, opens|cacheDtype)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Shows the config, each tensor with its shape and type, the number of parameters, the bytes
of the files, and the memory that the weights and one session at the model's full context need.
Tensors that the model does not use are marked as ignored: masks, and heads of other tasks.

A checkpoint that cannot run is shown as far as it can be read. The reason goes to stderr, and the
exit status is 1.

With --remote, MODEL is a repository of the hub, as for gpt pull. Its config and the headers of its
safetensors are read by requests for parts of the files, some 100 kB. With -v, stderr says how many
bytes came.

Examples:

  gpt inspect
  gpt inspect ~/models/gpt2 --json
  gpt inspect --remote openai-community/gpt2-xl`,
	}
}

func (c *inspectCommand) Run(a *app) error {
	if c.Path != nil && *c.Path == "" {
		return usagef("model: want a directory or a file, found nothing")
	}
	inspect := a.inspectLocal
	if c.Remote {
		inspect = a.inspectRemote
	}
	i, problem, err := inspect(c)
	if err != nil {
		return err
	}
	if c.JSON {
		err = strictjson.Print(a.stdout, i)
	} else {
		_, err = a.stdout.Write(i.text())
	}
	if err != nil {
		return err
	}
	return problem
}

// inspectLocal inspects a checkpoint on this machine. problem says why it cannot run.
func (a *app) inspectLocal(c *inspectCommand) (i *inspection, problem, err error) {
	if c.Path != nil {
		a.Model = c.Path
	}
	opened, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	config, file := opened.Config, opened.Tensors
	i = newInspection(a.modelName(), config, file)
	i.Source, i.Notes = opened.Format(), append(i.Notes, opened.Notes...)
	if t, err := opened.Tokenizer(); err == nil {
		i.Vocab = fmt.Sprintf("%s, %d ids", t.Kind(), t.Size())
	}
	m, problem := model.New(context.Background(), config, file,
		model.Options{Threads: 1, CacheFormat: a.CacheDtype})
	if problem == nil {
		i.Format = m.Format()
		i.ignore(m.Ignored())
		m.Close()
	} else {
		i.Problem = problem.Error()
	}
	i.measure(config, opened.Untied(), a.CacheDtype)
	return i, problem, nil
}

// An inspection is what gpt inspect prints.
type inspection struct {
	Model    string            `json:"model"`
	Config   model.Config      `json:"config"`
	Source   string            `json:"source"`              // the format of the file: "safetensors"
	Vocab    string            `json:"tokenizer,omitempty"` // its kind
	Notes    []string          `json:"notes"`               // what the files leave open, and how it was settled
	Format   string            `json:"format"`              // "" if the model cannot run
	Metadata map[string]string `json:"metadata"`
	Tensors  []inspectedTensor `json:"tensors"`
	Ignored  []string          `json:"ignored"`
	// of the model: what is ignored or stored twice does not count
	Parameters int64  `json:"parameters"`
	Bytes      int64  `json:"bytes"` // of the files
	Memory     memory `json:"memory"`
	Problem    string `json:"problem,omitempty"` // why the model cannot run
}

type inspectedTensor struct {
	Name    string `json:"name"`
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Bytes   int64  `json:"bytes"`
	Ignored bool   `json:"ignored,omitempty"`
}

// memory is in bytes, for one session at full context.
type memory struct {
	Weights   int64 `json:"weights"`  // mapped from the file, and shared
	KeyValues int64 `json:"kv_cache"` // in pages of 64 positions
	Total     int64 `json:"total"`
}

func newInspection(name string, config model.Config, file *weights.Tensors) *inspection {
	i := &inspection{Model: name, Config: config, Metadata: file.Metadata(), Ignored: []string{},
		Notes: []string{}, Bytes: file.Size()}
	for _, t := range file.All() {
		i.Tensors = append(i.Tensors, inspectedTensor{
			Name: t.Name, DType: string(t.DType), Shape: append([]int{}, t.Shape...),
			Bytes: t.Size(),
		})
	}
	return i
}

func (i *inspection) ignore(names []string) {
	i.Ignored = append(i.Ignored, names...)
	for j := range i.Tensors {
		i.Tensors[j].Ignored = slices.Contains(names, i.Tensors[j].Name)
	}
}

// measure counts what the config asks for, with a cache of that format.
func (i *inspection) measure(c model.Config, untied bool, cache string) {
	const page = 64
	n, inner := int64(c.Embd), int64(c.Inner)
	// ln_1, ln_2; c_attn; c_proj; c_fc; c_proj
	block := 4*n + n*3*n + 3*n + n*n + n + n*inner + inner + inner*n + n
	i.Parameters = int64(c.VocabSize)*n + int64(c.Positions)*n + int64(c.Layer)*block + 2*n
	if untied {
		i.Parameters += int64(c.VocabSize) * n
	}
	for _, t := range i.Tensors {
		if !t.Ignored && (untied || !isHead(t.Name)) {
			i.Memory.Weights += t.Bytes
		}
	}
	pages := (int64(c.Positions) + page - 1) / page
	number := int64(4)
	if cache == "f16" {
		number = 2
	}
	i.Memory.KeyValues = 2 * int64(c.Layer) * n * pages * page * number
	i.Memory.Total = i.Memory.Weights + i.Memory.KeyValues
}

// text lays an inspection out for people: what a model is and needs comes last, where a terminal
// still shows it.
func (i *inspection) text() []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&b, "%s\n", amount.Count(len(i.Tensors), "tensor"))
	for _, t := range i.Tensors {
		mark := ""
		if t.Ignored {
			mark = "\tignored"
		}
		fmt.Fprintf(w, "  %s\t%s\t%v\t%d%s\n", t.Name, t.DType, t.Shape, t.Bytes, mark)
	}
	w.Flush()
	if len(i.Metadata) > 0 {
		fmt.Fprint(&b, "\nmetadata\n")
		for _, key := range slices.Sorted(maps.Keys(i.Metadata)) {
			fmt.Fprintf(&b, "  %q: %q\n", key, i.Metadata[key])
		}
	}
	fmt.Fprint(&b, "\nconfig\n")
	for _, line := range configLines(i.Config) {
		fmt.Fprintf(w, "  %s\t%s\n", line[0], line[1])
	}
	w.Flush()
	fmt.Fprintf(w, "\nmodel\t%s\n", i.Model)
	fmt.Fprintf(w, "file\t%s\n", i.Source)
	for _, note := range i.Notes {
		fmt.Fprintf(w, "note\t%s\n", note)
	}
	if i.Vocab != "" {
		fmt.Fprintf(w, "tokenizer\t%s\n", i.Vocab)
	}
	fmt.Fprintf(w, "parameters\t%d\n", i.Parameters)
	fmt.Fprintf(w, "bytes\t%d\t%s\n", i.Bytes, amount.LongSize(i.Bytes))
	if i.Format != "" {
		fmt.Fprintf(w, "format\t%s\n", i.Format)
	}
	fmt.Fprintf(w, "memory at full context\t%d\t%s\n", i.Memory.Total, amount.LongSize(i.Memory.Total))
	fmt.Fprintf(w, "  weights\t%d\t%s\n", i.Memory.Weights, amount.LongSize(i.Memory.Weights))
	fmt.Fprintf(w, "  keys and values\t%d\t%s, of %d positions\n", i.Memory.KeyValues,
		amount.LongSize(i.Memory.KeyValues), i.Config.Positions)
	w.Flush()
	return b.Bytes()
}

// configLines lists a config's fields under their names in config.json.
func configLines(c model.Config) (lines [][2]string) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	strictjson.Members(b, func(key string, value json.RawMessage) error {
		lines = append(lines, [2]string{key, string(value)})
		return nil
	})
	return lines
}
