// Command regression prints the perplexity of a text, to be expected of the same model from then
// on: it depends on the weights, their number format and the tokenizer, and on no machine.
// regression_test.go is the test that expects it, of a fine-tuned model or a change of code.
//
//	go run ./examples/regression
//	go run ./examples/regression -m models/tuned -f held-out.txt
//	go test ./examples/regression
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"picogpt"
	"picogpt/eval"
	"picogpt/weights/demo"
)

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	file := flag.String("f", "examples/regression/story.txt", "the text")
	flag.Parse()
	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, files, picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	story, err := os.ReadFile(*file)
	if err != nil {
		log.Fatal(err)
	}
	text, err := eval.NewText(eval.HF, gpt.Tokenizer(), string(story))
	if err != nil {
		log.Fatal(err)
	}
	r, err := eval.Measure(ctx, gpt.Model(), text, eval.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", r.Perplexity)
}
