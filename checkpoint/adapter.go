// Adapters as PEFT saves them: their tensors, and the weights of the base that each belongs to.

package checkpoint

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/torch"
	"picogpt/kernels"
	"picogpt/weights"
)

// An Adapter is an adapter that is merged into the weights of a checkpoint. It is a folder as PEFT
// saves it: adapter_config.json with adapter_model.safetensors or adapter_model.bin. Its kind,
// peft_type, says what it makes of each weight that it was trained for: of LoRA it adds scale·α/r·B·A
// (α/√r with use_rslora), by rank_pattern and alpha_pattern; docs/checkpoints.md has them all. Biases
// and modules_to_save, which were trained whole, take the place of the base's. PEFT's fan_in_fan_out
// says nothing that GPT-2's layers do not.
//
// An adapter of the embedding wte is none of the head: then the model is untied, unless it is one of
// single tokens. A prompt becomes virtual tokens, which every session of a model.Model begins with.
type Adapter struct {
	Path string // the folder, or a file in it

	// Scale multiplies what the kind adds, in DoRA its products, and not the tensors that are
	// replaced. nil means 1: the adapter as it was trained.
	Scale *float64
}

// An openAdapter is an open adapter.
type openAdapter struct {
	files   fs.FS
	path    string // of the file of tensors
	config  adapterConfig
	tensors *weights.Tensors
	scale   float64
	modules int                       // with products
	left    []string                  // those of them that the config does not name, in order
	shared  map[string]weights.Tensor // of all layers, by their parts
}

// open opens the adapter's files. Errors name them.
func (a Adapter) open() (*openAdapter, error) {
	fsys, _, err := folder.Split(a.Path)
	if err != nil {
		return nil, present(err)
	}
	o := &openAdapter{files: fsys, scale: 1}
	if a.Scale != nil {
		o.scale = *a.Scale
	}
	if float32(o.scale)-float32(o.scale) != 0 {
		return nil, fmt.Errorf("%s: scale %v, want a finite number", a.Path, o.scale)
	}
	o.config, err = readAdapterConfig(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no %s in this directory%s, want an adapter as PEFT saves it",
			folder.Path(fsys, "."), folder.AdapterConfig, lastAdapter(fsys))
	} else if err != nil {
		return nil, err
	}
	const name = folder.Adapter
	o.path = folder.Path(fsys, name)
	if o.tensors, err = weights.Open(fsys, name); !errors.Is(err, fs.ErrNotExist) {
		return o, err
	}
	const older = folder.AdapterPyTorch
	o.path = folder.Path(fsys, older)
	if o.tensors, err = openAdapterBin(fsys, older); errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: no %s or %s beside the %s", folder.Path(fsys, "."), name, older,
			folder.AdapterConfig)
	}
	return o, err
}

// Digest returns 32 hexadecimal digits that depend on the adapter's config, tensors and scale.
func (a Adapter) Digest() (string, error) {
	o, err := a.open()
	if err != nil {
		return "", err
	}
	defer o.tensors.Close()
	config, err := folder.Read(o.files, folder.AdapterConfig, 1<<20)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%v %q\n", o.scale, config)
	return digestOf(h, o.tensors)
}

// lastAdapter names the adapter that a training has saved last in the folder, if there is one.
func lastAdapter(fsys fs.FS) string {
	for _, dir := range trained(fsys) {
		if has(fsys, dir+"/"+folder.AdapterConfig) {
			return ", but in its " + dir
		}
	}
	return ""
}

// present is an error that is not taken for one of a checkpoint that is not there.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New(err.Error())
	}
	return err
}

// openAdapterBin opens a state dict of PyTorch as it is.
func openAdapterBin(fsys fs.FS, name string) (_ *weights.Tensors, err error) {
	path := folder.Path(fsys, name)
	file, err := torch.Open(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	root, err := file.Dict()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	source := weights.Source{Name: path, Size: file.Size(), Close: file.Close}
	used := int64(0)
	for _, key := range root.Keys {
		v, _ := root.Get(key)
		tensor, ok := v.(*torch.Tensor)
		name, named := key.(string)
		if !ok || !named {
			return nil, fmt.Errorf("%s: %s: %s, want a tensor", path,
				quote.Plain(fmt.Sprint(key), 80), torch.Kind(v))
		}
		t, err := tensor.Weights(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		used += t.Size()
		source.Tensors = append(source.Tensors, t)
	}
	if used > 2*source.Size { // expanded tensors
		return nil, fmt.Errorf("%s: tensors of %d bytes in a file of %d: they share storages", path,
			used, source.Size)
	}
	return weights.New(source)
}

// A layer is what an adapter has for one module: its tensors, by what their names have after the
// module's, as in A.weight of lora_A.weight.
type layer struct {
	*openAdapter
	module string // as PEFT names it: transformer.h.0.attn.c_attn
	parts  map[string]weights.Tensor

	// The module's weight in the checkpoint.
	in, out int // of a lookup: ids and width
	layout  layout
}

// sort sorts the tensors of an adapter: those of layers, and whole tensors that take the place of the
// base's, by the names that these have in the base's own files. Of modules that the config does not
// name it takes nothing.
func (o *openAdapter) sort() (layers []*layer, whole map[string]weights.Tensor) {
	byModule := map[string]*layer{}
	whole = map[string]weights.Tensor{}
	for _, t := range o.tensors.All() {
		name, ours := strings.CutPrefix(t.Name, "base_model.")
		if ours {
			name = strings.TrimPrefix(name, "model.")
		}
		module, part, of := strings.Cut("."+name, "."+o.config.kind.prefix)
		if tokens, ok := strings.CutSuffix(name, ".token_adapter."+tokensDelta); ok {
			module, part, of = tokens, tokensDelta, true
		}
		module = strings.TrimPrefix(module, ".")
		if !of || o.config.kind.prefix == "" {
			module, _, wrapped := strings.Cut(name, ".base_layer.")
			tuned, _, norm := strings.Cut(name, ".ln_tuning_layers.")
			if name = wholeName(name); name == "" || wrapped && !o.config.targets.has(module) ||
				norm && !o.config.targets.has(tuned) {
				continue
			}
			if other, twice := whole[name]; twice {
				// With bias="all" PEFT saves a bias of modules_to_save once more by its inner name.
				if same, err := other.Equal(t); err != nil {
					fail("%w", err)
				} else if !same {
					fail("%s: there twice, want it once", quote.Plain(name, 80))
				}
			}
			whole[name] = t
			continue
		}
		l := byModule[module]
		if l == nil {
			l = &layer{openAdapter: o, module: module, parts: map[string]weights.Tensor{}}
			byModule[module] = l
		}
		l.add(part, t)
	}
	if shared := byModule[""]; shared != nil {
		o.shared = shared.parts
		delete(byModule, "")
	}
	o.modules = len(byModule)
	for _, module := range slices.Sorted(maps.Keys(byModule)) {
		_, tokens := byModule[module].parts[tokensDelta]
		if !tokens && !o.config.targets.has(module) {
			o.left = append(o.left, module)
			continue
		}
		layers = append(layers, byModule[module])
	}
	if len(byModule)+len(whole) == 0 {
		fail("no tensors, want lora_A and lora_B, or those of another kind")
	}
	return layers, whole
}

// add adds a tensor to a layer. part is the rest of its name, in which LoRA's may have the adapter's
// own, as in A.default.weight.
func (l *layer) add(part string, t weights.Tensor) {
	shown := quote.Plain(t.Name, 80)
	k := l.config.kind
	if fields := strings.Split(part, "."); k.prefix == loraPrefix && len(fields) <= 3 {
		if last := fields[len(fields)-1]; last == "weight" || last == "bias" {
			part = fields[0] + "." + last
		} else if len(fields) == 2 {
			part = fields[0]
		}
	}
	if other, twice := l.parts[part]; twice {
		fail("%s: there twice, as %s", shown, quote.Plain(other.Name, 80))
	}
	// "v." of a kind's parts is v.0, v.1, …
	many, _, numbered := strings.Cut(part, ".")
	if !listed(k.parts, part) && part != tokensDelta && !(numbered && listed(k.parts, many+".")) {
		fail("%s: unknown, want %s", shown,
			k.prefix+strings.ReplaceAll(k.parts, " ", ", "+k.prefix))
	}
	l.parts[part] = t
}

// place finds the weight of a layer.
func (m *merging) place(l *layer) {
	name, _ := m.name(l.module + ".weight")
	c := m.of(name)
	shown := l.shown()
	switch {
	case c == nil:
		fail("%s: the checkpoint %s has no %s", shown, m.base.Name(), quote.Plain(name, 80))
	case len(c.tensor.Shape) != 2:
		fail("%s: %s has shape %v, want two dimensions", shown, name, c.tensor.Shape)
	case c.tensor.DType == weights.U8:
		fail("%s: %s is quantized: merge the adapter into the checkpoint that %s was made of",
			shown, name, m.base.Name())
	case !isFloat(c.tensor.DType):
		fail("%s: %s has type %s, want F32, F16, BF16 or F64", shown, name, c.tensor.DType)
	}
	if l.layout = m.layout(name); l.config.targets.parameters.has(l.module + ".weight") {
		l.layout = outIn
	}
	l.in, l.out = c.tensor.Shape[0], c.tensor.Shape[1]
	if l.layout == outIn {
		l.in, l.out = l.out, l.in
	}
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

func isFloat(t weights.DType) bool {
	return t == weights.F32 || t == weights.F16 || t == weights.BF16 || t == weights.F64
}

// matrix returns the elements of a part, as tensor has it.
func (l *layer) matrix(part string, shape ...int) ([]float32, weights.Tensor) {
	t := l.tensor(part, shape...)
	x, err := floats(&t)
	if err != nil {
		fail("%w", err)
	}
	return x, t
}

// tensor returns a part, of the layer or of all layers, which must be there with its shape; 0 stands
// for any size.
func (l *layer) tensor(part string, shape ...int) weights.Tensor {
	t, ok := l.parts[part]
	if !ok {
		t, ok = l.shared[part]
	}
	if !ok {
		fail("%s: its %s is missing", l.shown(), l.config.kind.prefix+strings.TrimSuffix(part, ".weight"))
	}
	same := len(t.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = shape[i] == 0 || shape[i] == t.Shape[i]
	}
	if !same {
		fail("%s: shape %v, want %v", quote.Plain(t.Name, 80), t.Shape, shape)
	}
	return t
}

// halves returns the parts A [rank, in] and B [out, rank] by their names, which are others of an
// embedding.
func (l *layer) halves(a, b string, rank int) (as, bs []float32) {
	if l.layout == lookup && listed(l.config.kind.parts, "embedding_A") {
		a, b = "embedding_A", "embedding_B"
	}
	as, _ = l.matrix(a, rank, l.in)
	bs, _ = l.matrix(b, l.out, rank)
	return as, bs
}

// bound refuses a number that would make much of a small file.
func (l *layer) bound(key string, n, most int) {
	if n > most {
		failConfig("%s: %d, want at most %d for %s", key, n, most, quote.Plain(l.module, 80))
	}
}

// shown is what errors call the layer: its first tensor.
func (l *layer) shown() string {
	for _, part := range slices.Sorted(maps.Keys(l.parts)) {
		return quote.Plain(l.parts[part].Name, 80)
	}
	return quote.Plain(l.module, 80)
}

// wholeName returns the name that a tensor has without PEFT's wrappings, or "" for the base's own
// copy and for a causal mask, which is none of the weights.
func wholeName(name string) string {
	if strings.Contains(name, ".original_module.") {
		return ""
	}
	for _, wrapping := range []string{
		"base_layer.", "modules_to_save.default.", "modules_to_save.", "ln_tuning_layers.",
	} {
		name = strings.ReplaceAll(name, "."+wrapping, ".")
	}
	if strings.HasSuffix(name, ".attn.bias") || strings.HasSuffix(name, ".attn.masked_bias") {
		return ""
	}
	return name
}

// floats returns the elements of a half, which must be finite.
func floats(t *weights.Tensor) ([]float32, error) {
	x, err := t.Float32s()
	if err != nil {
		return nil, err // it names the tensor
	}
	if !(kernels.Leaves{}).Finite(x) {
		return nil, fmt.Errorf("%s: a number that is not finite", quote.Plain(t.Name, 80))
	}
	return x, nil
}
