// Package show is what commands show of models: objects for JSON, and the same as text for people.
package show

// Inspections: what a checkpoint holds, and what it needs; and their text for people.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// An Inspection is what gpt inspect prints.
type Inspection struct {
	Model   string            `json:"model"`
	Config  model.Config      `json:"config"`             // with generation_config.json's ids
	IDsFrom map[string]string `json:"ids_from,omitempty"` // the file, where it has them

	// its fields that options take
	Sampling map[string]json.RawMessage `json:"sampling,omitempty"`

	Source   string            `json:"source"`              // the format of the file: "safetensors"
	Vocab    string            `json:"tokenizer,omitempty"` // its kind
	Notes    []string          `json:"notes"`               // what files leave open, and the answer
	Format   string            `json:"format"`              // "" if the model cannot run
	Metadata map[string]string `json:"metadata"`
	Tensors  []inspectedTensor `json:"tensors"`
	Ignored  []string          `json:"ignored"`
	// in the files, those of other heads too: masks, and what is stored twice, do not count
	Parameters int64  `json:"parameters"`
	Bytes      int64  `json:"bytes"` // of the files
	Memory     memory `json:"memory"`
	Problem    string `json:"problem,omitempty"` // why the model cannot run

	Adapters []checkpoint.AdapterReport `json:"adapters,omitempty"`
	Changes  []checkpoint.Change        `json:"changes,omitempty"` // of tensors, the most first
}

type inspectedTensor struct {
	Name    string `json:"name"`
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Bytes   int64  `json:"bytes"`
	Ignored bool   `json:"ignored,omitempty"`
	Head    bool   `json:"head,omitempty"`  // for gpt classify and /classify only
	Added   bool   `json:"added,omitempty"` // in no file: zeros
}

// memory is in bytes, for one session at full context.
type memory struct {
	Weights   int64 `json:"weights"`  // mapped from the file, and shared
	KeyValues int64 `json:"kv_cache"` // in pages of 64 positions
	Total     int64 `json:"total"`
}

func newInspection(name string, config model.Config, file *weights.Tensors) *Inspection {
	i := &Inspection{Model: name, Config: config, Metadata: file.Metadata(), Ignored: []string{},
		Notes: []string{}, Bytes: file.Size()}
	i.takeGeneration()
	for _, t := range file.All() {
		i.Tensors = append(i.Tensors, inspectedTensor{
			Name: t.Name, DType: string(t.DType), Shape: append([]int{}, t.Shape...),
			Bytes: t.Size(), Added: t.Added,
		})
	}
	return i
}

// takeGeneration takes the ids of a generation_config.json for config.json's, which they outrank.
func (i *Inspection) takeGeneration() {
	const name = folder.Generation
	g := i.Config.Generation
	i.IDsFrom = map[string]string{}
	if g.BOSTokenID != nil {
		i.Config.BOSTokenID, i.IDsFrom["bos_token_id"] = g.BOSTokenID, name
	}
	if g.EOSTokenIDs != nil {
		i.Config.EOSTokenIDs, i.IDsFrom["eos_token_id"] = g.EOSTokenIDs, name
	}
	i.Sampling = g.Sampling
}

// ignore marks the tensors of these names, which the decoder ignores.
func (i *Inspection) ignore(names []string) {
	for j := range i.Tensors {
		t := &i.Tensors[j]
		if !slices.Contains(names, t.Name) {
			continue
		}
		if t.Head = checkpoint.HeadTensor(t.Name); !t.Head {
			t.Ignored, i.Ignored = true, append(i.Ignored, t.Name)
		}
	}
}

// masks returns the names of causal masks.
func (i *Inspection) masks() []string {
	var all []string
	for _, t := range i.Tensors {
		all = append(all, t.Name)
	}
	others := model.Unused(all)
	return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(others, name) })
}

// Inspect inspects a checkpoint that is open. problem says why it cannot run. The memory is for a
// cache of that number format.
func Inspect(name string, c *checkpoint.Checkpoint, cache string) (i *Inspection, problem error) {
	return inspectWith(name, c, cache, func() (string, []string, error) {
		m, err := model.New(context.Background(), c.Config, c.Tensors,
			model.Options{Threads: 1, CacheFormat: cache, Headless: true})
		if err != nil {
			return "", nil, err
		}
		defer m.Close()
		return m.Format(), m.Ignored(), nil
	})
}

// inspectWith is Inspect with a function that returns the model's number format and the tensors
// that it ignores.
func inspectWith(
	name string, c *checkpoint.Checkpoint, cache string, try func() (string, []string, error),
) (i *Inspection, problem error) {
	i = newInspection(name, c.Config, c.Tensors)
	i.Source, i.Notes = c.Format(), append(i.Notes, c.Notes...)
	i.Adapters = c.Adapters
	if t, err := c.Tokenizer(); err == nil {
		i.Vocab = fmt.Sprintf("%s, %d ids", t.Kind(), t.Size())
		if missing := Missing(t, 0); missing != "" {
			i.Notes = append(i.Notes, "tokenizer: "+missing)
		}
	}
	format, ignored, problem := try()
	if problem == nil {
		i.Changes, problem = c.Changes()
	}
	if problem == nil {
		i.Format = format
		i.ignore(ignored)
	} else {
		i.Problem = problem.Error()
		i.ignore(i.masks())
	}
	if !c.Config.TieWordEmbeddings && !slices.ContainsFunc(i.Tensors, func(t inspectedTensor) bool {
		return isHead(t.Name)
	}) {
		i.Notes = append(i.Notes, model.ErrNoLogits.Error()+": it classifies or embeds texts, and writes none")
	}
	untied, err := c.Untied()
	if err != nil {
		untied = true
		i.Notes = append(i.Notes, "lm_head.weight counts as weights of its own: only its bytes "+
			"tell whether it is wte.weight once more")
	}
	i.measure(c.Config, untied, cache)
	return i, problem
}

// InspectRemote inspects a checkpoint at the hub, of whose weights it reads the headers. problem
// says why it cannot run, err why it cannot be shown. The memory is for a cache of that number
// format.
func InspectRemote(
	name hub.Name, far *hub.Remote, o checkpoint.Options, cache string,
) (i *Inspection, problem, err error) {
	c, err := checkpoint.OpenFS(far, far.Weights, o)
	if err == nil {
		defer c.Close()
		i, problem = inspectWith(name.String(), c, cache, func() (string, []string, error) {
			return model.Check(c.Config, c.Tensors)
		})
	}
	switch {
	case far.Err() != nil:
		return nil, nil, far.Err()
	case errors.Is(err, folder.ErrFar):
		err = fault.Hint(err, fmt.Sprintf("gpt pull %s downloads it (%s), then gpt inspect %s shows it",
			name, quote.Size(far.Size), name))
	}
	return i, problem, err
}

// measure counts what the files hold, and what the model needs with a cache of that format.
func (i *Inspection) measure(c model.Config, untied bool, cache string) {
	once := untied || !slices.ContainsFunc(i.Tensors, func(t inspectedTensor) bool {
		return strings.HasSuffix(t.Name, "wte.weight")
	})
	masks := i.masks()
	for _, t := range i.Tensors {
		if isHead(t.Name) && !once {
			continue
		}
		if !t.Added && !slices.Contains(masks, t.Name) {
			i.Parameters += t.parameters(c)
		}
		if !t.Ignored && !t.Head {
			i.Memory.Weights += t.Bytes
		}
	}
	i.Memory.KeyValues = c.CacheBytes(cache, c.Positions)
	i.Memory.Total = i.Memory.Weights + i.Memory.KeyValues
}

// parameters is the number of elements, those of the matrix where a tensor is q8 or q4.
func (t *inspectedTensor) parameters(c model.Config) int64 {
	n, inner := int64(c.Embd), int64(c.Inner)
	if t.DType == string(weights.U8) {
		switch name := strings.TrimSuffix(t.Name, ".weight"); {
		case strings.HasSuffix(name, "wte"), isHead(t.Name):
			return int64(c.VocabSize) * n
		case strings.HasSuffix(name, ".attn.c_attn"):
			return 3 * n * n
		case strings.HasSuffix(name, ".attn.c_proj"):
			return n * n
		case strings.HasSuffix(name, ".mlp.c_fc"), strings.HasSuffix(name, ".mlp.c_proj"):
			return n * inner
		}
		return 0
	}
	return int64(weights.Tensor{Shape: t.Shape}.Len())
}

// adapterText lays out what the adapters are, and the tensors that they change most.
func (i *Inspection) adapterText(b *bytes.Buffer) {
	for _, a := range i.Adapters {
		of := ""
		for k, rank := range a.Ranks {
			of += []string{" of rank ", ", "}[min(k, 1)] + strconv.Itoa(rank)
		}
		fmt.Fprintf(b, "\nadapter %s\n  %s%s times %v, %s, %s, for %s\n", a.Path, a.Kind, of, a.Scale,
			quote.Count(int(a.Parameters), "parameter"), quote.Count(int(a.Bytes), "byte"),
			strings.Join(a.Targets, ", "))
	}
	const most = 5
	for k, c := range i.Changes[:min(most, len(i.Changes))] {
		if k == 0 {
			fmt.Fprintf(b, "\n%s changed, most of all\n", quote.Count(len(i.Changes), "tensor"))
		}
		fmt.Fprintf(b, "  %s by %.3g of its norm\n", c.Name, c.By)
	}
}

// isHead reports whether a tensor is weights for the logits. A head that is wte once more is not
// read.
func isHead(name string) bool { return strings.HasPrefix(name, "lm_head.") }

// Text lays an inspection out for people: what a model is and needs comes last, where a terminal
// still shows it.
func (i *Inspection) Text() []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&b, "%s\n", quote.Count(len(i.Tensors), "tensor"))
	for _, t := range i.Tensors {
		mark := ""
		switch {
		case t.Ignored:
			mark = "\tignored"
		case t.Head:
			mark = "\tfor gpt classify"
		case t.Added:
			mark = "\tzeros, in no file"
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
	i.adapterText(&b)
	fmt.Fprint(&b, "\nconfig\n")
	for _, line := range configLines(i.Config) {
		if from := i.IDsFrom[line[0]]; from != "" {
			line[1] += "\t" + from
		}
		fmt.Fprintf(w, "  %s\t%s\n", line[0], line[1])
	}
	for _, field := range slices.Sorted(maps.Keys(i.Sampling)) {
		fmt.Fprintf(w, "  %s\t%s\t%s\n", field, quote.Plain(string(i.Sampling[field]), 60),
			folder.Generation)
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
	fmt.Fprintf(w, "bytes\t%d\t%s\n", i.Bytes, quote.LongSize(i.Bytes))
	if i.Format != "" {
		fmt.Fprintf(w, "format\t%s\n", i.Format)
	}
	fmt.Fprintf(w, "memory at full context\t%d\t%s\n", i.Memory.Total,
		quote.LongSize(i.Memory.Total))
	fmt.Fprintf(w, "  weights\t%d\t%s\n", i.Memory.Weights, quote.LongSize(i.Memory.Weights))
	fmt.Fprintf(w, "  keys and values\t%d\t%s, of %d positions\n", i.Memory.KeyValues,
		quote.LongSize(i.Memory.KeyValues), i.Config.Positions)
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

// Missing says which bytes a vocabulary has no token for, and what becomes of them in texts; "" if
// there are none. It lists the first so many ranges of bytes; 0 lists all.
func Missing(t *tokenizer.Tokenizer, most int) string {
	missing, unknown := t.Missing()
	if len(missing) == 0 {
		return ""
	}
	fate := "texts lose them"
	if token, err := t.Text(unknown); err == nil {
		fate = "in texts each becomes " + quote.Plain(token, 40)
	}
	list := byteRanges(missing)
	if most > 0 && len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return fmt.Sprintf("no token for %s of 256, and %s: %s", quote.Count(len(missing), "byte"),
		fate, strings.Join(list, ", "))
}

// byteRanges names bytes, which ascend: "<", 0x7f, 0xc0-0xc3.
func byteRanges(list []byte) (names []string) {
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 &&
			isPrinted(list[last+1]) == isPrinted(list[i]) {
			last++
		}
		if last == i {
			names = append(names, byteName(list[i]))
		} else {
			names = append(names, byteName(list[i])+"-"+byteName(list[last]))
		}
		i = last + 1
	}
	return names
}

func isPrinted(b byte) bool { return ' ' <= b && b < 0x7f }

// byteName names a byte: as it is printed, or by its value.
func byteName(b byte) string {
	if isPrinted(b) {
		return strconv.Quote(string(rune(b)))
	}
	return fmt.Sprintf("0x%02x", b)
}
