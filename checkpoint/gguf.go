// GGUF: one file that holds everything, the tokenizer too.

package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/gguf"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// isGGUF reports whether the file begins with GGUF's magic.
func isGGUF(p probe) bool {
	return p.begins("GGUF") || strings.HasSuffix(p.name, ".gguf") && p.size < 4
}

// openGGUF opens a GGUF file of the architecture gpt2. If the file has no tokens, tokenizer files in
// the same folder are taken.
func openGGUF(in *opening) (*Checkpoint, error) {
	c := &Checkpoint{format: "gguf", Notes: []string{ggufLosses}}
	file, err := folder.MapParts(in.fsys, in.name, nil)
	var parsed *gguf.File
	if err == nil {
		in.add(file.Close)
		parsed, err = parseGGUF(file)
	}
	if err == nil {
		c.Config, err = ggufConfig(parsed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	source := weights.Source{Name: in.path, Metadata: ggufMetadata(parsed), Size: file.Size(),
		Close: in.close}
	for _, t := range parsed.Tensors {
		named, err := ggufTensor(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.path, err)
		}
		named.Done = func() { file.Forget(t.Data) }
		source.Tensors = append(source.Tensors, named)
	}
	_, ok := parsed.Pairs[ggufTokenizer+"model"]
	if ok && !(ggufWithoutTokens(parsed) && hasTokenizerFile(in.fsys)) {
		rows := c.Config.VocabSize
		c.vocabulary = &vocabulary{
			load: func() (*tokenizer.Tokenizer, error) {
				t, err := ggufVocabulary(parsed, rows)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", in.path, err)
				}
				return t, nil
			},
			raw:       func() ([]byte, error) { return parsed.Raw(ggufTokenizer), nil },
			templates: func() (map[string]*Template, error) { return ggufTemplates(parsed) },
		}
	}
	if yes, _, err := parsed.Bool(ggufTokenizer + "add_bos_token"); err == nil && yes {
		c.Notes = append(c.Notes, "the file asks for its token of beginning before each text "+
			"(tokenizer.ggml.add_bos_token): programs that follow it give other answers")
	}
	c.Tensors, err = weights.New(source)
	return c, err
}

// ggufTemplates returns the chat templates of a file: the default one, and others by their keys.
func ggufTemplates(f *gguf.File) (map[string]*Template, error) {
	all := map[string]*Template{}
	for key := range f.Pairs {
		name, ok := strings.CutPrefix(key, ggufTemplate)
		if name, _ = strings.CutPrefix(name, "."); !ok || len(all) == mostTemplates {
			continue
		}
		source, _, err := f.Text(key)
		if err != nil {
			return nil, err
		}
		if len(source) > mostTemplate {
			return nil, fmt.Errorf("%s: more than %d bytes", key, mostTemplate)
		}
		all[cmp.Or(name, defaultTemplate)] = &Template{key, source}
	}
	return all, nil
}

// parseGGUF parses a file. Of one on another machine it reads the header, whose size nothing tells.
func parseGGUF(file folder.Mapped) (*gguf.File, error) {
	n := file.Size()
	if file.IsFar() {
		n = min(n, 512<<10) // a vocabulary of 50,000 has 1.5 MB
	}
	for {
		b, err := file.Part(0, n)
		if err != nil {
			return nil, err
		}
		parsed, err := gguf.ParseBeginning(b, file.Size())
		if !errors.Is(err, gguf.ErrShort) {
			return parsed, err
		}
		n = min(2*n, file.Size())
	}
}

// ggufLosses is the note on what every GGUF file leaves open.
const ggufLosses = "GGUF does not say the activation and the scales of attention: GPT-2's are " +
	"taken (gelu_new, scale_attn_weights); a file that was converted from a model with others " +
	"(Cerebras-GPT, codeparrot-small, BioMedLM) computes something else than that model"

const (
	ggufGPT2      = "gpt2."
	ggufTokenizer = "tokenizer.ggml."
	ggufTemplate  = "tokenizer.chat_template"
)

// ggufConfig returns the config that the metadata describe. Errors begin with the key.
func ggufConfig(f *gguf.File) (model.Config, error) {
	const key = "general.architecture"
	if name, ok, err := f.Text(key); err != nil {
		return model.Config{}, err
	} else if !ok {
		return model.Config{}, errors.New(key + `: missing, want "gpt2"`)
	} else if name != "gpt2" {
		return model.Config{}, fmt.Errorf("%s: %s, want %q: this is another architecture", key,
			quote.Short(name, 40), "gpt2")
	}
	c := model.DefaultConfig()
	for _, field := range []struct {
		key string
		dst *int
	}{
		{"context_length", &c.Positions}, {"embedding_length", &c.Embd}, {"block_count", &c.Layer},
		{"feed_forward_length", &c.Inner}, {"attention.head_count", &c.Head},
	} {
		n, err := ggufSize(f, ggufGPT2+field.key)
		if err != nil {
			return c, err
		}
		*field.dst = n
	}
	c.VocabSize = 0
	for _, t := range f.Tensors {
		switch t.Name {
		case "token_embd.weight":
			c.VocabSize = t.Shape[0]
		case "output.weight":
			c.TieWordEmbeddings = false
		}
	}
	if c.VocabSize == 0 {
		return c, errors.New("token_embd.weight: missing, want a row for each token")
	}
	if err := ggufEpsilon(f, &c.LayerNormEpsilon); err != nil {
		return c, err
	}
	if err := ggufRefuse(f, c); err != nil {
		return c, err
	}
	if err := ggufEnds(f, &c); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// ggufSize returns the value of a required key.
func ggufSize(f *gguf.File, key string) (int, error) {
	n, ok, err := f.Uint(key)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, fmt.Errorf("%s: missing, want an integer", key)
	case n < 1 || n > math.MaxInt32:
		return 0, fmt.Errorf("%s: %d, want 1 to %d", key, n, math.MaxInt32)
	}
	return int(n), nil
}

// ggufEpsilon sets the norms' epsilon to the shortest decimal that rounds to the file's float32:
// the same model's config.json has that number.
func ggufEpsilon(f *gguf.File, dst *float64) error {
	const key = ggufGPT2 + "attention.layer_norm_epsilon"
	x, ok, err := f.Float(key)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("%s: missing, want a number", key)
	case !(x >= 0 && x <= math.MaxFloat32):
		return fmt.Errorf("%s: %v, want a finite number, 0 or more", key, x)
	}
	*dst, err = strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	return err
}

// ggufRefuse returns an error for the first key that asks for arithmetic of another architecture of
// llama.cpp.
func ggufRefuse(f *gguf.File, c model.Config) error {
	for _, r := range []struct {
		key  string
		want int
	}{
		{"attention.head_count_kv", c.Head}, {"attention.key_length", c.Embd / max(1, c.Head)},
		{"attention.value_length", c.Embd / max(1, c.Head)}, {"vocab_size", c.VocabSize},
		{"expert_count", 0}, {"attention.sliding_window", 0}, {"rope.dimension_count", 0},
	} {
		n, ok, err := f.Uint(ggufGPT2 + r.key)
		if err != nil {
			return err
		}
		if ok && n != uint64(r.want) {
			return fmt.Errorf("%s%s: %d, want %d: this is another architecture", ggufGPT2, r.key, n,
				r.want)
		}
	}
	for _, key := range []string{"attention.clamp_kqv", "attention.max_alibi_bias",
		"attention.scale", "logit_scale", "embedding_scale", "residual_scale"} {
		if _, ok := f.Pairs[ggufGPT2+key]; ok {
			return fmt.Errorf("%s%s: want it absent: this is another architecture", ggufGPT2, key)
		}
	}
	causal, ok, err := f.Bool(ggufGPT2 + "attention.causal")
	if err == nil && ok && !causal {
		err = errors.New(ggufGPT2 + "attention.causal: false, want true")
	}
	return err
}

// ggufEnds sets the tokens that begin and end a text. Ids outside the vocabulary are left out: they
// can never be sampled.
func ggufEnds(f *gguf.File, c *model.Config) error {
	c.BOSTokenID, c.EOSTokenIDs = nil, nil
	for _, key := range []string{"bos_token_id", "eos_token_id"} {
		n, ok, err := f.Uint(ggufTokenizer + key)
		if err != nil {
			return err
		}
		id := int(min(n, math.MaxInt32))
		switch {
		case !ok || id >= c.VocabSize:
		case key == "bos_token_id":
			c.BOSTokenID = &id
		default:
			c.EOSTokenIDs = []int{id}
		}
	}
	return nil
}

// ggufMetadata returns the texts of a file's general.* keys: its name, authors and so on.
func ggufMetadata(f *gguf.File) map[string]string {
	m := map[string]string{}
	for key := range f.Pairs {
		if !strings.HasPrefix(key, "general.") {
			continue
		}
		if s, ok, err := f.Text(key); ok && err == nil {
			m[key] = strings.ToValidUTF8(s, "\ufffd")
		}
	}
	return m
}

// The names of tensors in GGUF files.

// A pairOfNames is a tensor's name in GGUF and in Hugging Face's files.
type pairOfNames struct {
	gguf, name string
	turned     bool // [out, in] in GGUF, [in, out] in Hugging Face's
}

var (
	ggufWhole = [...]pairOfNames{
		{"token_embd.weight", "wte.weight", false}, {"position_embd.weight", "wpe.weight", false},
		{"output_norm.weight", "ln_f.weight", false}, {"output_norm.bias", "ln_f.bias", false},
		{"output.weight", "lm_head.weight", false},
	}
	ggufLayer = [...]pairOfNames{
		{"attn_norm.weight", "ln_1.weight", false}, {"attn_norm.bias", "ln_1.bias", false},
		{"attn_qkv.weight", "attn.c_attn.weight", true}, {"attn_qkv.bias", "attn.c_attn.bias", false},
		{"attn_output.weight", "attn.c_proj.weight", true},
		{"attn_output.bias", "attn.c_proj.bias", false},
		{"ffn_norm.weight", "ln_2.weight", false}, {"ffn_norm.bias", "ln_2.bias", false},
		{"ffn_up.weight", "mlp.c_fc.weight", true}, {"ffn_up.bias", "mlp.c_fc.bias", false},
		{"ffn_down.weight", "mlp.c_proj.weight", true}, {"ffn_down.bias", "mlp.c_proj.bias", false},
	}
)

// ggufTensor returns a tensor with Hugging Face's name and orientation.
func ggufTensor(t gguf.Tensor) (weights.Tensor, error) {
	to := weights.Tensor{}
	prefix, names, rest := "", ggufWhole[:], t.Name
	if layer, ok := strings.CutPrefix(t.Name, "blk."); ok {
		number, part, _ := strings.Cut(layer, ".")
		if n, err := strconv.Atoi(number); err != nil || strconv.Itoa(n) != number || n < 0 {
			return to, fmt.Errorf("%s: unknown tensor, want blk.0 and so on", t.Name)
		}
		prefix, names, rest = "h."+number+".", ggufLayer[:], part
	}
	i := slices.IndexFunc(names, func(p pairOfNames) bool { return p.gguf == rest })
	if i < 0 {
		return to, fmt.Errorf("%s: unknown tensor, want those of the architecture gpt2", t.Name)
	}
	to = t.Elements()
	if names[i].turned {
		if len(t.Shape) != 2 {
			return to, fmt.Errorf("%s: %d dimensions, want 2", t.Name, len(t.Shape))
		}
		to = to.Transposed()
	}
	to.Name = prefix + names[i].name
	return to, nil
}

// ggufName returns the GGUF name for a name of Hugging Face's.
func ggufName(name string) string {
	prefix, names, rest := "", ggufWhole[:], name
	if layer, ok := strings.CutPrefix(name, "h."); ok {
		number, part, _ := strings.Cut(layer, ".")
		prefix, names, rest = "blk."+number+".", ggufLayer[:], part
	}
	for _, p := range names {
		if p.name == rest {
			return prefix + p.gguf
		}
	}
	return name // not reached: the model has no others
}

// The tokenizer in a GGUF file.

// filler returns the text of a row of the embedding that has no token.
func filler(id int) string { return fmt.Sprintf("[PAD%d]", id) }

// ggufWithoutTokens reports whether a file says that it has no tokenizer, or has only fillers, as
// Convert writes them.
func ggufWithoutTokens(f *gguf.File) bool {
	if s, _, err := f.Text(ggufTokenizer + "model"); err == nil && listed("no_vocab none", s) {
		return true
	}
	kinds, err := f.Uints(ggufTokenizer + "token_type")
	return err == nil && len(kinds) > 0 && !slices.ContainsFunc(kinds, func(kind int) bool {
		return tokenizer.Kind(kind) != tokenizer.Unused
	})
}

// ggufVocabulary returns the tokenizer in a file. One that has only fillers counts as absent.
func ggufVocabulary(f *gguf.File, rows int) (*tokenizer.Tokenizer, error) {
	if s, _, err := f.Text(ggufTokenizer + "model"); err == nil && listed("no_vocab none", s) {
		return nil, fmt.Errorf("%smodel: %s: %w", ggufTokenizer, s, ErrNoTokenizer)
	}
	for _, want := range []struct{ key, value string }{{"model", "gpt2"}, {"pre", "gpt-2"}} {
		s, ok, err := f.Text(ggufTokenizer + want.key)
		if err != nil {
			return nil, err
		}
		// Files from before May 2024 have no "pre".
		if s != want.value && (ok || want.key == "model") {
			return nil, fmt.Errorf("%s%s: %s, want %q", ggufTokenizer, want.key, quote.Short(s, 40),
				want.value)
		}
	}
	var p tokenizer.Parts
	var err error
	if p.Tokens, err = f.Texts(ggufTokenizer + "tokens"); err != nil {
		return nil, err
	}
	if n := len(p.Tokens); n > rows {
		return nil, fmt.Errorf("%stokens: %d, want %d, one for each row of token_embd.weight",
			ggufTokenizer, n, rows)
	}
	if p.Merges, err = f.Texts(ggufTokenizer + "merges"); err != nil {
		return nil, err
	}
	kinds, err := f.Uints(ggufTokenizer + "token_type")
	if err != nil {
		return nil, err
	}
	tokens := len(p.Tokens)
	for i, k := range kinds {
		kind := tokenizer.Kind(k)
		// Converters of 2023 wrote the fillers as user-defined tokens.
		if i < len(p.Tokens) && kind == tokenizer.User && p.Tokens[i] == filler(i) {
			kind = tokenizer.Unused
		}
		if kind == tokenizer.Unused {
			tokens--
		}
		p.Kinds = append(p.Kinds, kind)
	}
	if tokens == 0 && len(kinds) > 0 {
		return nil, fmt.Errorf("%stokens: only fillers: %w", ggufTokenizer, ErrNoTokenizer)
	}
	t, err := tokenizer.FromParts(p)
	if err != nil {
		return nil, fmt.Errorf("%s%w", ggufTokenizer, err)
	}
	return t, nil
}
