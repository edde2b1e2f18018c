// Merging: which weights of a checkpoint its adapters change, and what the model has afterwards.

package checkpoint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/weights"
)

// A merging is a checkpoint while adapters are added to it.
type merging struct {
	base    *weights.Tensors
	config  model.Config // of the base; tied: one without a head has wte for it
	prefix  string       // of the names of the stack: "transformer." or ""
	changes map[string]*change
	grown   *openAdapter     // whose vocabulary has another size than the base's, nil if none has
	configs []*adapterConfig // of the adapters, all of one kind
	virtual *weights.Tensor

	reports []AdapterReport
}

// A change is what becomes of one tensor.
type change struct {
	tensor  weights.Tensor // the base's, or the one in its place
	by      string         // the file of the adapter that it is from, "" for the base
	updates []*update      // of it, in their order

	mu    sync.Mutex
	ready bool // the updates are prepared
}

// merge merges the adapters into the checkpoint, in their order, and returns what they change. The
// tensors that they do not change are the base's own, which the checkpoint closes unless they are
// lent. After an error its tensors are still the base's.
func (c *Checkpoint) merge(options Options, lent bool) (_ map[string]*change, err error) {
	m := merging{base: c.Tensors, config: c.Config, changes: map[string]*change{}}
	if _, ok := m.base.Tensor("transformer.wte.weight"); ok {
		m.prefix = "transformer."
	}
	var opened closers
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	source := weights.Source{Name: m.base.Name(), Metadata: m.base.Metadata(), Size: m.base.Size(),
		Close: opened.close}
	for _, a := range options.Adapters {
		o, err := a.open()
		if err != nil {
			return nil, err
		}
		opened.add(o.tensors.Close)
		source.Size += o.tensors.Size()
		if err := m.add(o); err != nil {
			return nil, fmt.Errorf("%s: %w", o.path, err)
		}
		c.Notes = append(c.Notes, o.note())
		c.tell(o.unread()...)
		if o.config.labels != nil {
			c.labels = o.config.labels
		}
	}
	if err := m.combine(options.Combine); err != nil {
		return nil, err
	}
	if err := m.settleHead(&c.Config); err != nil {
		return nil, err
	}
	if o := m.grown; o != nil { // the model has its vocabulary and, if there is one, its tokenizer
		c.Config.VocabSize = m.of(m.prefix + "wte.weight").tensor.Shape[0]
		if hasTokenizerFile(o.files) {
			c.vocabulary, c.words = nil, o.files
		}
	}
	source.Tensors = m.tensors()
	merged, err := weights.New(source)
	if err != nil {
		return nil, err
	}
	if !lent {
		opened.add(m.base.Close)
	}
	bases := map[string]weights.Tensor{}
	for name := range m.changes {
		if t, ok := m.base.Tensor(name); ok {
			bases[name] = t
		}
	}
	maps.Copy(bases, c.bases)
	c.Tensors, c.Adapters = merged, slices.Concat(c.Adapters, m.reports)
	c.adapted, c.tied, c.bases = true, false, bases
	return m.changes, nil
}

// With returns the checkpoint as Options.Adapters would have made it, had they these adapters after
// its own. The tensors that these do not change are c's, which must stay open; Change tells the
// others. An adapter that changes the vocabulary, or what is no part of the decoder, as a
// classifier's head, is an error.
func (c *Checkpoint) With(adapters ...Adapter) (*Checkpoint, error) {
	v := *c
	v.Notes, v.Unread = nil, nil
	changes, err := v.merge(Options{Adapters: adapters}, true)
	if err != nil {
		return nil, err
	}
	v.labels = nil
	v.Change = model.Change{Tensors: v.Tensors, Digest: v.Digest}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		part, _, _ := strings.Cut(strings.TrimPrefix(name, "transformer."), ".")
		if !listed("h wte wpe ln_f lm_head", part) {
			err = fmt.Errorf("%s is no part of the decoder", quote.Plain(name, 80))
		}
		if change := changes[name]; len(change.updates) > 0 || change.by != "" {
			v.Change.Names = append(v.Change.Names, name)
		}
	}
	switch {
	case v.VirtualTokens() > 0:
		err = errors.New("virtual tokens")
	case v.Config.VocabSize != c.Config.VocabSize:
		err = fmt.Errorf("its vocabulary has %d ids, want the model's %d", v.Config.VocabSize,
			c.Config.VocabSize)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: it has to be the server's only one",
			adapters[0].Path, err), v.Close())
	}
	return &v, nil
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
	if m.virtual != nil {
		all = append(all, *m.virtual)
	}
	return all
}

// add adds one adapter.
func (m *merging) add(o *openAdapter) (err error) {
	defer caught(&err)
	m.configs = append(m.configs, &o.config)
	if k := m.configs[0].name; len(m.configs) > 1 && (k != o.config.name || o.config.virtual()) {
		return fmt.Errorf("%s after one of %s: want adapters of one peft_type, and at most one of "+
			"virtual tokens", o.config.name, k)
	}
	layers, whole := o.sort()
	if o.config.virtual() {
		m.begin(o, whole)
	}
	if linearKinds()[o.config.name] != nil {
		m.attaches(o)
	}
	if len(layers) == 0 && len(o.left) > 0 && !m.hasTarget(o) {
		return fmt.Errorf("%s: target_modules names no layer of %s", folder.AdapterConfig,
			m.base.Name())
	}
	for _, name := range slices.Sorted(maps.Keys(whole)) {
		m.replace(name, whole[name], o)
	}
	for _, l := range layers {
		m.place(l)
	}
	for _, l := range layers {
		m.update(l, layers)
	}
	m.reports = append(m.reports, o.report(layers, whole))
	return nil
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
		if _, ok := m.base.Tensor(olderHeadName); ok && ours == headName {
			ours = olderHeadName
		}
		return ours, true
	}
	return theirs, false
}

// of returns the change of a weight, which is new if nothing has changed it. It returns nil if the
// base has no such weight.
func (m *merging) of(name string) *change {
	if c := m.changes[name]; c != nil {
		return c
	}
	t, ok := m.base.Tensor(name)
	if !ok && name == headName && m.config.TieWordEmbeddings {
		t, ok = m.base.Tensor(m.prefix + "wte.weight")
		t.Name = headName
	}
	if !ok {
		return nil
	}
	return &change{tensor: t}
}

// replace puts a whole tensor of the adapter in the place of the base's. Beside the decoder there
// may be others: an output head, and the heads of other tasks that modules_to_save names.
func (m *merging) replace(theirs string, t weights.Tensor, o *openAdapter) {
	shown := quote.Plain(t.Name, 80)
	name, decoder := m.name(theirs)
	c := m.of(name)
	if c == nil {
		saved := func(module string) bool { return strings.HasPrefix(theirs, module+".") }
		// PEFT saves it, whatever modules_to_save says
		head := o.config.virtual() && HeadTensor(theirs)
		if decoder && name != headName || !decoder && !head &&
			!slices.ContainsFunc(o.config.targets.saves, saved) {
			fail("%s: the checkpoint %s has no such tensor", shown, m.base.Name())
		}
		c = &change{tensor: t}
	}
	switch {
	case c.by != "":
		copied := strings.Contains(t.Name, ".base_layer.") // as PEFT saves one of the head
		if same, err := t.Equal(c.tensor); copied && err != nil {
			fail("%w", err)
		} else if copied && same {
			return
		}
		fail("%s: %s replaces that tensor too, want one that does", shown, c.by)
	case m.grows(name, t, c.tensor):
		m.grown = o
	case !slices.Equal(t.Shape, c.tensor.Shape):
		fail("%s: shape %v, want %v as in %s", shown, t.Shape, c.tensor.Shape, m.base.Name())
	}
	if _, err := floats(&t); err != nil {
		fail("%w", err)
	}
	t.Name = name
	c.tensor, c.by = t, o.path
	m.changes[name] = c
}

// grows reports whether a tensor is an embedding or a head for another vocabulary than the base's:
// tokens were added before the training.
func (m *merging) grows(name string, t, base weights.Tensor) bool {
	head, _ := m.name(headName)
	return (name == head || name == m.prefix+"wte.weight") && len(t.Shape) == 2 &&
		len(base.Shape) == 2 && t.Shape[0] != base.Shape[0] && t.Shape[1] == base.Shape[1]
}

// update adds what a layer changes of its weight and its bias. all are the adapter's layers.
func (m *merging) update(l *layer, all []*layer) {
	if _, ok := l.parts[tokensDelta]; ok {
		u := l.tokens(tokensDelta)
		own := slices.ContainsFunc(all, func(o *layer) bool {
			return o != l && o.module == "lm_head" && o.parts[tokensDelta].Name != ""
		})
		u.tied = l.module == "transformer.wte" && !own
		m.append(l.module+".weight", u)
		if len(l.parts) == 1 {
			return
		}
	}
	weight, bias := l.config.kind.make(l, all)
	m.append(l.module+".weight", weight)
	if bias == nil {
		return
	}
	name, _ := m.name(l.module + ".bias")
	if c := m.of(name); c == nil && bias.needed {
		fail("%s: the checkpoint %s has no %s", quote.Plain(l.module, 80), m.base.Name(),
			quote.Plain(name, 80))
	} else if c != nil && slices.Equal(c.tensor.Shape, []int{l.out}) && isFloat(c.tensor.DType) {
		m.append(l.module+".bias", bias)
	} else if c != nil {
		fail("%s: %s %v, want floats [%d]", name, c.tensor.DType, c.tensor.Shape, l.out)
	}
}

// append adds an update to a weight that the base has.
func (m *merging) append(theirs string, u *update) {
	name, _ := m.name(theirs)
	c := m.of(name)
	if c.updates = append(c.updates, u); u.first {
		c.updates = slices.Insert(c.updates[:len(c.updates)-1], 0, u)
	}
	m.changes[name] = c
}

// settleHead gives the model a head of its own if the adapters change the embedding or the head, but
// not both to the same: what is trained of one says nothing of the other.
func (m *merging) settleHead(config *model.Config) error {
	embedding, _ := m.name("wte.weight")
	head, _ := m.name(headName)
	if m.changes[embedding] == nil && m.changes[head] == nil {
		return nil
	}
	e, h := m.of(embedding), m.of(head)
	if e == nil || h == nil {
		return nil // model.New tells what is missing, if it is wanted
	}
	if m.config.TieWordEmbeddings {
		both := slices.DeleteFunc(slices.Clone(e.updates), func(u *update) bool { return !u.tied })
		if m.changes[head] == nil && len(both) == len(e.updates) && e.by == "" {
			return nil // the head is still the embedding
		}
		h.updates = append(h.updates, both...)
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
	config.TieWordEmbeddings = false
	m.changes[head] = h
	return nil
}

// begin takes the virtual tokens of an adapter, which the model evaluates.
func (m *merging) begin(o *openAdapter, whole map[string]weights.Tensor) {
	t, ok := whole["prompt_embeddings"]
	delete(whole, "prompt_embeddings")
	n := o.config.whole("num_virtual_tokens", 0, 1)
	wte, there := m.base.Tensor(m.prefix + "wte.weight")
	switch {
	case !ok:
		fail("no prompt_embeddings")
	case o.scale != 1:
		fail("scale %v of virtual tokens, want none", o.scale)
	case !there || len(wte.Shape) != 2:
		fail("the checkpoint %s has no %swte.weight", m.base.Name(), m.prefix)
	}
	width := wte.Shape[1]
	t.Name = model.VirtualEmbeddings
	if o.config.name == "PREFIX_TUNING" || o.config.name == "CARTRIDGE" {
		t.Name, width = model.VirtualKeysValues, 2*m.config.Layer*width
	}
	for key, want := range map[string]int{"token_dim": wte.Shape[1], "num_layers": m.config.Layer,
		"num_attention_heads": m.config.Head, "num_transformer_submodules": 1} {
		if x := o.config.whole(key, want, 1); x != want {
			failConfig("%s: %d, want %d", key, x, want)
		}
	}
	if !slices.Equal(t.Shape, []int{n, width}) {
		fail("prompt_embeddings: shape %v, want %v", t.Shape, []int{n, width})
	}
	m.virtual = &t
}
