// Package checkpoint opens a checkpoint: its config, its tensors, its tokenizer, and the tokens
// that begin and end a text.
//
//	c, err := checkpoint.Open("models/gpt2", checkpoint.Options{})
//	defer c.Close()
//	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
//	tok, err := c.Tokenizer()
//
// Its types, in the order in which they are best read:
//
//   - [Checkpoint] is what Open returns. The rules for what its files do not say are all here:
//     which tokenizer it has, and where a text begins and ends.
//   - [Options] settle what some formats leave open, and hold the adapters.
//   - [Adapter] is a LoRA adapter, which is merged into the weights (adapter.go, adapterconfig.go,
//     merge.go).
//   - [Head] is the last layer of a classifier, and what its outputs mean.
//   - [Conversion] is a checkpoint that is to be written in another format: the weights, and each
//     [SmallFile] beside them.
//
// On the way into a Checkpoint find.go chooses the file of a folder, and formats.go the format by
// the file's bytes. Each format has a file (gguf.go, programs.go, pytorch.go), which makes the
// Checkpoint of an opening. Of a training's file, settings.go finds the config, names.go the names of
// the tensors, and arrange.go makes the model's tensors of them.
package checkpoint

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// ErrNoTokenizer is the error of Tokenizer, wrapped, for a checkpoint that has no tokenizer files
// and cannot have been made with GPT-2's tokenizer. Such a model works on ids.
var ErrNoTokenizer = errors.New("no tokenizer files")

// A Checkpoint is an open checkpoint. It does not change, and is safe for concurrent use until
// Close.
type Checkpoint struct {
	// Config is what config.json says. If it names no token that ends a text, that token is the
	// tokenizer's <|endoftext|>, if it has one: configs of small vocabularies often leave it out.
	// Config.StartToken and Config.EndTokens return the tokens that begin and end a text. Where there
	// is a generation_config.json, its tokens are in Config.Generation and outrank config.json's, as
	// are its fields for the choice of tokens.
	Config model.Config

	// Tensors are the weights, mapped from their files. Models that are made of them use them until
	// they are closed.
	Tensors *weights.Tensors

	// Notes say what the files leave open and how it was settled, a sentence each, for users.
	Notes []string

	// NotTaken is the one of Notes that names the fields of generation_config.json, or such fields in
	// config.json, that ask for another choice of tokens and are not obeyed. "" if there are none.
	NotTaken string

	// Unread are those of Notes that say which parts of the files have no effect: fields that are not
	// known, and modules of an adapter that its config does not name.
	Unread []string

	// Change says of a checkpoint that With returned how it differs from the one before.
	Change model.Change

	Adapters []AdapterReport // that were merged, in their order

	format  string // as Format returns it
	own     func() (*tokenizer.Tokenizer, error)
	files   fs.FS
	adapted bool

	// vocabulary is the tokenizer if the format has one of its own, in the file or beside it. It is
	// nil if tokenizer files, or GPT-2's tokenizer, are taken.
	vocabulary *vocabulary
	words      fs.FS // the folder of the tokenizer's files: files, or an adapter's

	rearranged bool // the tensors have other names or shapes than in a safetensors file
	tied       bool // the head is the embedding once more: both have the same bytes of the file
	asksGELU   bool // the files do not say the form of GELU, so that Options.GELU decides

	labels json.RawMessage           // id2label of an adapter, or nil
	bases  map[string]weights.Tensor // what adapters change, as they found it
}

// Options settle what some formats leave open. The zero value takes what is most likely.
type Options struct {
	// GELU is the form of GELU, "tanh" or "erf", for files that do not say it: nanoGPT's, which
	// have the exact form (erf) since May 2023 and had the tanh form before. "" is the format's
	// default. If the files say the form, any value other than "" is an error.
	GELU string

	// Adapters are merged into the weights, in this order, when these are read. The tensors that they
	// change are F32 afterwards; those that they replace whole have the adapter's number format.
	Adapters []Adapter

	// Combine says how LoRA adapters add up: one of Combinations, which "" is the first of, and what
	// may stand after it, as in "ties:0.2".
	Combine string

	// Heads is the number of attention heads, n_head, for files without a config that says it: the
	// tensors do not. 0 means that the files say it. If they say another number it is an error.
	Heads int

	wordsOnly bool // only the tokenizer is wanted, for which n_head does not matter
}

// Open opens the checkpoint at path: a file of weights in any format, with its other files in the
// same directory, or a directory that holds a checkpoint. Of a directory it takes the first of:
// model.safetensors, pytorch_model.bin, nanoGPT's ckpt.pt, a variant of the first
// (model.fp16.safetensors), another safetensors file, a variant of the second, GGUF, TensorFlow's
// model.ckpt, llm.c's model.bin; of the first two and of variants it also takes shards, by their
// index. Two files of one kind are an error. Beside a ckpt.pt safetensors count only with a
// config.json, which their tensors need. The format is found from the bytes of a file, not from its
// name. Errors name the file.
func Open(path string, o Options) (*Checkpoint, error) {
	fsys, name, err := folder.Split(path)
	if err != nil {
		return nil, err
	}
	return OpenFS(fsys, name, o)
}

// OpenFS opens the checkpoint whose files are in fsys, such as demo.FS(), and whose weights, or whose
// index of shards, are the file of that name. For "" it finds the file as Open does in a directory.
func OpenFS(fsys fs.FS, name string, o Options) (_ *Checkpoint, err error) {
	if o.GELU != "" && o.GELU != "tanh" && o.GELU != "erf" {
		return nil, fmt.Errorf("gelu: %s, want tanh or erf", quote.Short(o.GELU, 20))
	}
	var notes []string
	if name == "" {
		if name, notes, err = find(fsys); err != nil {
			return nil, err
		}
	}
	c, err := openFile(fsys, name, o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	c.Notes = append(notes, c.Notes...)
	if o.GELU != "" && !c.asksGELU {
		return nil, fmt.Errorf("gelu: %s, but this checkpoint (%s) says its activation itself: %s",
			o.GELU, c.format, c.Config.Activation)
	}
	if o.Heads != 0 && o.Heads != c.Config.Head {
		return nil, fmt.Errorf("n_head: %d, but this checkpoint (%s) says %d itself", o.Heads,
			c.format, c.Config.Head)
	}
	c.files, c.words = fsys, fsys
	c.tellUnknown()
	if len(o.Adapters) > 0 {
		if _, err := c.merge(o, false); err != nil {
			return nil, err
		}
	}
	if err := c.readGeneration(o); err != nil {
		return nil, err
	}
	c.own = sync.OnceValues(func() (*tokenizer.Tokenizer, error) {
		if c.vocabulary != nil {
			return c.vocabulary.load()
		}
		return ownTokenizer(c.words, &c.Config)
	})
	if len(c.Config.EOSTokenIDs) == 0 {
		if id, ok := c.tokenizersEnd(); ok {
			c.Config.EOSTokenIDs = []int{id}
		}
	}
	if bos := c.Config.BOSTokenID; bos == nil || *bos < 0 || *bos >= c.Config.VocabSize {
		c.startWithTokenizers()
	}
	return c, nil
}

// Format returns the format of the weights: "safetensors", "pytorch", "nanogpt", "mingpt", "gguf",
// "tensorflow" or "llm.c". Tensors.Name returns the file.
func (c *Checkpoint) Format() string { return c.format }

// Adapted reports whether adapters are merged into the weights, so that these differ from the files'.
func (c *Checkpoint) Adapted() bool { return c.adapted }

// VirtualTokens returns how many virtual tokens an adapter puts before every text: see
// model.Model.VirtualTokens.
func (c *Checkpoint) VirtualTokens() int {
	t, ok := firstOf(c.Tensors, model.VirtualEmbeddings, model.VirtualKeysValues)
	if !ok {
		return 0
	}
	return t.Shape[0]
}

// Rearranged reports whether the tensors have other names or shapes than in their safetensors file.
func (c *Checkpoint) Rearranged() bool { return c.rearranged }

// Untied reports whether the weights hold a head (weights of the logits) whose numbers differ from
// the embedding's. The error says why they cannot be compared.
func (c *Checkpoint) Untied() (bool, error) {
	if c.tied {
		return false, nil
	}
	t, ok := outputHead(c.Tensors)
	if !ok {
		return false, nil
	}
	wte, _ := firstOf(c.Tensors, "transformer.wte.weight", "wte.weight")
	same, err := t.Equal(wte)
	return err == nil && !same, err
}

// outputHead returns the weights of the logits, if they have a tensor of their own.
func outputHead(of *weights.Tensors) (weights.Tensor, bool) {
	return firstOf(of, headName, olderHeadName)
}

// firstOf returns the first tensor that is there.
func firstOf(of *weights.Tensors, names ...string) (t weights.Tensor, ok bool) {
	for _, name := range names {
		if t, ok = of.Tensor(name); ok {
			break
		}
	}
	return t, ok
}

// Unused returns the names of the tensors that no part of the decoder uses and that are no causal
// masks, in file order: the heads of other tasks, such as score.weight. Tensors.Tensor returns each.
// If the decoder itself is not whole there are none: model.New returns that error.
func (c *Checkpoint) Unused() []string {
	_, ignored, err := model.Check(c.Config, c.Tensors)
	if err != nil {
		return nil
	}
	return model.Unused(ignored)
}

// tokenizersEnd returns the tokenizer's <|endoftext|>, which ends a text where no config says what
// does. ok is false if the tokenizer cannot be read: Tokenizer returns that error.
func (c *Checkpoint) tokenizersEnd() (id int, ok bool) {
	own, err := c.own()
	if err != nil {
		return 0, false
	}
	id, ok = tokenizer.GPT2Size-1, true
	if own != nil {
		id, ok = own.EndOfText()
	}
	return id, ok && id < c.Config.VocabSize
}

// startWithTokenizers sets the token that prompts begin with: [CLS], for models whose config has
// ids of GPT-2's vocabulary.
func (c *Checkpoint) startWithTokenizers() {
	if own, err := c.own(); err == nil && own != nil {
		if id, ok := own.Start(); ok && id < c.Config.VocabSize {
			c.Config.BOSTokenID = &id
		}
	}
}

// Close unmaps the weights. Close the models that use them first.
func (c *Checkpoint) Close() error { return c.Tensors.Close() }

// Tokenizer returns the checkpoint's own tokenizer. If there is none it returns GPT-2's, if the
// model's vocabulary has room for it: nearly all checkpoints without tokenizer files were made with
// it. Otherwise the error is ErrNoTokenizer. The tokenizer is read on the first call.
func (c *Checkpoint) Tokenizer() (*tokenizer.Tokenizer, error) { return orGPT2(c.own()) }

// Vocabulary returns the number of the tokenizer's ids, and the ids below it that have no token.
// Generation may draw the others. Unlike Tokenizer, it does not build GPT-2's tokenizer.
func (c *Checkpoint) Vocabulary() (size int, gaps []int, err error) {
	own, err := c.own()
	if err != nil || own == nil {
		return tokenizer.GPT2Size, nil, err
	}
	return own.Size(), own.Gaps(), nil
}

// OpenTokenizer returns the tokenizer that Open(path) and Tokenizer would return. The folder needs
// no weights, and no config if it has tokenizer files.
func OpenTokenizer(path string) (*tokenizer.Tokenizer, error) {
	fsys, name, err := folder.Split(path)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name, _, _ = find(fsys)
	}
	if f, err := formatOf(fsys, name); err != nil || f.own == nil || !f.own(fsys) {
		own, err := ownTokenizer(fsys, nil)
		if name == "" || !errors.Is(err, fs.ErrNotExist) {
			return orGPT2(own, err)
		}
	}
	// The tokenizer, or the config that says whether it is GPT-2's, may be in the checkpoint
	// itself.
	c, err := OpenFS(fsys, name, Options{wordsOnly: true})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Tokenizer()
}

// ownTokenizer returns the tokenizer of the files in fsys, or nil if GPT-2's is to be taken. It
// reads the config if config is nil and it needs one.
func ownTokenizer(fsys fs.FS, config *model.Config) (*tokenizer.Tokenizer, error) {
	own, err := tokenizer.Load(fsys)
	if !errors.Is(err, tokenizer.ErrNone) {
		return own, err
	}
	if config == nil {
		c, err := model.ReadConfig(fsys)
		if err != nil {
			return nil, err
		}
		config = &c
	}
	if config.VocabSize < tokenizer.GPT2Size {
		return nil, fmt.Errorf("%s: %w, and vocab_size %d is too small for GPT-2's %d ids",
			folder.Path(fsys, "."), ErrNoTokenizer, config.VocabSize, tokenizer.GPT2Size)
	}
	return nil, nil
}

func orGPT2(own *tokenizer.Tokenizer, err error) (*tokenizer.Tokenizer, error) {
	if own == nil && err == nil {
		own = tokenizer.GPT2()
	}
	return own, err
}

// Digests, which differ between checkpoints.

// Digest returns 32 hexadecimal digits that depend on the config and on all tensors, and not on the
// files or their names. It reads all tensors. To cost little more than the reading, it is the
// SHA-256 of the CRC-32 of the tensors' pieces: that tells files apart unless somebody has made
// them to collide.
func (c *Checkpoint) Digest() (string, error) {
	h := sha256.New()
	config, err := json.Marshal(c.Config)
	if err != nil {
		return "", err
	}
	h.Write(config)
	return digestOf(h, c.Tensors)
}

// digestOf returns the digest of what was written, and of tensors.
func digestOf(h hash.Hash, of *weights.Tensors) (string, error) {
	tensors := slices.Clone(of.All())
	slices.SortFunc(tensors, func(a, b weights.Tensor) int {
		return strings.Compare(a.Name, b.Name)
	})
	var sums []uint32
	for _, t := range tensors {
		fmt.Fprintf(h, "%q %s %v\n", t.Name, t.DType, t.Shape)
		data, err := t.Bytes()
		if err != nil {
			return "", err
		}
		sums = append(sums, checksums(slices.Collect(slices.Chunk(data, 1<<18)))...)
	}
	binary.Write(h, binary.LittleEndian, sums)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// checksums returns the CRC-32 (Castagnoli) of each piece.
func checksums(pieces [][]byte) []uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sums := make([]uint32, len(pieces))
	var workers sync.WaitGroup
	count := runtime.GOMAXPROCS(0)
	for first := range count {
		workers.Go(func() {
			for i := first; i < len(pieces); i += count {
				sums[i] = crc32.Checksum(pieces[i], table)
			}
		})
	}
	workers.Wait()
	return sums
}

// tokenizerFiles are the names of all files that a tokenizer may be read from.
var tokenizerFiles = [...]string{
	folder.Tokenizer, folder.Vocab, folder.Merges, folder.AddedTokens, folder.TokenizerConfig,
	folder.SpecialTokens, folder.Encoder, folder.VocabBPE, folder.VocabText, folder.Pieces,
	folder.OtherPieces,
}

func hasTokenizerFile(fsys fs.FS) bool {
	return slices.ContainsFunc(tokenizerFiles[:], func(name string) bool { return has(fsys, name) })
}

// has reports whether a folder has a file.
func has(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return err == nil
}

// TokenizerDigest returns 32 hexadecimal digits that depend on the bytes of the tokenizer's files,
// or "none" if there is no tokenizer.
func (c *Checkpoint) TokenizerDigest() (string, error) {
	h, found := sha256.New(), false
	if c.vocabulary != nil {
		b, err := c.vocabulary.raw()
		h.Write(b)
		return hex.EncodeToString(h.Sum(nil)[:16]), err
	}
	for _, name := range tokenizerFiles {
		b, err := folder.Read(c.words, name, 64<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", fmt.Errorf("%s: %w", folder.Path(c.words, name), err)
		}
		found = true
		fmt.Fprintf(h, "%q %d\n", name, len(b))
		h.Write(b)
	}
	if !found {
		return "none", nil
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
