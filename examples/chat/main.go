// Command chat talks line by line, and saves the conversation after each answer: the next run
// continues it. The demo only tells stories: it continues them, and answers nothing.
//
//	go run ./examples/chat
//	go run ./examples/chat -m models/dialog -save dialog.txt
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"picogpt"
	"picogpt/batch"
	"picogpt/weights/demo"
)

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	file := flag.String("save", filepath.Join(os.TempDir(), "chat.txt"), "the conversation")
	seed := flag.Uint64("seed", 0, "of the answers; 0: another one each time")
	flag.Parse()
	ctx := context.Background()
	// What the conversation was is not evaluated again for each answer: its cache is kept.
	gpt, err := picogpt.Config{Batcher: batch.Options{PrefixBytes: 64 << 20}}.OpenFS(ctx, files)
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	text, err := os.ReadFile(*file)
	if err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
	o := picogpt.Sampling()
	o.MaxTokens, o.Seed, o.Stop, o.Overflow = 60, *seed, []string{"\n"}, "truncate"
	fmt.Printf("%s(kept in %s)\n", text, *file)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		text = append(append(text, lines.Text()...), '\n')
		answer, err := gpt.Complete(ctx, string(text), o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer)
		text = append(append(text, answer...), '\n')
		if err := os.WriteFile(*file, text, 0o666); err != nil {
			log.Fatal(err)
		}
	}
	if err := lines.Err(); err != nil {
		log.Fatal(err)
	}
}
