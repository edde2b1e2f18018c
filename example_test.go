package picogpt_test

// The README's ten lines, kept true.

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"testing"

	"picogpt"
)

func Example() {
	ctx := context.Background()
	gpt, err := picogpt.Open(ctx, "weights/demo") // a folder with config.json and *.safetensors
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
