package serve

// Fields that the server does not know: those that are refused, and those that may be a misspelt one.

import (
	"errors"
	"maps"
	"slices"
	"strings"

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

// Fields of other servers that decide what an answer is: without them it would be another one, and
// nobody would notice. A request that has one is refused.

// A decisive is such a field.
type decisive struct {
	off     string // the values that ask for nothing, as canonical JSON, with a space between them
	instead string // what has its effect here, or ""
}

// decisives holds all of them, by their path. Where a path of the server has a field of that name,
// it is read as usual. One that says again what the field instead of it says is ignored, and named,
// and so is what is not here, because it changes only odds, speed, costs or what comes beside the
// answer.
var decisives = map[string]decisive{
	// who answers, and with what
	"tool_choice":        {off: `"auto" "none" ""`},
	"functions":          {off: `[]`},
	"function_call":      {off: `"auto" "none" ""`},
	"web_search_options": {}, // {} searches, too
	"modalities":         {off: `[] ["text"]`},
	"audio":              {off: `{}`},
	"lora":               {off: `[] ""`},
	"lora_request":       {off: `{} ""`},
	"lora_path":          {off: `[] ""`},
	"adapter_id":         {off: `""`},
	"adapters":           {off: `""`},
	"background":         {off: `false`},
	"logits_processors":  {off: `[]`},
	"extra_body":         {off: `{}`}, // OpenAI's client sends what is in it, never the name

	"custom_logit_processor": {off: `""`},

	// what the text must be
	"grammar":                   {off: `""`, instead: "structured_outputs"},
	"grammar_string":            {off: `""`, instead: "structured_outputs"},
	"json_schema":               {off: `""`, instead: "response_format"},
	"format":                    {off: `"" "text"`, instead: "response_format"},
	"regex":                     {off: `""`, instead: "structured_outputs"},
	"ebnf":                      {off: `""`, instead: "structured_outputs"},
	"text":                      {off: `"" {} {"format":{"type":"text"}}`},
	"structural_tag":            {off: `""`},
	"guided_whitespace_pattern": {off: `""`},
	"response_format.schema":    {instead: "response_format.json_schema"},

	"structured_outputs.structural_tag":         {off: `""`},
	"structured_outputs.whitespace_pattern":     {off: `""`},
	"structured_outputs.disable_any_whitespace": {off: `false`},

	// what it follows
	"prompt":                 {off: `"" []`, instead: "messages"},
	"input":                  {off: `"" []`, instead: "prompt or messages"},
	"messages":               {off: `[]`, instead: "prompt or input"},
	"instructions":           {off: `""`, instead: "a message of the system"},
	"system":                 {off: `"" []`, instead: "a message of the system"},
	"system_prompt":          {off: `""`, instead: "a message of the system"},
	"suffix":                 {off: `""`},
	"prompt_embeds":          {off: `"" []`},
	"image_data":             {off: `[]`},
	"images":                 {off: `[]`},
	"multimodal_data":        {off: `[]`},
	"documents":              {off: `[]`},
	"previous_response_id":   {off: `""`},
	"conversation":           {off: `"" {}`},
	"chat_template":          {off: `""`},
	"template":               {off: `""`},
	"chat_template_kwargs":   {off: `{}`},
	"add_generation_prompt":  {off: `true`},
	"continue_final_message": {off: `false`},
	"echo":                   {off: `false`},
	"input_prefix":           {off: `""`},
	"input_suffix":           {off: `""`},
	"input_extra":            {off: `[]`},
	"truncate_prompt_tokens": {off: `0 -1`},
	"messages.tool_calls":    {off: `[]`},
	"messages.function_call": {},
	"messages.audio":         {},
	"messages.refusal":       {off: `""`},
	"messages.prefix":        {off: `false`},
	"messages.partial":       {off: `false`},
	"messages.images":        {off: `[]`},

	// which tokens it may have, where it ends, and which of several texts it is
	"n_predict":            {off: `-1`, instead: "max_tokens"},
	"num_predict":          {off: `-1`, instead: "max_tokens"},
	"max_new_tokens":       {instead: "max_tokens"},
	"max_length":           {instead: "max_tokens"},
	"max_output_tokens":    {instead: "max_tokens"},
	"min_new_tokens":       {off: `0`, instead: "min_tokens"},
	"min_length":           {off: `0`, instead: "min_tokens"},
	"t_max_predict_ms":     {off: `0 -1`},
	"n_indent":             {off: `0`},
	"stop_sequences":       {off: `[]`, instead: "stop"},
	"stop_strings":         {off: `"" []`, instead: "stop"},
	"stopping_strings":     {off: `"" []`, instead: "stop"},
	"stop_regex":           {off: `"" []`},
	"no_stop_trim":         {off: `false`, instead: "include_stop_str_in_output"},
	"ban_eos_token":        {off: `false`, instead: "ignore_eos"},
	"custom_token_bans":    {off: `""`, instead: "logit_bias"},
	"banned_tokens":        {off: `"" []`, instead: "logit_bias"},
	"banned_strings":       {off: `"" []`, instead: "bad_words"},
	"suppress_tokens":      {off: `[]`, instead: "logit_bias"},
	"bad_words_ids":        {off: `[]`, instead: "bad_words"},
	"force_words_ids":      {off: `[]`},
	"samplers":             {off: `"" [] ` + allSamplers}, // which there are, not how strong
	"n_cmpl":               {off: `1`, instead: "n"},
	"num_return_sequences": {off: `1`, instead: "n"},
	"num_beams":            {off: `1`, instead: "use_beam_search"},

	// what a vector or a label is
	"input_type":       {off: `""`},
	"instruction":      {off: `""`},
	"pooling":          {off: `""`},
	"normalize":        {off: `true`},
	"embd_normalize":   {off: `2`},
	"embed_dtype":      {off: `"float32"`},
	"endianness":       {off: `"native" "little"`},
	"prompt_name":      {off: `""`},
	"softmax":          {off: `true`},
	"activation":       {off: `true`},
	"use_activation":   {off: `true`},
	"return_full_text": {off: `false`, instead: "echo"},
}

// allSamplers are llama.cpp's, as its pages send them where nobody chose some.
const allSamplers = `"edkypmxt" "edskypmxt" ["penalties","dry","top_n_sigma","top_k","typ_p",` +
	`"top_p","min_p","xtc","temperature"]`

// mostOff is more bytes than any value of decisive.off has, with some space in it.
const mostOff = 256

// decides reads the value of a field of an object, body, that a table lacks. wrong is not nil if the
// field is a decisive one, and the value asks for something.
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
	d, ok := decisives[plain]
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
	wrong = fieldf(path, "this server has no such field, and its answer would not be what is asked "+
		"for: want %s, found %s", want, kindOf(text))
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
