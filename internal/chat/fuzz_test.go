package chat

// Saved conversations, from texts of any kind.

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	const begin = `{"model":"00","formats":{"weights":"f16","cache":"f32"},"template":"{{.Text}}","options":["--temp=0"],"seed":7,`
	const turn = `{"text":"a","prompt_ids":[1],"options":[],"seed":3,"ids":[2],"dropped":0,"finish_reason":"length"}`
	for _, saved := range []string{begin + `"turns":[]}`, begin + `"rules":1,"files":{"a":"b"},"turns":[` + turn + `,` + turn + `]}`,
		begin + `"turns":[` + turn + `],"digest":"x"}`, begin + `"system":"a","clock":"2024-07-04T15:06:07Z","turns":[` +
			strings.Replace(turn, `"prompt_ids"`, `"cut":2,"prompt_ids"`, 1) + `]}`, `{"turns":[{}]}`, ``, `[]`, "{\n"} {
		f.Add(saved)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		line, err := s.Line()
		if err != nil {
			t.Fatalf("%+v cannot be written: %v", s, err)
		}
		again, err := Parse(string(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if first, second := s.Check(50257), again.Check(50257); (first == nil) != (second == nil) {
			t.Errorf("%s: %v, and again %v", line, first, second)
		}
		if twice, err := again.Line(); err != nil || !bytes.Equal(twice, line) {
			t.Errorf("%s is written as %s, %v", line, twice, err)
		}
	})
}
