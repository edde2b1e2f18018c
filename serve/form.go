package serve

// Forms: constraints on a text, by the names of vLLM's and OpenAI's fields.

import (
	"cmp"
	"strings"

	"picogpt/internal/strictjson"
)

// A form is a constraint on a text. At most one of the four kinds is given.
type form struct {
	schema, regex, grammar *string
	choice                 []string
	open                   bool // objects may have other names than those of the schema

	fields []string // the names of the fields that gave one
}

// Limits of forms. Package constrain bounds what they compile to.
const (
	mostForm        = 256 << 10 // bytes of a schema or a grammar
	mostChoices     = 10000
	mostChoiceBytes = 1 << 20 // package constrain's limit
)

// addFields adds the fields of a form to a table: vLLM's, its older ones, and OpenAI's for chats.
func (f *form) addFields(table map[string]field, ignored *[]string) {
	table["structured_outputs"] = object("structured_outputs", ignored, map[string]field{
		"json":        f.given("structured_outputs.json", asJSON(&f.schema)),
		"regex":       f.given("structured_outputs.regex", asText(&f.regex)),
		"grammar":     f.given("structured_outputs.grammar", asText(&f.grammar)),
		"choice":      f.list("structured_outputs.choice"),
		"json_object": f.anyObject("structured_outputs.json_object"),
	})
	table["guided_json"] = f.given("guided_json", asJSON(&f.schema))
	table["guided_regex"] = f.given("guided_regex", asText(&f.regex))
	table["guided_grammar"] = f.given("guided_grammar", asText(&f.grammar))
	table["guided_choice"] = f.list("guided_choice")
	table["response_format"] = f.responseFormat(ignored)
	table["json_open"] = yes(&f.open)
}

// given returns a field that also notes that the request has it.
func (f *form) given(name string, read field) field {
	return func(r *strictjson.Reader) error {
		f.fields = append(f.fields, name)
		return read(r)
	}
}

// list reads choices. An empty list counts as absent.
func (f *form) list(name string) field {
	return func(r *strictjson.Reader) error {
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
	}
}

const anObject = `{"type":"object"}`

func (f *form) anyObject(name string) field {
	return func(r *strictjson.Reader) error {
		wanted, err := r.Bool()
		if wanted {
			f.fields = append(f.fields, name)
			f.schema = new(string)
			*f.schema = anObject
		}
		return err
	}
}

// asText reads a string that compiles to a form.
func asText(to **string) field {
	return func(r *strictjson.Reader) error {
		s, err := ownString(r)
		*to = &s
		return checkForm(r, s, err)
	}
}

// asJSON reads a schema, as JSON or as a string that has it.
func asJSON(to **string) field {
	return func(r *strictjson.Reader) error {
		if r.Kind() == '"' {
			return asText(to)(r)
		}
		v, err := r.Raw()
		if err == nil {
			err = checkForm(r, v.Text(), nil)
		}
		if err == nil {
			err = v.Distinct()
		}
		if err != nil {
			return err
		}
		s := strings.Clone(v.Text())
		*to = &s
		return nil
	}
}

func checkForm(r *strictjson.Reader, s string, err error) error {
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(s) == "":
		return r.Errorf("want at least one byte, found none")
	case len(s) > mostForm:
		return r.Errorf("want at most %d bytes, found %d", mostForm, len(s))
	}
	return nil
}

// responseFormat reads OpenAI's field: text, json_object, or json_schema with a schema.
func (f *form) responseFormat(ignored *[]string) field {
	return func(r *strictjson.Reader) error {
		var kind string
		var schema *string
		inner := object("response_format.json_schema", ignored, map[string]field{
			"name": anyText, "description": anyText, "strict": yes(new(bool)),
			"schema": asJSON(&schema),
		})
		err := object("response_format", ignored, map[string]field{
			"type": text(&kind), "json_schema": inner,
		})(r)
		switch {
		case err == nil && schema != nil && kind != "json_schema":
			return r.Errorf("want the type json_schema with json_schema, found %s",
				cmp.Or(short(kind), "none"))
		case err != nil || kind == "" || kind == "text":
			return err
		case kind == "json_object":
			schema = new(string)
			*schema = anObject
		case kind != "json_schema":
			return r.Errorf("want the type text, json_object or json_schema, found %s", short(kind))
		case schema == nil:
			return r.Errorf("want json_schema with a schema, found none")
		}
		f.fields, f.schema = append(f.fields, "response_format"), schema
		return nil
	}
}

// check refuses a request with two forms.
func (f *form) check() error {
	if len(f.fields) > 1 {
		return fieldf(f.fields[1], "want one form for the text, found %s too", f.fields[0])
	}
	if f.open && f.schema == nil {
		return fieldf("json_open", "want a JSON Schema with it, such as response_format has")
	}
	return nil
}
