// LoRA adapters as PEFT saves them: their tensors, and the weights of the base that each belongs to.

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

// An Adapter is a LoRA adapter that is merged into the weights of a checkpoint. It is a folder as
// PEFT saves it: adapter_config.json with adapter_model.safetensors or adapter_model.bin. To each
// weight that it was trained for it adds scale·α/r·B·A (α/√r with use_rslora), by rank_pattern and
// alpha_pattern; biases and modules_to_save, which were trained whole, take the place of the base's.
// PEFT's fan_in_fan_out says nothing that GPT-2's layers do not.
//
// An adapter of the embedding wte is none of the head: then the model is untied.
type Adapter struct {
	Path string // the folder, or a file in it

	// Scale multiplies the products, and not the tensors that are replaced. nil means 1: the adapter
	// as it was trained.
	Scale *float64
}

// An openAdapter is an open adapter.
type openAdapter struct {
	files   fs.FS
	path    string // of the file of tensors
	config  adapterConfig
	tensors *weights.Tensors
	scale   float64
	modules int      // with products
	left    []string // those of them that the config does not name, in order
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
		if _, err := fs.Stat(fsys, dir+"/"+folder.AdapterConfig); err == nil {
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

// A product is a low-rank product of one module: A [r, in] and B [out, r].
type product struct {
	module    string // as PEFT names it: transformer.h.0.attn.c_attn
	embedding bool   // lora_embedding_A and _B
	a, b      *weights.Tensor
}

// parts sorts the tensors of an adapter: the products, and whole tensors that take the place of the
// base's, by the names that these have in the base's own files. Of modules that the config does not
// name it takes nothing.
func (o *openAdapter) parts() (products []*product, whole map[string]weights.Tensor, err error) {
	byModule := map[string]*product{}
	whole = map[string]weights.Tensor{}
	for _, t := range o.tensors.All() {
		name := strings.TrimPrefix(t.Name, "base_model.model.")
		module, part, lora := strings.Cut(name, ".lora_")
		if !lora {
			layer, _, wrapped := strings.Cut(name, ".base_layer.")
			if name = wholeName(name); name == "" || wrapped && !o.config.targets.has(layer) {
				continue
			}
			if other, twice := whole[name]; twice {
				// With bias="all" PEFT saves a bias of modules_to_save once more by its inner name.
				if same, err := other.Equal(t); err != nil {
					return nil, nil, err
				} else if !same {
					return nil, nil, fmt.Errorf("%s: there twice, want it once", quote.Plain(name, 80))
				}
			}
			whole[name] = t
			continue
		}
		p := byModule[module]
		if p == nil {
			p = &product{module: module}
			byModule[module] = p
		}
		if err := p.add(part, t); err != nil {
			return nil, nil, err
		}
	}
	o.modules = len(byModule)
	for _, module := range slices.Sorted(maps.Keys(byModule)) {
		p := byModule[module]
		switch {
		case p.a == nil:
			return nil, nil, fmt.Errorf("%s: its lora_A is missing", quote.Plain(p.b.Name, 80))
		case p.b == nil:
			return nil, nil, fmt.Errorf("%s: its lora_B is missing", quote.Plain(p.a.Name, 80))
		}
		if !o.config.targets.has(module) {
			o.left = append(o.left, module)
			continue
		}
		products = append(products, p)
	}
	if len(byModule)+len(whole) == 0 {
		return nil, nil, errors.New("no tensors, want lora_A and lora_B")
	}
	return products, whole, nil
}

// add adds a half. part is its name after lora_: A.weight, embedding_A, or with the adapter's own
// name as in A.default.weight.
func (p *product) add(part string, t weights.Tensor) error {
	fields := strings.Split(part, ".")
	half, embedding := strings.CutPrefix(fields[0], "embedding_")
	rest := fields[1:]
	if !embedding && len(rest) > 0 && rest[len(rest)-1] == "weight" {
		rest = rest[:len(rest)-1]
	} else if !embedding {
		half = ""
	}
	to := map[string]**weights.Tensor{"A": &p.a, "B": &p.b}[half]
	switch {
	case fields[0] == "magnitude_vector":
		return fmt.Errorf("%s: of DoRA, which is not supported", quote.Plain(t.Name, 80))
	case to == nil || len(rest) > 1:
		return fmt.Errorf("%s: unknown, want lora_A.weight, lora_B.weight, lora_embedding_A or "+
			"lora_embedding_B", quote.Plain(t.Name, 80))
	case *to != nil:
		return fmt.Errorf("%s: there twice, as %s", quote.Plain(t.Name, 80),
			quote.Plain((*to).Name, 80))
	case len(t.Shape) != 2:
		return fmt.Errorf("%s: shape %v, want two dimensions", quote.Plain(t.Name, 80), t.Shape)
	case p.a != p.b && p.embedding != embedding:
		return fmt.Errorf("%s: want both halves of an embedding or none", quote.Plain(t.Name, 80))
	}
	*to, p.embedding = &t, embedding
	return nil
}

// wholeName returns the name that a tensor has without PEFT's wrappings, or "" for the base's own
// copy and for a causal mask, which is none of the weights.
func wholeName(name string) string {
	if strings.Contains(name, ".original_module.") {
		return ""
	}
	for _, wrapping := range []string{"base_layer.", "modules_to_save.default.", "modules_to_save."} {
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
