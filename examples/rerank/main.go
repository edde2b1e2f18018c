// Command rerank orders texts by how likely a query is after each (query likelihood: Sachan and
// others, "Improving Passage Retrieval with Zero-Shot Question Generation", 2022): the second stage
// of a search, after a fast one has found some candidates.
//
//	go run ./examples/rerank
//	go run ./examples/rerank -m models/gpt2 -query 'Who wrote it?' 'A text.' 'Another text.'
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"

	"picogpt"
	"picogpt/eval"
	"picogpt/weights/demo"
)

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	query := flag.String("query", "The dog was happy to have a bone.", "what is looked for")
	flag.Parse()
	texts := flag.Args()
	if len(texts) == 0 {
		texts = []string{"Lily went to the beach and saw the sea.", "A boy gave the dog a bone.",
			"The bird flew up to its nest in the tree."}
	}

	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, files, picogpt.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	var requests []eval.Request
	for _, text := range texts {
		requests = append(requests,
			eval.Request{Pair: true, Context: text, Text: " " + *query, Tag: text})
	}
	var found []eval.Scored
	for s, err := range gpt.Scores(ctx, slices.Values(requests), eval.ScoreOptions{}) {
		if err != nil {
			log.Fatal(err)
		}
		found = append(found, s)
	}
	slices.SortFunc(found, func(a, b eval.Scored) int { return cmp.Compare(b.Sum, a.Sum) })
	for _, s := range found {
		fmt.Printf("%.2f %s\n", s.Mean, s.Tag) // nats for each token of the query
	}
}
