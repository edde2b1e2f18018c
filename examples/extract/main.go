// Command extract fills a struct from a text. The schema makes every answer JSON of the struct's
// form, whatever the model is, and the name a word of the text; whether the values are right
// depends on the model. The demo has never seen JSON, and mostly guesses.
//
//	go run ./examples/extract
//	go run ./examples/extract -m models/gpt2 'A boy named Tom found a kite. He was happy.'
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"

	"picogpt"
	"picogpt/constrain"
	"picogpt/weights/demo"
)

const schema = `{"type": "object", "required": ["Name", "Feels"], "additionalProperties": false,
	"properties": {"Name": {"enum": %s}, "Feels": {"enum": ["happy", "sad", "angry"]}}}`

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	flag.Parse()
	text := cmp.Or(flag.Arg(0), "The girl was named Lily. She lost her ball. She was very sad.")
	gpt, err := picogpt.OpenFS(context.Background(), files, picogpt.Config{})
	check(err)
	defer gpt.Close()

	words := regexp.MustCompile(`\b[A-Z][a-z]+`).FindAllString(text, -1)
	if len(words) == 0 {
		log.Fatalf("%q: want a name, found no word with a capital letter", text)
	}
	names, err := json.Marshal(words)
	check(err)
	v, err := constrain.VocabularyOf(gpt.Tokenizer(), gpt.Model().Config().EndTokens())
	check(err)
	form, err := constrain.JSONSchema(v, fmt.Appendf(nil, schema, names), constrain.SchemaOptions{})
	check(err)
	start, err := form.Start()
	check(err)
	answer, err := gpt.Complete(context.Background(), text+" ", picogpt.Options{Constraint: start})
	check(err)
	var who struct{ Name, Feels string }
	check(json.Unmarshal([]byte(answer), &who))
	fmt.Printf("%+v\n", who)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
