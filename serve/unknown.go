package serve

// Fields that the server does not know: those that are refused, and those that may be a misspelt
// one.

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agnivade/levenshtein"
	"github.com/go-json-experiment/json/jsontext"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A need is a requirement that a request has at least one of several fields.
type need struct {
	fields []string
	given  bool
}

// needs returns a need of fields of a table, and makes the table note when one is read.
func needs(table map[string]field, fields ...string) *need {
	n := &need{fields: fields}
	for _, name := range fields {
		table[name] = noting(table[name], func() { n.given = true })
	}
	return n
}

// check refuses a request without any of the required fields if it has unknown ones: one of those
// is most likely a required field, misspelt. Otherwise unknown fields count as absent, but for what
// readFields says of them.
func (n *need) check(err error, unknown []string, table map[string]field) error {
	var ofOne *apiError
	if err != nil && (!errors.As(err, &ofOne) || !slices.Contains(unknown, ofOne.param)) {
		return err
	}
	if n.given || len(unknown) == 0 || ofOne != nil && strings.Contains(ofOne.param, ".") {
		return err
	}
	name, near := unknown[0], nearest(unknown[0], table, n.fields)
	for _, other := range unknown {
		if found := nearest(other, table, n.fields); slices.Contains(n.fields, found) {
			name, near = other, found
			break
		}
	}
	meant := ""
	if near != "" {
		meant = " (did you mean " + near + "?)"
	}
	e := fieldf(name, "")
	e.message = quote.Plain(name, 80) + ": this server does not know the field" + meant +
		", and the request has no " + strings.Join(n.fields, " or ")
	return e
}

// nearest returns the field that is most similar to a misspelt name; "" if none is similar. Of
// several it returns a required one, or else the first by name.
func nearest(name string, table map[string]field, needed []string) (near string) {
	const longest = 40 // bytes of the longest name that is compared
	if len(name) > longest {
		return ""
	}
	least := longest
	for _, field := range slices.Concat(needed, slices.Sorted(maps.Keys(table))) {
		edits := levenshtein.ComputeDistance(strings.ToLower(name), field)
		if edits <= (len(field)+2)/3 && edits < least {
			near, least = field, edits
		}
	}
	return near
}

// A decisive is fields of other servers that decide what an answer is: without them it would be
// another one, and nobody would notice. A request that has one is refused.
type decisive struct {
	paths   string // with a space between them
	off     string // the values that ask for nothing, as canonical JSON, with a space between them
	instead string // what has its effect here, or ""
}

// decisiveFields are all of them. Where a path of the server has a field of that name, it is read
// as usual. One that says again what the field instead of it says is ignored, and named, and so is
// what is not here, because it changes only odds, speed, costs or what comes beside the answer.
var decisiveFields = []decisive{
	// who answers, and with what
	{"tool_choice function_call", `"auto" "none" ""`, ""},
	{"functions logits_processors", `[]`, ""},
	{"web_search_options", ``, ""}, // {} searches, too
	{"modalities", `[] ["text"]`, ""},
	{"audio extra_body", `{}`, ""}, // OpenAI's client sends what is in extra_body, never the name
	{"lora lora_path", `[] ""`, ""},
	{"lora_request", `{} ""`, ""},
	{"adapter_id adapters custom_logit_processor", `""`, ""},
	{"background", `false`, ""},
	// what the text must be
	{"grammar grammar_string regex ebnf", `""`, "structured_outputs"},
	{"json_schema", `""`, "response_format"},
	{"format", `"" "text"`, "response_format"},
	{"text", `"" {} {"format":{"type":"text"}}`, ""},
	{"guided_whitespace_pattern structured_outputs.whitespace_pattern", `""`, ""},
	{"response_format.schema", ``, "response_format.json_schema"},
	{"structured_outputs.disable_any_whitespace", `false`, ""},
	// what it follows
	{"prompt", `"" []`, "messages"},
	{"input", `"" []`, "prompt or messages"},
	{"messages", `[]`, "prompt or input"},
	{"instructions system_prompt", `""`, "a message of the system"},
	{"system", `"" []`, "a message of the system"},
	{"suffix previous_response_id chat_template template input_prefix input_suffix " +
		"messages.refusal", `""`, ""},
	{"prompt_embeds", `"" []`, ""},
	{"image_data images multimodal_data documents input_extra messages.images", `[]`, ""},
	{"conversation", `"" {}`, ""},
	{"chat_template_kwargs", `{}`, ""},
	{"add_generation_prompt", `true`, ""},
	{"continue_final_message echo messages.prefix messages.partial", `false`, ""},
	{"truncate_prompt_tokens", `0 -1`, ""},
	{"messages.audio", ``, ""},
	// which tokens it may have, where it ends, and which of several texts it is
	{"n_predict num_predict", `-1`, "max_tokens"},
	{"max_new_tokens max_length max_output_tokens", ``, "max_tokens"},
	{"min_new_tokens min_length", `0`, "min_tokens"},
	{"t_max_predict_ms", `0 -1`, ""},
	{"n_indent", `0`, ""},
	{"stop_sequences", `[]`, "stop"},
	{"stop_strings stopping_strings", `"" []`, "stop"},
	{"stop_regex", `"" []`, ""},
	{"no_stop_trim", `false`, "include_stop_str_in_output"},
	{"ban_eos_token", `false`, "ignore_eos"},
	{"custom_token_bans", `""`, "logit_bias"},
	{"banned_tokens", `"" []`, "logit_bias"},
	{"banned_strings", `"" []`, "bad_words"},
	{"suppress_tokens", `[]`, "logit_bias"},
	{"bad_words_ids", `[]`, "bad_words"},
	{"force_words_ids", `[]`, ""},
	{"samplers", `"" [] ` + allSamplers, ""}, // which there are, not how strong
	{"n_cmpl num_return_sequences", `1`, "n"},
	{"num_beams", `1`, "use_beam_search"},
	// what a vector or a label is
	{"input_type instruction pooling prompt_name", `""`, ""},
	{"normalize softmax activation use_activation", `true`, ""},
	{"embd_normalize", `2`, ""},
	{"embed_dtype", `"float32"`, ""},
	{"endianness", `"native" "little"`, ""},
	{"return_full_text", `false`, "echo"},
}

// decisives returns the decisive fields by their paths.
var decisives = sync.OnceValue(func() map[string]decisive {
	all := map[string]decisive{}
	for _, d := range decisiveFields {
		for path := range strings.FieldsSeq(d.paths) {
			all[path] = d
		}
	}
	return all
})

// allSamplers are llama.cpp's, as its pages send them where nobody chose some.
const allSamplers = `"edkypmxt" "edskypmxt" ["penalties","dry","top_n_sigma","top_k","typ_p",` +
	`"top_p","min_p","xtc","temperature"]`

// mostOff is more bytes than any value of decisive.off has, with some space in it.
const mostOff = 256

// decides reads the value of a field of an object, body, that a table lacks. wrong is not nil if
// the field is a decisive one, and the value asks for something.
func decides(r *strictjson.Reader, path, body string) (wrong *apiError, err error) {
	value, err := r.Raw()
	if err != nil {
		return nil, err
	}
	plain := path
	if from, rest, ok := strings.Cut(path, "["); ok { // messages[3].audio is as all others
		_, rest, _ = strings.Cut(rest, "]")
		plain = from + rest
	}
	d, ok := decisives()[plain]
	if !ok || value.Text() == "null" {
		return nil, nil
	}
	text := value.Text()
	if v := canonical(text); v != "" && (slices.Contains(strings.Fields(d.off), v) ||
		d.instead != "" && v == canonical(member(body, d.instead))) {
		return nil, nil
	}
	want := "it left out"
	if d.instead != "" {
		want = d.instead + " in its place"
	}
	wrong = fieldf(path, "this server has no such field, and its answer would not be what is "+
		"asked for: want %s, found %s", want, kindOf(text))
	wrong.code = "unsupported_parameter"
	return wrong, nil
}

// canonical returns a value as canonical JSON, or "" if it is longer than mostOff, or invalid.
func canonical(text string) string {
	if v := jsontext.Value(text); len(text) <= mostOff && v.Canonicalize() == nil {
		return string(v)
	}
	return ""
}

// member returns the value of a member of an object, or "" if there is none.
func member(object, name string) (value string) {
	r := strictjson.NewReader(object)
	r.Object(func(key string) error { // readFields tells what is wrong with it
		v, err := r.Raw()
		if err == nil && key == name {
			value = v.Text()
		}
		return err
	})
	return value
}
