// Reading config.json: GPT2Config's keys, aliases and defaults.

package model

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// ParseConfig reads a config.json. Absent keys and null take GPT2Config's defaults. Its aliases
// (hidden_size, num_hidden_layers, num_attention_heads, max_position_embeddings) are honoured, and
// so is the old n_ctx if n_positions is absent. A key that asks for arithmetic that this package
// does not have is refused by name; keys that change no arithmetic are not read. Errors begin with
// the key.
func ParseConfig(b []byte) (Config, error) {
	if len(b) > maxConfig {
		return Config{}, fmt.Errorf("config of %d bytes, want at most %d", len(b), maxConfig)
	}
	keys := configKeys{}
	err := strictjson.Members(b, func(key string, value json.RawMessage) error {
		keys[key] = value
		return nil
	})
	if err != nil {
		return Config{}, err
	}
	if err := keys.refuse(); err != nil {
		return Config{}, err
	}
	c, err := keys.config()
	if err != nil {
		return Config{}, err
	}
	return c, c.Validate()
}

// UnmarshalJSON is ParseConfig, so that every Config that is read from JSON is checked.
func (c *Config) UnmarshalJSON(b []byte) error {
	parsed, err := ParseConfig(b)
	if err == nil {
		*c = parsed
	}
	return err
}

type configKeys map[string]json.RawMessage

// get returns the value of a key that is present and not null.
func (k configKeys) get(name string) (json.RawMessage, bool) {
	v, ok := k[name]
	return v, ok && string(v) != "null"
}

func (k configKeys) config() (c Config, err error) {
	c = DefaultConfig()
	check := func(e error) {
		if err == nil {
			err = e
		}
	}
	check(k.integer(&c.VocabSize, "vocab_size"))
	check(k.positions(&c.Positions))
	check(k.integer(&c.Embd, "n_embd", "hidden_size"))
	check(k.integer(&c.Layer, "n_layer", "num_hidden_layers"))
	check(k.integer(&c.Head, "n_head", "num_attention_heads"))
	c.Inner = 4 * c.Embd
	check(k.integer(&c.Inner, "n_inner"))
	check(k.epsilon(&c.LayerNormEpsilon))
	check(k.boolean(&c.ScaleAttnWeights, "scale_attn_weights"))
	check(k.boolean(&c.ScaleAttnByInverseLayerIdx, "scale_attn_by_inverse_layer_idx"))
	check(k.boolean(&c.ReorderAndUpcastAttn, "reorder_and_upcast_attn"))
	check(k.boolean(&c.TieWordEmbeddings, "tie_word_embeddings"))
	if v, ok := k.get("activation_function"); ok {
		s, e := strictjson.String(v)
		if e != nil {
			check(fmt.Errorf("activation_function: %w", e))
		}
		c.Activation = Activation(s)
	}
	check(k.tokens(&c))
	if v, ok := k.get("architectures"); ok {
		// A value of any other type is ignored: it changes no arithmetic.
		c.Architectures = architectures(v)
	}
	return c, err
}

// positions reads the number of rows of wpe. The old n_ctx counts only if n_positions is absent:
// since 2021 transformers ignores it, and many configs have another number in it.
func (k configKeys) positions(dst *int) error {
	names := []string{"n_positions", "max_position_embeddings"}
	for _, name := range names {
		if _, ok := k.get(name); ok {
			return k.integer(dst, names...)
		}
	}
	return k.integer(dst, "n_ctx")
}

// integer sets *dst to the value of whichever of the names is present. Names with different values
// are an error, because the weights could have been made with either.
func (k configKeys) integer(dst *int, names ...string) error {
	first := ""
	for _, name := range names {
		v, ok := k.get(name)
		if !ok {
			continue
		}
		n, ok := integral(v)
		if !ok {
			return fmt.Errorf("%s: %s, want an integer", name, show(v))
		}
		if first != "" && n != *dst {
			return fmt.Errorf("%s: %d, but %s is %d: want them equal, or one of them", name, n,
				first, *dst)
		}
		if first == "" {
			first = name
		}
		*dst = n
	}
	return nil
}

func (k configKeys) boolean(dst *bool, name string) error {
	v, ok := k.get(name)
	if !ok {
		return nil
	}
	switch string(v) {
	case "true":
		*dst = true
	case "false":
		*dst = false
	default:
		return fmt.Errorf("%s: %s, want true or false", name, show(v))
	}
	return nil
}

func (k configKeys) epsilon(dst *float64) error {
	v, ok := k.get("layer_norm_epsilon")
	if !ok {
		return nil
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil { // not a number, or one beyond float64
		return fmt.Errorf("layer_norm_epsilon: %s, want a finite number, 0 or more", show(v))
	}
	*dst = f
	return nil
}

// tokens sets the ids that begin and end a text. As in Hugging Face's library, an absent key means
// 50256 and null means none. Ids outside the vocabulary are left out: they can never be sampled.
func (k configKeys) tokens(c *Config) error {
	bos, err := k.ids("bos_token_id", c.VocabSize)
	if err != nil {
		return err
	}
	c.BOSTokenID = nil
	if len(bos) > 0 {
		c.BOSTokenID = &bos[0]
	}
	c.EOSTokenIDs, err = k.ids("eos_token_id", c.VocabSize)
	return err
}

// ids reads a token id or a list of them, as generation_config.json has.
func (k configKeys) ids(name string, vocab int) ([]int, error) {
	v, ok := k[name]
	items := []json.RawMessage{v}
	switch {
	case !ok:
		items[0] = json.RawMessage("50256")
	case string(v) == "null":
		return nil, nil
	case v[0] == '[':
		items = elements(v)
	}
	var ids []int
	seen := map[int]bool{} // lists may be as long as the vocabulary
	for _, item := range items {
		n, ok := integral(item)
		if !ok {
			return nil, fmt.Errorf("%s: %s, want an integer or a list of them", name, show(item))
		}
		if 0 <= n && n < vocab && !seen[n] {
			seen[n] = true
			ids = append(ids, n)
		}
	}
	return ids, nil
}

// elements returns the elements of an array in valid JSON.
func elements(v json.RawMessage) (items []json.RawMessage) {
	r := strictjson.NewReader(string(v))
	r.Array(func(int) error {
		item, err := r.Value()
		if err == nil {
			items = append(items, json.RawMessage(item.Text()))
		}
		return err
	})
	return items
}

// architectures returns the elements of a list of strings, or nil for any other value.
func architectures(v json.RawMessage) []string {
	if v[0] != '[' {
		return nil
	}
	names := []string{}
	for _, item := range elements(v) {
		name, err := strictjson.String(item)
		if err != nil {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// integral reads a JSON number that is an integer of 32 bits. 12, 12.0 and 1.2e1 are the same
// number.
func integral(v json.RawMessage) (int, bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, false
	}
	return int(f), true
}

// show returns a value from the file as an error prints it.
func show(v json.RawMessage) string { return quote.Plain(string(v), 60) }
