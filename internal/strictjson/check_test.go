package strictjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "", `[]`: "", `7`: "", `"a"`: "",
		`{"a":1,"b":{"a":2},"c":[{"a":3},{"a":4}]}`: "",
		`{"a":"a","b":"a"}`:                         "",
		`{"a":["a","a"],"b":"b"}`:                   "",
		`{"a":1,"A":2}`:                             "",
		`{"a":1,"a":2}`:                             `"a" comes twice`,
		`{"a":1,"\u0061":2}`:                        `"a" comes twice`,
		`{"a":{},"b":[],"a":null}`:                  `"a" comes twice`,
		`{"a":{"b":{"c":1,"d":[],"c":1}}}`:          `"c" comes twice`,
		`[{"a":1},{"b":1,"b":2}]`:                   `"b" comes twice`,
		`{"":1,"":2}`:                               `"" comes twice`,
		`"\ud83d\ude42"`:                            "",
		`"\uD83D\uDE42\\ud83d"`:                     "",
		`"\\\\ud83d"`:                               "",
		`"\ud83d"`:                                  `\ud83d is a lone surrogate`,
		`"\ude42"`:                                  `\ude42 is a lone surrogate`,
		`"\ude42\ud83d"`:                            `\ude42 is a lone surrogate`,
		`"\ud83d\ud83d\ude42"`:                      `\ud83d is a lone surrogate`,
		`"\ud83d\n\ude42"`:                          `\ud83d is a lone surrogate`,
		`"\ud83dx"`:                                 `\ud83d is a lone surrogate`,
		`"\\\ud83d"`:                                `\ud83d is a lone surrogate`,
		`{"\uDC00":1}`:                              `\uDC00 is a lone surrogate`,
		`{"a":[[["\ud800"]]]}`:                      `\ud800 is a lone surrogate`,
	} {
		if !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON", text)
		}
		err := Check([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, bad := range []string{`{"a":`, `{"a"`, `"\ud83`, `[`, `"\`} {
		if err := Check([]byte(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}
