package strictjson

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
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
		{``, "byte 0: not valid JSON: unexpected EOF"},
		{` `, "byte 1: not valid JSON: unexpected EOF"},
		{`null`, "byte 0: want an object, found null"},
		{` "x"`, "byte 1: want an object, found \"x\""},
		{`[{}]`, "byte 0: want an object, found an array"},
		{strings.Repeat("9", 5000), "byte 0: want an object, found \"9999999999"},
		{`{`, "byte 1: not valid JSON: unexpected EOF"},
		{`{"a"`, "byte 4: not valid JSON: unexpected EOF"},
		{`{"a":`, "byte 5: not valid JSON: unexpected EOF"},
		{`{"a":1`, "byte 6: not valid JSON: unexpected EOF"},
		{`{"a":1]`, "byte 6: not valid JSON: invalid character ']'"},
		{`{"a" 1}`, "byte 5: not valid JSON: invalid character '1'"},
		{`{"a":1 "b":2}`, "byte 7: not valid JSON: invalid character '\"'"},
		{`{"a":1,}`, "byte 6: not valid JSON: invalid character ','"},
		{`{,}`, "byte 1: not valid JSON: invalid character ','"},
		{`{1:2}`, "byte 1: not valid JSON: object member name must be a string"},
		{`{null:2}`, "object member name must be a string"},
		{`{[]:2}`, "byte 1: want a string, found an array"},
		{`{"a":1,2}`, "byte 7: not valid JSON: object member name must be a string"},
		{`{"a":+1}`, "byte 5: not valid JSON: invalid character '+'"},
		{`{"a":01}`, "byte 6: not valid JSON: invalid character '1'"},
		{"{\"a\":\"\n\"}", "byte 6: not valid JSON: invalid character '\\n'"},
		{"{\"a\":\"\xff\"}", "byte 6: not valid JSON: invalid UTF-8"},
		{`{"a":"\x"}`, "byte 6: not valid JSON: invalid escape sequence"},
		{"\ufeff{}", "byte 0: not valid JSON: invalid character '\\ufeff'"},
		{`{"a":` + strings.Repeat("[", 20000), "not valid JSON: exceeded max depth"},
		{`{}{}`, `byte 2: want the end, found "{}"`},
		{`{}}`, `byte 2: want the end, found "}"`},
		{"{}\x00", `byte 2: want the end, found "\x00"`},
		{`{"a":1,"a":1}`, `byte 10: "a" comes twice`},
		{`{"a":1,"\u0061":1}`, `byte 15: "a" comes twice`},
		{`{"a":{},"b":[],"a":null}`, `"a" comes twice`},
		{`{"a":{"b":{"c":1,"d":[],"c":1}}}`, `byte 24: "c" comes twice`},
		{`{"x":[{"a":1},{"b":1,"b":2}]}`, `"b" comes twice`},
		{`{"":1,"":2}`, `"" comes twice`},
		{`{"x":"\ud83d"}`, `byte 6: \ud83d is a lone surrogate, which is no character`},
		{`{"x":"\ude42\ud83d"}`, `\ude42 is a lone surrogate`},
		{`{"x":"\ud83d\ud83d\ude42"}`, `\ud83d is a lone surrogate`},
		{`{"x":"\ud83dx"}`, `\ud83d is a lone surrogate`},
		{`{"x":"\\\ud83d"}`, `\ud83d is a lone surrogate`},
		{`{"\uDC00":1}`, `\uDC00 is a lone surrogate`},
		{`{"a":[[["\ud800"]]]}`, `\ud800 is a lone surrogate`},
	} {
		err := Members([]byte(c.text), func(string, json.RawMessage) error { return nil })
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 200 {
			t.Errorf("%.40q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestWhatOnlyLooksTwiceOrHalf(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}`, `{"a":"a","b":"a"}`, `{"a":["a","a"],"b":"b"}`,
		`{"a":1,"A":2}`, `{"x":"\ud83d\ude42"}`, `{"x":"\uD83D\uDE42\\ud83d"}`, `{"x":"\\\\ud83d"}`,
	} {
		if err := Members([]byte(text), func(string,
			json.RawMessage) error {
			return nil
		}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestTheFirstErrorOfVisitEndsIt(t *testing.T) {
	stop, calls := errors.New("stop"), 0
	err := Members([]byte(`{"a":1,"b":2`), func(string, json.RawMessage) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestStringTakesStringsOnly(t *testing.T) {
	for text, want := range map[string]string{`"a\n\u00e9"`: "a\né", `""`: "", `"\""`: `"`,
		`"é"`: "é"} {
		if s, err := String(json.RawMessage(text)); err != nil || s != want {
			t.Errorf("%s: %q, %v", text, s, err)
		}
	}
	for _, v := range []string{`1`, `null`, `["x"]`, `{}`, `true`} {
		if s, err := String(json.RawMessage(v)); err == nil {
			t.Errorf("%s: %q, want an error", v, s)
		}
	}
}

func TestReader(t *testing.T) {
	r := NewReader(`{"big":{"a":1,"a":2}, "list":[7,"x",true] ,"n":-1,"f":1.5,"huge":99,"v":{"s":"x","s":1}}`)
	var got []string
	err := r.Object(func(key string) error {
		switch key {
		case "big":
			return r.Table(func(key string) error {
				n, err := r.Natural(9)
				got = append(got, key+strconv.Itoa(int(n)))
				return err
			})
		case "list":
			return r.Array(func(i int) error {
				v, err := r.Value()
				got = append(got, strconv.Itoa(i)+v.Text())
				return err
			})
		case "v":
			_, err := r.Value()
			got = append(got, err.Error())
			return err
		}
		_, err := r.Natural(98)
		got = append(got, err.Error())
		return nil
	})
	want := []string{"a1", "a2", "07", `1"x"`, "2true",
		`byte 47: want a whole number from 0 to 98, found "-1"`,
		`byte 54: want a whole number from 0 to 98, found "1.5"`,
		`byte 65: want a whole number from 0 to 98, found "99"`, `byte 81: "s" comes twice`}
	if strings.Join(got, "|") != strings.Join(want, "|") || err == nil {
		t.Errorf("%q, %v\nwant %q", got, err, want)
	}
	for text, want := range map[string]string{`[1,]`: "byte 2: ", `[1 2]`: "byte 3: ",
		`[`: "byte 1: ", `{}`: "want an array"} {
		r := NewReader(text)
		err := r.Array(func(int) error { _, err := r.Value(); return err })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// FuzzMembers compares with encoding/json, which lets pass more, and is the same where it is
// strict.
func FuzzMembers(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":1,"b":[{"c":null}]}`, `{"a":"\ud83d\ude42"}`,
		`{"a":1,"a":2}`, `{"a":"\ud83d"}`, "{\"\xff\":1}", `[1]`, `{"a":01}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := map[string]json.RawMessage{}
		err := Members(text, func(key string, value json.RawMessage) error {
			got[key] = value
			return nil
		})
		var want map[string]json.RawMessage
		if lax := json.Unmarshal(text, &want); lax != nil {
			if err == nil {
				t.Fatalf("%q: no error, encoding/json has %v", text, lax)
			}
			return
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") || len(err.Error()) > 500 {
				t.Fatalf("%q", err)
			}
			known := want == nil || !utf8.Valid(text)
			for _, words := range []string{"comes twice", "lone surrogate", "max depth"} {
				known = known || strings.Contains(err.Error(), words)
			}
			if !known {
				t.Fatalf("%q: %v, encoding/json has none", text, err)
			}
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %d members, encoding/json has %d", text, len(got), len(want))
		}
		for key, value := range want {
			if string(got[key]) != string(value) {
				t.Fatalf("%q: %q is %s, encoding/json has %s", text, key, got[key], value)
			}
		}
	})
}

// TestWhatNestsTooDeepIsAnError, once, however many of its readers are nested.
func TestWhatNestsTooDeepIsAnError(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		const deep = 20000
		r, n := NewReader(strings.Repeat(open, deep)), 0
		var read func() error
		read = func() error {
			if n++; n > deep {
				t.Fatalf("%s: more readers than the text nests", open)
			}
			if r.Kind() == '{' {
				return r.Object(func(string) error { return read() })
			}
			return r.Array(func(int) error { return read() })
		}
		if err := read(); err == nil || !strings.Contains(err.Error(), "depth") {
			t.Errorf("%s: %v", open, err)
		}
	}
}
