package picogpt_test

// The Go of README.md and of docs is that of examples.

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt"
	"picogpt/weights/demo"
)

func Example() {
	ctx := context.Background()
	gpt, err := picogpt.OpenFS(ctx, demo.FS(), picogpt.Config{}) // or Open(ctx, "models/gpt2", …)
	if err != nil {
		log.Fatal(err)
	}
	defer gpt.Close()
	text, err := gpt.Complete(ctx, "Once upon a time", picogpt.Options{MaxTokens: 20})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
	// Output: , there was a little girl named Lily. She loved to play outside in the sun. One day
}

// TestTheREADMEShowsTheExample compares the README's Go, line by line, with the body of Example.
func TestTheREADMEShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, library, _ := strings.Cut(string(readme), "## The library\n")
	_, shown, _ := strings.Cut(library, "```go\n")
	shown, _, _ = strings.Cut(shown, "```")
	_, body, _ := strings.Cut(string(source), "func Example() {\n")
	body, _, _ = strings.Cut(body, "\t// Output:")
	if body = strings.ReplaceAll("\n"+body, "\n\t", "\n")[1:]; shown != body || body == "" {
		t.Errorf("the README shows\n%s\nwhile Example is\n%s", shown, body)
	}
}

// TestTheRecipesAreExamples finds each block of docs/embedding.md in a test or a program, and what
// is printed below it in the example's output.
func TestTheRecipesAreExamples(t *testing.T) {
	var sources []string
	for _, pattern := range []string{"*_test.go", "checkpoint/hub/*_test.go", "examples/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources = append(sources, string(b), strings.ReplaceAll(string(b), "\n\t", "\n"))
		}
	}
	page, err := os.ReadFile("docs/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 12 {
		t.Errorf("%d blocks of Go, want more", len(blocks))
	}
	for _, block := range blocks {
		block, below, _ := strings.Cut(block, "```\n")
		shown := ""
		if after, ok := strings.CutPrefix(below, "```\n"); ok {
			shown, _, _ = strings.Cut(after, "```")
		}
		i := slices.IndexFunc(sources, func(s string) bool { return strings.Contains(s, "\n"+block) })
		if i < 0 {
			t.Errorf("no example has\n%s", block)
			continue
		}
		_, rest, _ := strings.Cut(sources[i], "\n"+block)
		output := ""
		if after, ok := strings.CutPrefix(rest, "\n// Output:"); ok {
			after, _, _ = strings.Cut(after, "\n}")
			output = strings.ReplaceAll(strings.TrimSpace(after), "// ", "") + "\n"
		}
		if shown != strings.TrimPrefix(output, "\n") {
			t.Errorf("%s\nprints\n%s\nbut below it is\n%s", block, output, shown)
		}
	}
}
