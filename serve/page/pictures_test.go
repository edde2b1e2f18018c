//go:build unix

package page_test

// The picture of the page in docs/pictures: the story of a seed, and what else the model thought of.
// It has the digest of the page's files and of the story; no browser is needed to compare that.

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"picogpt"
	"picogpt/dev/picture"
	"picogpt/internal/webparts"
	"picogpt/serve"
	"picogpt/weights/demo"
)

func TestPicturesShowThePage(t *testing.T) {
	const seed, most, token = 1, 100, 56
	gpt, err := picogpt.OpenFS(t.Context(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer gpt.Close()
	o := picogpt.Sampling()
	o.Seed, o.MaxTokens = seed, most
	text, err := gpt.Complete(context.Background(), "Once upon a time", o)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("assets/*")
	if err != nil {
		t.Fatal(err)
	}
	from := [][]byte{[]byte(text), []byte(strconv.Itoa(token)), []byte(webparts.Files()["palette.css"])}
	for _, file := range slices.Sorted(slices.Values(files)) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		from = append(from, []byte(file), data)
	}
	picture.Page(t, "../../docs/pictures/page.png", from, func() []byte {
		b := withTheDemo(t, serve.Options{})
		b.Call("Emulation.setScrollbarsHidden", map[string]any{"hidden": true}, nil)
		b.Window(1120, 720, "light")
		b.set("seed", strconv.Itoa(seed))
		b.set("max_tokens", strconv.Itoa(most))
		b.Press("Control+Enter")
		b.finished()
		b.want(value, "Once upon a time"+text)
		b.token(token)
		return b.Screenshot()
	})
}
