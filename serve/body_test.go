package serve

// What a request leaves in memory: nothing of its body, which may be large.

import (
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/tokenizer"
)

// everyField has a string in each field that takes one, alone or in a list.
const everyField = `"model":"model","user":"somebody","cache_salt":"a salt","stop":["one","two"],
	"bad_words":[" cat"],"dry_multiplier":1,"dry_sequence_breakers":["zz"],"logit_bias":{"7":1},
	"sequence_bias":{" red apple":1},
	"guided_choice":[" yes"," no"],"an unknown field":{"a":"b"},
	"stream_options":{"another":1},"stream":true,"n":2`

// TestNothingOfABodyStays looks for strings that are a part of the body, and would keep all of it,
// in the memory of a request while its texts are generated.
func TestNothingOfABodyStays(t *testing.T) {
	cases.NotShort(t)
	s, err := New(testmodel.Demo(t, model.Options{Threads: 1}), tokenizer.GPT2(),
		Options{Template: "{{.Text}}"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, x := range []struct {
		body  string
		parse func(string) (*completion, error)
	}{
		{`{"prompt":["a text","another"],"echo":true,` + everyField + "}", s.parseCompletion},
		{`{"prompt":"a text","stop":"one",` + strings.Replace(everyField, `"stop"`, `"stop_"`, 1) +
			"}", s.parseCompletion},
		{`{"messages":[{"role":"user","content":"hi","odd":1}],` + everyField + "}", s.parseChat},
		{`{"prompt":"a","guided_regex":"[ab]+"}`, s.parseCompletion},
		{`{"prompt":"a","guided_json":{"enum":["red","green"]}}`, s.parseCompletion},
		{`{"prompt":"a","guided_grammar":"root ::= \"yes\""}`, s.parseCompletion},
	} {
		q, err := x.parse(x.body)
		if err != nil {
			t.Fatalf("%s: %v", x.body, err)
		}
		v := newVisit(httptest.NewRecorder(), httptest.NewRequest("POST", "/", nil), s.patience)
		j := &job{completion: q, server: s, visit: v}
		if err := j.begin(t.Context()); err != nil {
			t.Fatalf("%s: %v", x.body, err)
		}
		look := partsOf{body: x.body, seen: map[unsafe.Pointer]bool{}}
		look.in("completion", reflect.ValueOf(j.completion))
		look.in("options", reflect.ValueOf(&j.Options))
		look.in("choices", reflect.ValueOf(j.choices))
		look.in("note", reflect.ValueOf(&v.note))
		look.in("forms", reflect.ValueOf(s.forms.known))
		for _, found := range look.found {
			t.Errorf("%.40s…: %s", x.body, found)
		}
		if look.strings < 3 {
			t.Errorf("%.40s…: only %d strings were looked at", x.body, look.strings)
		}
		j.leave()
	}
}

// TestAPartOfABodyIsFound is the counterpart: the search finds such a string.
func TestAPartOfABodyIsFound(t *testing.T) {
	body := strings.Repeat("a long body ", 4)
	look := partsOf{body: body, seen: map[unsafe.Pointer]bool{}}
	look.in("it", reflect.ValueOf(&struct{ m map[string][]any }{map[string][]any{
		"key": {1, &body, body[3:7], strings.Clone(body)}}}))
	if len(look.found) != 2 {
		t.Errorf("%q, want the body and a part of it", look.found)
	}
}

// partsOf looks for parts of a body.
type partsOf struct {
	body    string
	seen    map[unsafe.Pointer]bool
	found   []string
	strings int
}

func (p *partsOf) in(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		p.strings++
		at, from := uintptr(unsafe.Pointer(unsafe.StringData(v.String()))),
			uintptr(unsafe.Pointer(unsafe.StringData(p.body)))
		if v.Len() > 0 && at >= from && at < from+uintptr(len(p.body)) {
			p.found = append(p.found, path+" is a part of the body: "+v.String())
		}
	case reflect.Pointer, reflect.Map:
		if v.IsNil() || p.seen[v.UnsafePointer()] {
			return
		}
		p.seen[v.UnsafePointer()] = true
		if v.Kind() == reflect.Pointer {
			p.in(path, v.Elem())
			return
		}
		for key, value := range v.Seq2() {
			p.in(path+".key", key)
			p.in(path+".value", value)
		}
	case reflect.Interface:
		if !v.IsNil() {
			p.in(path, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			p.in(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice,
			reflect.Map, reflect.Array:
			for i := range v.Len() {
				p.in(path, v.Index(i))
			}
		}
	}
}

// TestSaltsAreDigests: the digest of a salt is short, and differs for another salt.
func TestSaltsAreDigests(t *testing.T) {
	seen := map[string]bool{}
	for _, tenant := range []string{"", "key 1", "key 2"} {
		for _, salt := range []string{"", "a", "b", strings.Repeat("a", 256), "\x00a"} {
			kept := saltOf(tenant, salt)
			if len(kept) != 32 || seen[kept] || kept != saltOf(tenant, salt) {
				t.Errorf("%q, %q: %x", tenant, salt, kept)
			}
			seen[kept] = true
		}
	}
}

// TestLargeAnswersAreCounted: when slow readers hold all memory for answers, other requests are
// refused.
func TestLargeAnswersAreCounted(t *testing.T) {
	s, err := New(testmodel.Demo(t, model.Options{Threads: 1}), tokenizer.GPT2(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for path, body := range map[string]string{"/tokenize": `{"prompt":"a cat"}`,
		"/detokenize": `{"tokens":[64,3797]}`} {
		for _, want := range []int{200, 429, 200} {
			held := int64(0)
			if want == 429 {
				held = mostAnswers - 8
			}
			other := s.answers.hold("another", func() stage { return kept }, nil)
			other.take(held)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
			if other.release(); w.Code != want || s.answers.total() != 0 {
				t.Errorf("%s: status %d, want %d, and %d bytes are held", path, w.Code, want,
					s.answers.total())
			}
		}
	}
}

func TestTheLargestBodyFollowsTheContext(t *testing.T) {
	for positions, want := range map[int]int64{1: 1 << 20, 146: 1 << 20, 147: 1053696, 1024: 7 << 20} {
		if got := DefaultMaxBody(positions); got != want {
			t.Errorf("%d positions: %d bytes, want %d", positions, got, want)
		}
	}
	for given, want := range map[int64]int64{0: 7 * 1024 * 256, 5000: 5000} { // the demo has 256
		o := Options{MaxBody: given}
		if got := o.withDefaults(256).MaxBody; got != want {
			t.Errorf("%d bytes: %d, want %d", given, got, want)
		}
	}
}
