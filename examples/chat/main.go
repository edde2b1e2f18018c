// Command chat keeps a conversation from run to run. The demo only continues stories.
//
//	go run ./examples/chat
//	go run ./examples/chat -m models/dialog -save dialog.session
package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"picogpt"
	"picogpt/weights/demo"
)

func main() {
	files := demo.FS()
	flag.Func("m", "a checkpoint", func(dir string) error { files = os.DirFS(dir); return nil })
	name := flag.String("save", filepath.Join(os.TempDir(), "chat.session"), "the conversation")
	seed := flag.Uint64("seed", 0, "of the answers; 0: another one each time")
	flag.Parse()
	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, files, picogpt.Config{})
	check(err)
	defer gpt.Close()
	chat, err := gpt.NewChat("{{if .Turn}}\n{{end}}{{.Text}}\n")
	check(err)
	if b, err := os.ReadFile(*name); err == nil {
		check(chat.Restore(ctx, bytes.NewReader(b), int64(len(b))))
	}
	for _, t := range chat.Turns() {
		fmt.Printf("%s\n%s\n", t.Text, t.Answer)
	}
	fmt.Printf("(kept in %s)\n", *name)
	o := picogpt.Sampling()
	o.MaxTokens, o.Seed, o.Stop = 60, *seed, []string{"\n"}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		for token, err := range chat.Answer(ctx, lines.Text(), o) {
			check(err)
			fmt.Print(token.Text)
		}
		fmt.Println()
		var b bytes.Buffer
		check(chat.Save(ctx, &b))
		check(os.WriteFile(*name+".new", b.Bytes(), 0o600)) // the old one stays until this is whole
		check(os.Rename(*name+".new", *name))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
