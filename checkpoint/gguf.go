package checkpoint

// GGUF: one file that holds everything, the tokenizer too.

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
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

// openGGUF opens a GGUF file of the architecture gpt2.
func openGGUF(fsys fs.FS, name string, _ Options) (found, error) {
	path := folder.Path(fsys, name)
	file, err := folder.MapParts(fsys, name, nil)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	f, err := readGGUF(fsys, path, file)
	if err != nil {
		file.Close()
		return found{}, err
	}
	return f, nil
}

// readGGUF returns the checkpoint of a file, which closing its tensors closes. If the file has no
// tokens, tokenizer files in the same folder are taken.
func readGGUF(fsys fs.FS, path string, file folder.Mapped) (f found, err error) {
	parsed, err := parseGGUF(file)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	f = found{format: "gguf", notes: []string{ggufLosses}}
	if f.config, err = ggufConfig(parsed); err != nil {
		return found{}, fmt.Errorf("%s: %w", path, err)
	}
	source := weights.Source{Name: path, Metadata: ggufMetadata(parsed),
		Size: file.Size(), Close: file.Close}
	for _, t := range parsed.Tensors {
		named, err := ggufTensor(t)
		if err != nil {
			return found{}, fmt.Errorf("%s: %w", path, err)
		}
		named.Done = func() { file.Forget(t.Data) }
		source.Tensors = append(source.Tensors, named)
	}
	_, ok := parsed.Pairs[ggufTokenizer+"model"]
	if ok && !(ggufWithoutTokens(parsed) && hasTokenizerFile(fsys)) {
		f.vocabulary = &vocabulary{
			load: func() (*tokenizer.Tokenizer, error) {
				t, err := ggufVocabulary(parsed, f.config.VocabSize)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", path, err)
				}
				return t, nil
			},
			raw: func() ([]byte, error) { return parsed.Raw(ggufTokenizer), nil },
		}
	}
	if yes, _, err := parsed.Bool(ggufTokenizer + "add_bos_token"); err == nil && yes {
		f.notes = append(f.notes, "the file asks for its token of beginning before each text "+
			"(tokenizer.ggml.add_bos_token): programs that follow it give other answers")
	}
	f.tensors, err = weights.New(source)
	return f, err
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
