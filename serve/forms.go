package serve

// Forms: constraints on a text, by the names of vLLM's and OpenAI's fields; compiled in turns, and
// cached.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"picogpt/constrain"
	"picogpt/internal/chat"
	"picogpt/internal/strictjson"
	"picogpt/serve/internal/openapi"
	"picogpt/serve/internal/turns"
)

// A form is a constraint on a text. At most one of the six kinds is given.
type form struct {
	schema, regex, grammar, tag *string

	choice   []string
	calls    *callForm
	open     bool // objects may have other names than those of the schema
	anyOrder bool // of properties

	fields []string // the names of the fields that gave one
}

// Limits of forms. Package constrain bounds what they compile to.
const (
	mostForm        = 256 << 10 // bytes of a schema or a grammar
	mostRegex       = 64 << 10  // package constrain's limit
	mostChoices     = 10000
	mostChoiceBytes = 1 << 20 // package constrain's limit
)

// addFields adds the fields of a form to a table: vLLM's, its older ones, and OpenAI's for chats.
func (f *form) addFields(table map[string]field, ignored *[]string) {
	table["structured_outputs"] = object("structured_outputs", ignored, map[string]field{
		"json":    f.given("structured_outputs.json", asJSON(&f.schema)),
		"regex":   f.given("structured_outputs.regex", asText(&f.regex, mostRegex)),
		"grammar": f.given("structured_outputs.grammar", asText(&f.grammar, mostForm)),
		"choice":  f.list("structured_outputs.choice"),

		"structural_tag": f.given("structured_outputs.structural_tag", asTag(&f.tag)),
		"json_object":    f.anyObject("structured_outputs.json_object"),
	})
	table["guided_json"] = f.given("guided_json", asJSON(&f.schema))
	table["guided_regex"] = f.given("guided_regex", asText(&f.regex, mostRegex))
	table["guided_grammar"] = f.given("guided_grammar", asText(&f.grammar, mostForm))
	table["structural_tag"] = f.given("structural_tag", asTag(&f.tag))
	table["guided_choice"] = f.list("guided_choice")
	table["response_format"] = f.responseFormat(ignored)
	table["json_open"] = yes(&f.open)
	table["json_any_order"] = yes(&f.anyOrder)
}

// given returns a field that also notes that the request has it.
func (f *form) given(name string, read field) field {
	return noting(read, func() { f.fields = append(f.fields, name) })
}

// list reads choices. An empty list counts as absent.
func (f *form) list(name string) field {
	schema := func() openapi.Schema { return openapi.AtMost(mostChoices, openapi.String()) }
	return as(schema, func(r *strictjson.Reader) error {
		size := 0
		err := r.Array(func(i int) error {
			if i == mostChoices {
				return r.Errorf("want at most %d strings, found more", mostChoices)
			}
			s, err := r.String()
			if size += len(s); size > mostChoiceBytes {
				return r.Errorf("want at most %d bytes in all strings, found more", mostChoiceBytes)
			}
			f.choice = append(f.choice, strings.Clone(s))
			return err
		})
		if len(f.choice) > 0 {
			f.fields = append(f.fields, name)
		}
		return err
	})
}

const anObject = `{"type":"object"}`

func (f *form) anyObject(name string) field {
	return as(openapi.Bool, func(r *strictjson.Reader) error {
		wanted, err := r.Bool()
		if wanted {
			f.fields = append(f.fields, name)
			f.schema = new(anObject)
		}
		return err
	})
}

// asText reads a string of at most so many bytes that compiles to a form.
func asText(to **string, most int) field {
	schema := func() openapi.Schema { return openapi.Text(1, most) }
	return as(schema, func(r *strictjson.Reader) error {
		s, err := ownString(r)
		*to = &s
		return checkForm(r, s, most, err)
	})
}

// asJSON reads a schema, as JSON or as a string that has it.
func asJSON(to **string) field {
	return as(func() openapi.Schema {
		return openapi.Either(openapi.Text(1, mostForm), schemaOf(nil), openapi.Bool())
	}, func(r *strictjson.Reader) error {
		if r.Kind() == '"' {
			return asText(to, mostForm).read(r)
		}
		if kind := r.Kind(); kind != '{' && kind != 't' && kind != 'f' {
			return wrong(r, "an object, true, false or a string")
		}
		v, err := r.Raw()
		if err == nil {
			err = checkForm(r, v.Text(), mostForm, nil)
		}
		if err == nil {
			err = v.Distinct()
		}
		if err != nil {
			return err
		}
		*to = new(strings.Clone(v.Text()))
		return nil
	})
}

// asTag reads a structural tag, which is an object.
func asTag(to **string) field {
	return as(func() openapi.Schema {
		return openapi.Either(openapi.Text(1, mostForm), schemaOf(nil))
	}, asJSON(to).read)
}

func checkForm(r *strictjson.Reader, s string, most int, err error) error {
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(s) == "":
		return r.Errorf("want at least one byte, found none")
	case len(s) > most:
		return r.Errorf("want at most %d bytes, found %d", most, len(s))
	}
	return nil
}

// responseFormat reads OpenAI's field: text, json_object, or json_schema with a schema; and vLLM's
// structural_tag, which is the whole of it.
func (f *form) responseFormat(ignored *[]string) field {
	members := func(kind, tag *string, schema **string) field {
		ofTag := as(openapi.Any, func(r *strictjson.Reader) error {
			*tag = "structural_tag"
			_, err := r.Raw()
			return err
		})
		inner := object("response_format.json_schema", ignored, map[string]field{
			"name": anyText, "description": anyText, "strict": yes(new(bool)),
			"schema": asJSON(schema),
		})
		return object("response_format", ignored, map[string]field{
			"type":        word(kind, []string{"text", "json_object", "json_schema", "structural_tag"}),
			"json_schema": inner, "format": ofTag, "structures": ofTag, "triggers": ofTag})
	}
	schema := func() openapi.Schema {
		return members(new(string), new(string), new(*string)).schema()
	}
	return as(schema, func(r *strictjson.Reader) error {
		var kind, tag string
		var schema *string
		all, err := r.Raw()
		if err == nil {
			err = members(&kind, &tag, &schema).read(strictjson.NewReader(all.Text()))
		}
		switch {
		case err == nil && kind == "structural_tag":
			f.fields = append(f.fields, "response_format")
			return asJSON(&f.tag).read(strictjson.NewReader(all.Text()))
		case err == nil && tag != "":
			return r.Errorf("want the type structural_tag with its format, found %s",
				cmp.Or(short(kind), "none"))
		case err == nil && schema != nil && kind != "json_schema":
			return r.Errorf("want the type json_schema with json_schema, found %s",
				cmp.Or(short(kind), "none"))
		case err != nil || kind == "" || kind == "text":
			return err
		case kind == "json_object":
			schema = new(anObject)
		case schema == nil:
			return r.Errorf("want json_schema with a schema, found none")
		}
		f.fields, f.schema = append(f.fields, "response_format"), schema
		return nil
	})
}

// formatted reports whether the form is that of OpenAI's response_format, or text.format, alone: of
// an answer that is no call.
func (f *form) formatted() bool {
	return f.schema != nil && len(f.fields) == 1 && slices.Contains([]string{"response_format", "text"},
		f.fields[0])
}

// check refuses a request with two forms.
func (f *form) check() error {
	if len(f.fields) > 1 {
		return fieldf(f.fields[1], "want one form for the text, found %s too", f.fields[0])
	}
	for name, on := range map[string]bool{"json_open": f.open, "json_any_order": f.anyOrder && !f.open} {
		if on && f.schema == nil && f.tag == nil && f.grammar == nil && f.calls == nil {
			return fieldf(name, "want a JSON Schema with it, such as response_format has")
		}
	}
	return nil
}

// Limits of the cache of compiled forms. A form grows with the texts that use it, so the sum is
// computed again for each new form.
const (
	keptForms     = 64
	keptFormBytes = 64 << 20
	mostKeptBytes = keptFormBytes / 4 // of one form; a larger one is compiled each time
)

// forms compiles forms and caches them, separately for each tenant: the time that a form takes
// tells nobody which forms other tenants used. It also caches the errors of refused forms.
type forms struct {
	vocabulary func() (*constrain.Vocabulary, error)
	calling    func() (*constrain.Vocabulary, error) // of texts with calls of tools
	turns      *turns.Turns

	mu    sync.Mutex
	known []*aForm // the last used at the end
}

type formKey [sha256.Size]byte

type aForm struct {
	key        formKey
	client     string // the client that sent it
	constraint *constrain.Constraint
	err        error
}

// bytes returns the memory that a form takes now.
func (f *aForm) bytes() int {
	if f.constraint == nil {
		return 1 << 10
	}
	return f.constraint.Bytes()
}

func newForms(v vocabulary, ends []int, calls *chat.CallFormat) *forms {
	c := &forms{turns: turns.New()}
	c.vocabulary = sync.OnceValues(func() (*constrain.Vocabulary, error) {
		return constrain.VocabularyOf(v, ends)
	})
	c.calling = sync.OnceValues(func() (*constrain.Vocabulary, error) {
		own := callTokens{v, calls.Open + calls.Closing}
		if len(own.special()) == 0 {
			return c.vocabulary()
		}
		return constrain.VocabularyOf(own, ends)
	})
	return c
}

// callTokens are the tokens of texts with calls of tools: special ones that stand around calls are
// text there.
type callTokens struct {
	vocabulary
	around string
}

func (t callTokens) special() []int {
	return slices.DeleteFunc(t.Special(), func(id int) bool {
		return t.texts[id] == "" || !strings.Contains(t.around, t.texts[id])
	})
}

func (t callTokens) Bytes() ([][]byte, error) {
	all, err := t.Tokenizer.Bytes()
	if err == nil {
		for _, id := range t.special() {
			all[id] = []byte(t.texts[id])
		}
	}
	return all, err
}

// matcher returns the constraint of a form; nil if there is no form.
func (c *forms) matcher(ctx context.Context, v *visit, f *form) (constrain.Matcher, error) {
	if len(f.fields) == 0 {
		return nil, nil
	}
	constraint, err := c.compiled(ctx, v, f)
	if err == nil {
		var text *constrain.Text
		if text, err = constraint.Start(); err == nil {
			v.formNotes(constraint.Notes())
			return text, nil
		}
	}
	if errors.Is(err, ctx.Err()) && ctx.Err() != nil {
		return nil, err
	}
	return nil, fieldf(f.fields[0], "%v", err)
}

func (c *forms) compiled(ctx context.Context, v *visit, f *form) (*constrain.Constraint, error) {
	key := f.key(v.tenant)
	if found := c.find(key); found != nil {
		return found.constraint, found.err
	}
	t, err := c.turns.Enter(ctx, v.client.id, f.bytes())
	if err != nil {
		return nil, err
	}
	defer c.turns.Leave(t)
	if found := c.find(key); found != nil { // compiled by the previous turn
		return found.constraint, found.err
	}
	of := c.vocabulary
	if f.calls != nil {
		of = c.calling
	}
	vocabulary, err := of()
	if err != nil {
		return nil, err
	}
	made, err := f.compile(ctx, constrain.Compiler{Vocabulary: vocabulary,
		Pause: func(ctx context.Context) error { return c.turns.Pause(ctx, t) },
		Aside: func(ctx context.Context, f func()) error { return c.turns.Aside(ctx, t, f) }})
	if ctx.Err() == nil {
		c.add(&aForm{key, v.client.id, made, err})
	}
	return made, err
}

func (c *forms) find(key formKey) *aForm {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.known, func(f *aForm) bool { return f.key == key })
	if i < 0 {
		return nil
	}
	found := c.known[i]
	c.known = append(slices.Delete(c.known, i, i+1), found)
	return found
}

// add adds a form to the cache, and removes others until the cache is within its limits.
func (c *forms) add(made *aForm) {
	if c.find(made.key) != nil || made.bytes() > mostKeptBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = append(c.known, made)
	for c.shrink() {
	}
}

// shrink removes one form if the cache is over its limits: one that has grown too large, or the
// least recently used one of the client that has the most. It reports whether it removed one.
func (c *forms) shrink() bool {
	held, total, most := map[string]int{}, 0, ""
	for i, f := range slices.Backward(c.known) {
		n := f.bytes()
		if n > mostKeptBytes {
			c.known = slices.Delete(c.known, i, i+1)
			return true
		}
		total += n
		if held[f.client] += n + 1<<10; held[f.client] > held[most] {
			most = f.client
		}
	}
	if total <= keptFormBytes && len(c.known) <= keptForms {
		return false
	}
	i := slices.IndexFunc(c.known, func(f *aForm) bool { return f.client == most })
	c.known = slices.Delete(c.known, i, i+1)
	return true
}

// key returns the key of a form in the cache. Tenants have different keys.
func (f *form) key(tenant string) formKey {
	// strings have JSON
	all := []any{tenant, f.schema, f.open, f.anyOrder, f.regex, f.grammar, f.tag, f.choice}
	if f.calls != nil {
		all = append(all, f.calls.key())
	}
	b, _ := json.Marshal(all)
	return sha256.Sum256(b)
}

// bytes returns the length of a form's source.
func (f *form) bytes() (n int) {
	for _, text := range []*string{f.schema, f.regex, f.grammar, f.tag} {
		if text != nil {
			n += len(*text)
		}
	}
	for _, text := range f.choice {
		n += len(text)
	}
	if f.calls != nil {
		if f.calls.text != nil {
			n += len(*f.calls.text)
		}
		for _, t := range f.calls.tools {
			n += len(t.parameters)
		}
	}
	return n
}

func (f *form) compile(
	ctx context.Context, c constrain.Compiler,
) (*constrain.Constraint, error) {
	c.Schemas = constrain.SchemaOptions{Closed: !f.open, AnyOrder: f.anyOrder}
	switch {
	case f.schema != nil:
		return c.JSONSchema(ctx, []byte(*f.schema), c.Schemas)
	case f.tag != nil:
		return c.StructuralTag(ctx, []byte(*f.tag))
	case f.calls != nil:
		made, err := c.Compose(ctx, f.calls.part(c.Schemas))
		for _, t := range f.calls.tools {
			if err == nil {
				break
			} else if _, wrong := c.JSONSchema(ctx, []byte(t.parameters), c.Schemas); wrong != nil {
				return nil, fmt.Errorf("the parameters of %s: %w", t.name, wrong)
			}
		}
		return made, err
	case f.regex != nil:
		return c.Regex(ctx, *f.regex)
	case f.grammar != nil:
		return c.Grammar(ctx, *f.grammar)
	}
	return c.Choice(ctx, f.choice...)
}
