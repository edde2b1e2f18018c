package checkpoint

// Merging: which weights of a checkpoint its adapters change, and what the model has afterwards.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/weights"
)

// A merging is a checkpoint while adapters are added to it.
type merging struct {
	base    *weights.Tensors
	prefix  string // of the names of the stack: "transformer." or ""
	changes map[string]*change
	grown   *openAdapter // whose vocabulary has another size than the base's, nil if none has
}

// A change is what becomes of one tensor.
type change struct {
	tensor  weights.Tensor // the base's, or the one in its place
	by      string         // the file of the adapter that it is from, "" for the base
	updates []update       // that are added to it
}

// merge merges the adapters into the checkpoint, in their order. The tensors that they do not change
// are the base's own. After an error the caller still has to close f.tensors.
func (f *found) merge(adapters []Adapter) (err error) {
	m := merging{base: f.tensors, changes: map[string]*change{}}
	if _, ok := m.base.Tensor("transformer.wte.weight"); ok {
		m.prefix = "transformer."
	}
	source := weights.Source{Name: m.base.Name(), Metadata: m.base.Metadata(), Size: m.base.Size()}
	var closers []func() error
	closeAll := func() (all error) {
		for _, c := range closers {
			all = errors.Join(all, c())
		}
		return all
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	for _, a := range adapters {
		o, err := a.open()
		if err != nil {
			return err
		}
		closers = append(closers, o.tensors.Close)
		source.Size += o.tensors.Size()
		if err := m.add(o); err != nil {
			return fmt.Errorf("%s: %w", o.path, err)
		}
		f.notes = append(f.notes, o.note())
		f.tell(o.unread()...)
		if o.config.labels != nil {
			f.labels = o.config.labels
		}
	}
	if err := m.settleHead(f); err != nil {
		return err
	}
	if m.grown != nil {
		m.settleVocabulary(f)
	}
	source.Tensors = m.tensors()
	closers = append(closers, m.base.Close)
	source.Close = closeAll
	merged, err := weights.New(source)
	if err != nil {
		closers = closers[:len(closers)-1] // the caller closes the base
		return err
	}
	f.tensors = merged
	return nil
}

// note says for users what was merged.
func (o *openAdapter) note() string {
	of := ""
	if o.config.base != "" {
		of = ", made for " + o.config.base
	}
	return fmt.Sprintf("adapter %s: LoRA times %v%s", o.path, o.scale, of)
}

// unread says which parts of an adapter have no effect.
func (o *openAdapter) unread() (all []string) {
	if n := len(o.left); n > 0 {
		all = append(all, fmt.Sprintf("%s: %d of %d modules are left out, because %s does not "+
			"name them: %s", o.path, n, o.modules, folder.AdapterConfig, quote.Some(o.left)))
	}
	if len(o.config.unknown) > 0 {
		all = append(all, fmt.Sprintf("%s: not known, and without effect: %s",
			folder.Path(o.files, folder.AdapterConfig), quote.Some(o.config.unknown)))
	}
	return all
}

// tensors returns the tensors of the merged checkpoint: the base's, in their order, and new ones.
func (m *merging) tensors() (all []weights.Tensor) {
	for _, t := range m.base.All() {
		if c := m.changes[t.Name]; c != nil {
			t = c.merged()
		}
		all = append(all, t)
	}
	for _, name := range slices.Sorted(maps.Keys(m.changes)) {
		if _, ok := m.base.Tensor(name); !ok {
			all = append(all, m.changes[name].merged())
		}
	}
	return all
}

// add adds one adapter.
func (m *merging) add(o *openAdapter) error {
	products, whole, err := o.parts()
	if err != nil {
		return err
	}
	if len(products) == 0 && len(o.left) > 0 && !m.hasTarget(o) {
		return fmt.Errorf("%s: target_modules names no layer of %s", folder.AdapterConfig, m.base.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		if err := m.replace(name, whole[name], o); err != nil {
			return err
		}
	}
	for _, p := range products {
		if err := m.addProduct(p, o); err != nil {
			return err
		}
	}
	return nil
}

// hasTarget reports whether the config of an adapter names a module of the base, as its own layers
// are named.
func (m *merging) hasTarget(o *openAdapter) bool {
	prefix := ""
	if strings.HasPrefix(o.left[0], "transformer.") {
		prefix = "transformer."
	}
	return slices.ContainsFunc(m.base.All(), func(t weights.Tensor) bool {
		module := strings.TrimSuffix(strings.TrimPrefix(t.Name, m.prefix), ".weight")
		return len(t.Shape) == 2 && o.config.targets.has(prefix+module)
	})
}

// name returns the name that the base has for a weight of the adapter's model, and whether it is
// one of the decoder's.
func (m *merging) name(theirs string) (ours string, decoder bool) {
	ours = strings.TrimPrefix(theirs, "transformer.")
	part, _, _ := strings.Cut(ours, ".")
	switch part {
	case "h", "wte", "wpe", "ln_f":
		return m.prefix + ours, true
	case "lm_head":
		const older = "lm_head.decoder.weight"
		if _, ok := m.base.Tensor(older); ok && ours == headName {
			ours = older
		}
		return ours, true
	}
	return theirs, false
}

// headName is the name of the head's weights, which most files leave out, because it is wte.
const headName = "lm_head.weight"

// of returns the change of a weight, which is new if nothing has changed it. It returns nil if the
// base has no such weight.
func (m *merging) of(name string) *change {
	if c := m.changes[name]; c != nil {
		return c
	}
	t, ok := m.base.Tensor(name)
	if !ok && name == headName {
		t, ok = m.base.Tensor(m.prefix + "wte.weight")
		t.Name = headName
	}
	if !ok {
		return nil
	}
	return &change{tensor: t}
}

// replace puts a whole tensor of the adapter in the place of the base's. Beside the decoder there
// may be others, the heads of other tasks: those that modules_to_save names.
func (m *merging) replace(theirs string, t weights.Tensor, o *openAdapter) error {
	shown := quote.Plain(t.Name, 80)
	name, decoder := m.name(theirs)
	c := m.of(name)
	if c == nil {
		saved := func(module string) bool { return strings.HasPrefix(theirs, module+".") }
		if decoder || !slices.ContainsFunc(o.config.targets.saves, saved) {
			return fmt.Errorf("%s: the checkpoint %s has no such tensor", shown, m.base.Name())
		}
		c = &change{tensor: t}
	}
	switch {
	case c.by != "":
		return fmt.Errorf("%s: %s replaces that tensor too, want one that does", shown, c.by)
	case m.grows(name, t, c.tensor):
		m.grown = o
	case !slices.Equal(t.Shape, c.tensor.Shape):
		return fmt.Errorf("%s: shape %v, want %v as in %s", shown, t.Shape, c.tensor.Shape,
			m.base.Name())
	}
	if _, err := floats(&t); err != nil {
		return err
	}
	t.Name = name
	c.tensor, c.by = t, o.path
	m.changes[name] = c
	return nil
}

// grows reports whether a tensor is an embedding or a head for another vocabulary than the base's:
// tokens were added before the training.
func (m *merging) grows(name string, t, base weights.Tensor) bool {
	head, _ := m.name(headName)
	return (name == head || name == m.prefix+"wte.weight") && len(t.Shape) == 2 &&
		len(base.Shape) == 2 && t.Shape[0] != base.Shape[0] && t.Shape[1] == base.Shape[1]
}

// settleVocabulary gives the model the vocabulary of the adapter: its size and, if they are in the
// adapter's folder, the tokenizer's files.
func (m *merging) settleVocabulary(f *found) {
	f.config.VocabSize = m.of(m.prefix + "wte.weight").tensor.Shape[0]
	if hasTokenizerFile(m.grown.files) {
		f.vocabulary, f.words = nil, m.grown.files
	}
}

// addProduct adds a low-rank product to its weight.
func (m *merging) addProduct(p *product, o *openAdapter) error {
	name, _ := m.name(p.module + ".weight")
	c := m.of(name)
	if c == nil {
		return fmt.Errorf("%s: the checkpoint %s has no %s", quote.Plain(p.a.Name, 80),
			m.base.Name(), quote.Plain(name, 80))
	}
	switch w := c.tensor; {
	case len(w.Shape) != 2:
		return fmt.Errorf("%s: %s has shape %v, want two dimensions", quote.Plain(p.a.Name, 80), name,
			w.Shape)
	case w.DType == weights.U8:
		return fmt.Errorf("%s: %s is quantized: merge the adapter into the checkpoint that %s was "+
			"made of", quote.Plain(p.a.Name, 80), name, m.base.Name())
	case !isFloat(w.DType):
		return fmt.Errorf("%s: %s has type %s, want F32, F16, BF16 or F64", quote.Plain(p.a.Name, 80),
			name, w.DType)
	}
	u, err := p.update(c.tensor.Shape, m.layout(name), o)
	if err != nil {
		return err
	}
	c.updates = append(c.updates, u)
	m.changes[name] = c
	return nil
}

func isFloat(t weights.DType) bool {
	return t == weights.F32 || t == weights.F16 || t == weights.BF16 || t == weights.F64
}

// A layout is how a weight that has a product lies in the checkpoint.
type layout int

const (
	outIn  layout = iota // a linear layer, as PyTorch stores it: the heads
	inOut                // GPT-2's Conv1D
	lookup               // an embedding: a row for each id or position
)

// layout returns that of a weight of the base.
func (m *merging) layout(name string) layout {
	switch {
	case name == m.prefix+"wte.weight", name == m.prefix+"wpe.weight":
		return lookup
	case strings.HasPrefix(name, m.prefix+"h."):
		return inOut
	}
	return outIn
}

// settleHead gives the model a head of its own if the adapters change the embedding or the head, but
// not both to the same: what is trained of one says nothing of the other.
func (m *merging) settleHead(f *found) error {
	embedding, _ := m.name("wte.weight")
	head, _ := m.name(headName)
	if m.changes[embedding] == nil && m.changes[head] == nil {
		return nil
	}
	e, h := m.of(embedding), m.of(head)
	if e == nil || h == nil {
		return nil // model.New tells what is missing
	}
	if m.grown != nil && e.tensor.Shape[0] != h.tensor.Shape[0] {
		return fmt.Errorf("%s: %d rows of %s, but %d of %s: want both of the new vocabulary",
			m.grown.path, e.tensor.Shape[0], embedding, h.tensor.Shape[0], head)
	}
	if len(e.updates)+len(h.updates) == 0 {
		if same, err := e.tensor.Equal(h.tensor); err != nil || same {
			return err
		}
	}
	f.config.TieWordEmbeddings = false
	m.changes[head] = h
	return nil
}
