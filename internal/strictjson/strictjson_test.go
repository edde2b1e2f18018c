package strictjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestMembersComeInOrderAndTrimmed(t *testing.T) {
	var got []string
	err := Members([]byte(" {\"b\" : [1, 2] ,\n\"a\\u0041\": null, \"\":\"x\"} \n"),
		func(key string, value json.RawMessage) error {
			got = append(got, key+"="+string(value))
			return nil
		})
	if want := "b=[1, 2]|aA=null|=\"x\""; err != nil || strings.Join(got, "|") != want {
		t.Errorf("%q, %v, want %s", got, err, want)
	}
}

func TestWhatIsNotOneObjectIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, "not valid JSON"},
		{` `, "not valid JSON"},
		{`null`, "want a JSON object"},
		{`"x"`, "want a JSON object"},
		{`[{}]`, "want a JSON object"},
		{strings.Repeat("9", 5000), "want a JSON object"},
		{`{`, "unexpected EOF"},
		{`{"a"`, "unexpected EOF"},
		{`{"a":`, "unexpected EOF"},
		{`{"a":1`, "unexpected EOF"},
		{`{"a":1]`, "not valid JSON"},
		{`{"a" 1}`, "not valid JSON"},
		{`{"a":1 "b":2}`, "not valid JSON"},
		{`{"a":1,}`, "not valid JSON"},
		{`{,}`, "not valid JSON"},
		{`{1:2}`, "not valid JSON"},
		{`{null:2}`, "not valid JSON"},
		{`{[]:2}`, "not valid JSON"},
		{`{"a":1,2}`, "not valid JSON"},
		{`{"a":+1}`, "not valid JSON"},
		{`{"a":01}`, "not valid JSON"},
		{"{\"a\":\"\n\"}", "not valid JSON"},
		{`{"a":` + strings.Repeat("[", 20000), "not valid JSON"},
		{`{}{}`, "more follows"},
		{`{}}`, "more follows"},
		{"{}\x00", "more follows"},
		{`{"a":1,"a":1}`, `"a" comes twice`},
		{`{"a":1,"\u0061":1}`, `"a" comes twice`},
	} {
		err := Members([]byte(c.text), func(string, json.RawMessage) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200 {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestTheFirstErrorOfVisitEndsIt(t *testing.T) {
	stop, calls := errors.New("stop"), 0
	err := Members([]byte(`{"a":1,"b":2`), func(string,
		json.RawMessage) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestStringTakesStringsOnly(t *testing.T) {
	if s, err := String(json.RawMessage(`"a\n\u00e9"`)); err != nil || s != "a\né" {
		t.Errorf("%q, %v", s, err)
	}
	for _, v := range []string{`1`, `null`, `["x"]`, `{}`, `true`} {
		if s, err := String(json.RawMessage(v)); err == nil {
			t.Errorf("%s: %q, want an error", v, s)
		}
	}
}

func TestQuoteStaysOnOneLine(t *testing.T) {
	for in, want := range map[string]string{"ab": `"ab"`, "a\nb": `"a\n"…`,
		"\x1b\xff\u009b": `"\x1b\xff"…`} {
		if got := Quote([]byte(in), 2); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
