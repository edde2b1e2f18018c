// Files that are written are read again.

package tokenizer

import (
	"strings"
	"testing"
)

func TestFilesOfGPT2(t *testing.T) {
	files, err := GPT2().Files()
	if err != nil {
		t.Fatal(err)
	}
	text := map[string]string{}
	for name, b := range files {
		text[name] = string(b)
	}
	pair := map[string]string{"vocab.json": text["vocab.json"], "merges.txt": text["merges.txt"]}
	one := map[string]string{"tokenizer.json": text["tokenizer.json"]}
	for name, files := range map[string]map[string]string{"pair": pair, "one": one} {
		tok, err := Load(write(t, files))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		same(t, name, tok)
	}
}

// TestFilesOfOthers: a rule that the files would lose is an error.
func TestFilesOfOthers(t *testing.T) {
	tok, err := loadJSON(t, func(top, _ object) {
		top["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": true}
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tok.Files()
	if _, ok := tok.Parts(); ok || err == nil || !strings.Contains(err.Error(), "copy the files") {
		t.Errorf("parts %t, %v", ok, err)
	}
	list, err := FromBytes([][]byte{[]byte("a")}, -1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Files(); err == nil {
		t.Error("no error")
	}
}
