// The files that lie beside the weights: what a conversion copies, nanoGPT's meta.pkl, and what says
// how texts begin and end, generation_config.json.

package checkpoint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/tokenizer"
)

// Companions returns the names of the files that Convert copies from the folder of a checkpoint, if
// they are there.
func Companions() []string {
	return append(slices.Clone(tokenizerFiles[:]), folder.Generation, folder.ChatTemplate,
		folder.ChatTemplateJSON)
}

// maxCompanion bounds the size of a file that is copied, in bytes. The tokenizer reads no larger
// one.
const maxCompanion = 32 << 20

// companions adds the companions of the checkpoint, or the files of the tokenizer that is in it.
func (c *Checkpoint) companions(v *Conversion) error {
	if c.vocabulary == nil {
		for _, name := range Companions() {
			data, err := c.read(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			} else if err != nil {
				return err
			}
			if to := huggingFaceName(name); !slices.Contains(v.Names(), to) {
				v.Files = append(v.Files, SmallFile{Name: to, Data: data})
			}
		}
		if others := c.templateFiles()[1:]; len(others) > 0 {
			v.note("not copied: %s", strings.Join(others, ", "))
		}
		if own, err := c.own(); own != nil || err != nil {
			return nil // Tokenizer returns that error
		}
	}
	templates, err := c.templates()
	if err != nil {
		return err
	}
	if t := templates[defaultTemplate]; t != nil && c.vocabulary != nil {
		v.Files = append(v.Files, SmallFile{Name: folder.ChatTemplate, Data: []byte(t.Source)})
	}
	t, err := c.Tokenizer()
	var files map[string][]byte
	if err == nil {
		files, err = t.Files()
	}
	if err != nil {
		v.note("the tokenizer is not written: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		v.Files = append(v.Files, SmallFile{name, files[name], c.vocabulary == nil})
	}
	return nil
}

// huggingFaceName returns the name that Hugging Face's libraries have for a file of OpenAI's.
func huggingFaceName(name string) string {
	theirs := map[string]string{folder.Encoder: folder.Vocab, folder.VocabBPE: folder.Merges}
	return cmp.Or(theirs[name], name)
}

// read returns a file beside the weights.
func (c *Checkpoint) read(name string) ([]byte, error) {
	files := c.files
	if slices.Contains(tokenizerFiles[:], name) {
		files = c.words
	}
	data, err := folder.Read(files, name, maxCompanion)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lost := fs.Lstat(files, name); lost == nil {
			err = errors.New("a link to a file that is not there")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(files, name), err)
	}
	return data, nil
}

// configFile returns the bytes of config.json. If the checkpoint was read from one, it is that file
// without the number format of its tensors.
func (c *Checkpoint) configFile() ([]byte, error) {
	if data, err := c.read(folder.Config); err == nil {
		theirs, err := model.ParseConfig(data)
		theirs.Generation = c.Config.Generation
		if len(theirs.EOSTokenIDs) == 0 {
			theirs.EOSTokenIDs = c.Config.EOSTokenIDs // the tokenizer's
		}
		if err == nil && reflect.DeepEqual(theirs, c.Config) {
			return c.changedConfig(data, c.adapted)
		}
	}
	config := c.Config
	config.Architectures = []string{"GPT2LMHeadModel"}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	// Hugging Face's libraries also write n_ctx, and a single end token without a list.
	add := fmt.Appendf(nil, `{"n_ctx":%d,`, config.Positions)
	if ends := config.EOSTokenIDs; len(ends) == 1 {
		text = bytes.Replace(text, fmt.Appendf(nil, `"eos_token_id":[%d]`, ends[0]),
			fmt.Appendf(nil, `"eos_token_id":%d`, ends[0]), 1)
	}
	if text, err = indented(append(add, text[1:]...)); err != nil {
		return nil, err
	}
	return c.changedConfig(text, true)
}

// changedConfig returns a config.json without the keys that tell Hugging Face's libraries the number
// format in which to load the tensors: they would round tensors in another format to it. anew says
// that the file does not describe the checkpoint's head, if it has one.
func (c *Checkpoint) changedConfig(text []byte, anew bool) ([]byte, error) {
	drop := []string{"torch_dtype", "dtype"}
	var add []byte
	if h, err := c.Head(); err == nil && anew {
		drop = append(drop, "architectures", "id2label", "label2id", "problem_type")
		add = h.config()
	}
	changed, found := []byte("{"), add != nil
	err := strictjson.Members(text, func(key string, value json.RawMessage) error {
		if slices.Contains(drop, key) {
			found = true
			return nil
		}
		name, err := json.Marshal(key)
		changed = append(append(append(append(changed, name...), ':'), value...), ',')
		return err
	})
	if err != nil || !found {
		return text, err
	}
	return indented(append(bytes.TrimSuffix(append(changed, add...), []byte(",")), '}'))
}

func indented(text []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, text, "", "  ")
	return append(b.Bytes(), '\n'), err
}

// ownParts returns the tokenizer for a GGUF file, or an error that says why there is none.
func (c *Checkpoint) ownParts() (tokenizer.Parts, error) {
	t, err := c.Tokenizer()
	if err != nil {
		return tokenizer.Parts{}, err
	}
	p, ok := t.Parts()
	switch {
	case !ok:
		err = errors.New("only byte-level BPE that splits a text as GPT-2 does can be in a GGUF file")
	case len(p.Tokens) > c.Config.VocabSize:
		err = fmt.Errorf("%d tokens, but the model has rows for %d", len(p.Tokens),
			c.Config.VocabSize)
	}
	return p, err
}

// nanoGPT's meta.pkl has the characters of a character-level data set: {vocab_size, stoi, itos}. It is
// in the folder of ckpt.pt, or where nanoGPT has it, with the data.
const largestMeta = 8 << 20 // bytes: about 40 for each Unicode character

// hasMeta reports whether a folder has a meta.pkl.
func hasMeta(fsys fs.FS) bool { return has(fsys, folder.Characters) }

// nanoMeta returns the vocabulary of a nanoGPT checkpoint, or nil if there is none. In nanoGPT's tree
// the checkpoint is out/ckpt.pt, and its config names the data set, whose files are in data/NAME. Only
// a plain name is followed, only to a meta.pkl, and only from a folder of this machine.
func nanoMeta(fsys fs.FS, root any, size int) (*vocabulary, error) {
	v, err := readMeta(fsys, size)
	dir, local := fsys.(folder.Dir)
	name := dataset(root)
	if v != nil || err != nil || !local || name == "" || hasTokenizerFile(fsys) {
		return v, err
	}
	for _, above := range []string{"..", "../.."} {
		data := folder.Dir(dir.Path(above + "/data/" + name))
		if v, err = readMeta(data, size); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// dataset returns the name of the data set that a checkpoint of nanoGPT's was trained on, if it is
// that of a folder, else "".
func dataset(root any) string {
	top, _ := root.(*torch.Dict)
	v, _ := top.Get("config")
	config, _ := v.(*torch.Dict)
	v, _ = config.Get("dataset")
	name, _ := v.(string)
	const longest = 255 // bytes of a name, for most file systems: a longer one is an error there
	if len(name) > longest || strings.ContainsAny(name, "/\\:\x00") || name == "." ||
		!filepath.IsLocal(name) {
		return ""
	}
	return name
}

// readMeta returns the vocabulary of the folder's meta.pkl, or nil if there is none. size is the
// number of the model's ids.
func readMeta(fsys fs.FS, size int) (*vocabulary, error) {
	fail := func(err error) (*vocabulary, error) {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, folder.Characters), err)
	}
	data, err := folder.Read(fsys, folder.Characters, largestMeta)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return fail(err)
	}
	stoi, err := parseMeta(data)
	if err != nil {
		return fail(err)
	}
	t, err := tokenizer.Characters(stoi)
	if err != nil {
		return fail(err)
	}
	if t.Size() > size {
		return fail(fmt.Errorf("%d ids, but the model's vocab_size is %d", t.Size(), size))
	}
	return &vocabulary{
		load: func() (*tokenizer.Tokenizer, error) { return t, nil },
		raw:  func() ([]byte, error) { return data, nil },
	}, nil
}

// parseMeta returns stoi of a meta.pkl. It is an error if itos disagrees.
func parseMeta(data []byte) (map[string]int, error) {
	v, err := torch.Load(data, torch.Options{})
	if err != nil {
		return nil, err
	}
	root, ok := v.(*torch.Dict)
	if !ok {
		return nil, fmt.Errorf("%s, want a dict of vocab_size, stoi and itos", torch.Kind(v))
	}
	to, err := dictOf(root, "stoi")
	if err != nil {
		return nil, err
	}
	from, err := dictOf(root, "itos")
	if err != nil {
		return nil, err
	}
	stoi := make(map[string]int, len(to.Keys))
	for _, key := range to.Keys {
		text, isString := key.(string)
		v, _ := to.Get(key)
		id, isInt := v.(int64)
		if !isString || !isInt || int64(int(id)) != id {
			return nil, fmt.Errorf("stoi: %s for %s, want ids of strings", torch.Kind(v),
				torch.Kind(key))
		}
		if back, _ := from.Get(id); back != text {
			return nil, fmt.Errorf("stoi and itos disagree on id %d, %s", id, quote.Short(text, 20))
		}
		stoi[text] = int(id)
	}
	if len(from.Keys) != len(stoi) {
		return nil, fmt.Errorf("itos has %d ids, but stoi %d", len(from.Keys), len(stoi))
	}
	return stoi, nil
}

func dictOf(root *torch.Dict, key string) (*torch.Dict, error) {
	v, ok := root.Get(key)
	if !ok {
		return nil, fmt.Errorf("%s: missing, want a dict", key)
	}
	d, ok := v.(*torch.Dict)
	if !ok {
		return nil, fmt.Errorf("%s: %s, want a dict", key, torch.Kind(v))
	}
	return d, nil
}

// readGeneration reads the generation_config.json beside the weights. A file of GGUF, TensorFlow's or
// llm.c's says itself what there is to say: one beside it is another checkpoint's.
//
// A file that cannot be read, or has another syntax than JSON's, has no effect, as in Hugging Face's
// library, but is told: texts may end elsewhere than their author meant. Else what ParseGeneration
// refuses is an error.
func (c *Checkpoint) readGeneration(o Options) error {
	formats := []string{"safetensors", "pytorch", "nanogpt", "mingpt"}
	if o.wordsOnly || !slices.Contains(formats, c.format) {
		return nil
	}
	data, err := c.read(folder.Generation)
	if errors.Is(err, fs.ErrNotExist) {
		c.readLegacyGeneration()
		return nil
	}
	var g model.Generation
	var others []string
	if err == nil {
		if g, others, err = model.ParseGeneration(data, c.Config.VocabSize); err != nil {
			err = fmt.Errorf("%s: %w", folder.Path(c.files, folder.Generation), err)
		}
	}
	if err != nil && json.Valid(data) {
		return fmt.Errorf("%w (without the file, config.json would say which tokens end a text)", err)
	} else if err != nil {
		note := fmt.Sprintf("%v, so config.json says which tokens begin and end a text", err)
		c.Notes, c.Unread = append(c.Notes, note), append(c.Unread, note)
		c.readLegacyGeneration()
		return nil
	}
	theirs := c.Config.EndTokens()
	switch {
	case len(g.EOSTokenIDs) > 0:
	case len(theirs) == 0: // then the tokenizer's token does, as without the file
		g.EOSTokenIDs = nil
	default:
		c.Notes = append(c.Notes, fmt.Sprintf("%s names no token that ends a text, and outranks "+
			"config.json, which names %v: no token does", folder.Generation, theirs))
	}
	c.Config.Generation = g
	c.noteNotTaken(folder.Generation, others)
	return nil
}

// readLegacyGeneration notes the fields in config.json, where they were before 2023.
func (c *Checkpoint) readLegacyGeneration() {
	if data, err := c.read(folder.Config); err == nil {
		c.noteNotTaken(folder.Config, model.LegacyGeneration(data))
	}
}

// noteNotTaken notes the fields of a file that are not obeyed.
func (c *Checkpoint) noteNotTaken(name string, fields []string) {
	const most = 12
	if n := len(fields) - most; n > 0 {
		fields = append(fields[:most:most], fmt.Sprintf("%d more", n))
	}
	if len(fields) > 0 {
		c.NotTaken = fmt.Sprintf("%s: not taken: %s", name, strings.Join(fields, ", "))
		c.Notes = append(c.Notes, c.NotTaken)
	}
}
