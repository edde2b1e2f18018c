package receipt

// Receipts, from texts of any kind.

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	const begin = `{"model":"00","formats":{"weights":"f16","cache":"f32"},"rules":1,"prompt_ids":[1],"options":["--temp=1"],"seed":7,`
	const text = `"ids":[1,2],"finish_reason":"length","logits":"00","token_logits":["00"]`
	for _, receipt := range []string{begin + text + `}`, begin + `"texts":[{` + text + `}],"digest":"x"}`,
		begin + `"next":{"candidates":[{"id":3,"logprob":-0.25,"prob":0.7}],"logits":""}}` + "\n" + begin + text + `}`,
		begin + `"files":{"a":"\u00e9"},"edits":[{"at":"blocks.1.hook_mlp_out","op":"scale","values":[0.5],"head":2}],` + text + `}`,
		`{"seed":-1}`, `[]`, ``, "{\n}"} {
		f.Add(receipt)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseAll(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		for _, r := range all {
			line, err := r.Line()
			if err != nil {
				t.Fatalf("%+v cannot be written: %v", r, err)
			}
			again, err := Parse(string(line))
			if err == nil {
				err = again.Check()
			}
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if twice, err := again.Line(); err != nil || !bytes.Equal(twice, line) {
				t.Errorf("%s is written as %s, %v", line, twice, err)
			}
		}
	})
}
