// Merging: which weights of a checkpoint its adapters change, and what the model has afterwards.

package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// A merging is a checkpoint while adapters are added to it.
type merging struct {
	base    *weights.Tensors
	prefix  string // of the names of the stack: "transformer." or ""
	tied    bool   // a base without a head has wte for it
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
	m := merging{base: f.tensors, tied: f.config.TieWordEmbeddings, changes: map[string]*change{}}
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
	source.Close = closeAll
	merged, err := weights.New(source)
	if err != nil {
		return err
	}
	if !f.lent {
		closers = append(closers, m.base.Close)
	}
	f.tensors, f.changes = merged, m.changes
	return nil
}

// With returns the checkpoint as Options.Adapters would have made it, had they these adapters after
// its own. The tensors that these do not change are c's, which must stay open; Change tells the
// others. An adapter that changes the vocabulary, or what is no part of the decoder, as a
// classifier's head, is an error.
func (c *Checkpoint) With(adapters ...Adapter) (_ *Checkpoint, err error) {
	f := &found{config: c.Config, tensors: c.Tensors, lent: true}
	if err := f.merge(adapters); err != nil {
		return nil, err
	}
	v := *c
	v.Config, v.Tensors, v.Notes, v.Unread = f.config, f.tensors, f.notes, f.unread
	v.adapted, v.tied, v.labels = true, false, nil
	v.Change = model.Change{Tensors: v.Tensors, Digest: v.Digest}
	for _, name := range slices.Sorted(maps.Keys(f.changes)) {
		part, _, _ := strings.Cut(strings.TrimPrefix(name, "transformer."), ".")
		if !slices.Contains([]string{"h", "wte", "wpe", "ln_f", "lm_head"}, part) {
			err = fmt.Errorf("%s is no part of the decoder", quote.Plain(name, 80))
		}
		if change := f.changes[name]; len(change.updates) > 0 || change.by != "" {
			v.Change.Names = append(v.Change.Names, name)
		}
	}
	if f.config.VocabSize != c.Config.VocabSize {
		err = fmt.Errorf("its vocabulary has %d ids, want the model's %d", f.config.VocabSize,
			c.Config.VocabSize)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: it has to be the server's only one",
			adapters[0].Path, err), v.Close())
	}
	return &v, nil
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
		if _, ok := m.base.Tensor(olderHeadName); ok && ours == headName {
			ours = olderHeadName
		}
		return ours, true
	}
	return theirs, false
}

// The names of the head's weights, which most files leave out, because it is wte.
const headName, olderHeadName = "lm_head.weight", "lm_head.decoder.weight"

// of returns the change of a weight, which is new if nothing has changed it. It returns nil if the
// base has no such weight.
func (m *merging) of(name string) *change {
	if c := m.changes[name]; c != nil {
		return c
	}
	t, ok := m.base.Tensor(name)
	if !ok && name == headName && m.tied {
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
func (m *merging) replace(theirs string, t weights.Tensor, o *openAdapter) error {
	shown := quote.Plain(t.Name, 80)
	name, decoder := m.name(theirs)
	c := m.of(name)
	if c == nil {
		saved := func(module string) bool { return strings.HasPrefix(theirs, module+".") }
		if decoder && name != headName || !decoder && !slices.ContainsFunc(o.config.targets.saves, saved) {
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
		return nil // model.New tells what is missing, if it is wanted
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

// The arithmetic of merging: a low-rank product that is added to a weight, some rows at a time.

// An update adds scale · left·right to a weight: left is [rows, rank], right [rank, columns].
type update struct {
	left, right []float32
	rank        int
	scale       float32
}

// update returns what a product adds to a weight of that shape and layout.
func (p *product) update(shape []int, l layout, o *openAdapter) (u update, err error) {
	in, out := shape[1], shape[0]
	switch l {
	case inOut:
		in, out = out, in
	case lookup:
		in, out = out, in // lora_embedding_A is [r, ids], lora_embedding_B [width, r]
	}
	switch {
	case p.embedding && l != lookup:
		return u, fmt.Errorf("%s: want lora_A and lora_B for a layer that is no embedding",
			quote.Plain(p.a.Name, 80))
	case !p.embedding && l == lookup:
		return u, fmt.Errorf("%s: want lora_embedding_A and lora_embedding_B for an embedding",
			quote.Plain(p.a.Name, 80))
	}
	u.rank = o.config.rankOf(p.module)
	if r := p.a.Shape[0]; r != u.rank {
		return u, fmt.Errorf("%s: rank %d, want %d as adapter_config.json has it",
			quote.Plain(p.a.Name, 80), r, u.rank)
	}
	for _, half := range []struct {
		t    *weights.Tensor
		want [2]int
	}{{p.a, [2]int{u.rank, in}}, {p.b, [2]int{out, u.rank}}} {
		if [2]int(half.t.Shape) != half.want {
			return u, fmt.Errorf("%s: shape %v, want %v", quote.Plain(half.t.Name, 80), half.t.Shape,
				half.want)
		}
	}
	scale := o.scale * o.config.scaleOf(p.module)
	if u.scale = float32(scale); u.scale-u.scale != 0 {
		return u, fmt.Errorf("%s: scale %v, want a finite number", quote.Plain(p.a.Name, 80), scale)
	}
	a, err := floats(p.a)
	if err != nil {
		return u, err
	}
	b, err := floats(p.b)
	if err != nil {
		return u, err
	}
	if l == outIn { // B·A
		u.left, u.right = append([]float32(nil), b...), append([]float32(nil), a...)
	} else { // (B·A)ᵀ = Aᵀ·Bᵀ
		u.left, u.right = transposed(a, u.rank, in), transposed(b, out, u.rank)
	}
	return u, nil
}

// transposed returns a matrix [rows, cols] as [cols, rows].
func transposed(x []float32, rows, cols int) []float32 {
	dst := make([]float32, len(x))
	kernels.Transpose(dst, rows, x, cols, rows, cols)
	return dst
}

// merged returns the tensor as it is afterwards: in float32 if products are added to it.
func (c *change) merged() weights.Tensor {
	t := c.tensor
	if len(c.updates) == 0 {
		return t
	}
	return weights.Tensor{Name: t.Name, DType: weights.F32, Shape: t.Shape, Fill: c.fill, Done: t.Done}
}

// fill makes elements of the merged tensor, as weights.Tensor.Fill has it.
func (c *change) fill(dst []byte, from int64) error {
	cols := c.tensor.Shape[1]
	b := mergeBlock{change: c}
	for first, n := int(from/4), len(dst)/4; n > 0; {
		row, col := first/cols, first%cols
		rows, width := 1, min(cols-col, n)
		if width == cols {
			rows = min(n/cols, c.blockRows())
		}
		count := rows * width
		if err := b.fill(dst[:4*count], row, col, rows, width); err != nil {
			return fmt.Errorf("%s: %w", c.tensor.Name, err)
		}
		dst, first, n = dst[4*count:], first+count, n-count
	}
	return nil
}

// blockRows returns how many rows are merged together: what the processor's cache holds or, of
// weights that have to be made, as many as are made together.
func (c *change) blockRows() int {
	const floats, made = 1 << 15, 256
	if c.tensor.Data == nil {
		return made
	}
	return max(1, floats/c.tensor.Shape[1])
}

// A mergeBlock is the memory for some rows.
type mergeBlock struct {
	*change
	base     []byte
	sum, add []float32
}

// fill sets dst to a part of the merged tensor, rows by width elements from row and col on. The
// order of the sums is a promise, as those of package kernels are. Of each element, in float32:
//
//	product = fma(left[row,k], right[k,col], product) for k = 0, 1, …, rank-1, from +0
//	element = element + scale·product, twice rounded, for each adapter in order, from the base's
func (b *mergeBlock) fill(dst []byte, row, col, rows, width int) error {
	base, cols, n := b.tensor, b.tensor.Shape[1], rows*width
	size := base.DType.Size()
	at := int64(row*cols+col) * int64(size)
	part := weights.Tensor{Name: base.Name, DType: base.DType, Shape: []int{n}}
	if base.Data != nil {
		part.Data = base.Data[at : at+int64(n*size)]
	} else {
		b.base = grown(b.base, n*size)
		if err := base.Fill(b.base, at); err != nil {
			return err
		}
		part.Data = b.base
	}
	weight, err := part.Float32s()
	if err != nil {
		return err
	}
	b.sum, b.add = grown(b.sum, n), grown(b.add, n)
	from := weight
	for _, u := range b.updates {
		clear(b.add)
		right := kernels.Panels{Data: u.right[col:], K: u.rank, Cols: width, LD: cols}
		kernels.Leaves{}.Multiply(b.add, width, u.left[row*u.rank:], u.rank, rows, &right, 0, u.rank)
		sum := b.sum[:len(b.add)]
		from = from[:len(sum)]
		for i, x := range b.add {
			sum[i] = from[i] + float32(u.scale*x)
		}
		from = sum
	}
	if !(kernels.Leaves{}).Finite(b.sum) && (kernels.Leaves{}).Finite(weight) {
		return errors.New("what is merged is more than float32 holds")
	}
	for i, x := range b.sum {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(x))
	}
	return nil
}

// grown returns a slice of n elements, in the memory of s if that is enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
