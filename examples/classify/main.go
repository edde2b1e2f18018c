// Command classify chooses among labels for each of some texts, with probabilities. A label is what
// the model would write after a text, so the prompt says what is asked; the space belongs to the
// label. A checkpoint that was trained to classify has a head in place of such a prompt: gpt.Classify.
//
//	go run ./examples/classify
//	go run ./examples/classify -m models/gpt2 -ask ' This review is' -labels ' good, bad' \
//		'I would watch it again.'
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"picogpt"
	"picogpt/eval"
	"picogpt/weights/demo"
)

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	ask := flag.String("ask", " She was very", "what stands between a text and its label")
	list := flag.String("labels", " happy, sad", "the labels, with commas between them")
	flag.Parse()
	texts, labels := flag.Args(), strings.Split(*list, ",")
	if len(texts) == 0 {
		texts = []string{"Lily got a new toy.", "Lily lost her toy.", "Mom gave Lily a big hug."}
	}

	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, files, picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	questions := func(yield func(eval.Question) bool) {
		for _, text := range texts {
			if !yield(eval.Question{Context: text + *ask, Choices: labels, Tag: text}) {
				return
			}
		}
	}
	for a, err := range gpt.Answers(ctx, questions) { // in batches, in order
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s (%.2f): %s\n", labels[a.Best], a.Probabilities[a.Best], a.Tag)
	}
}
