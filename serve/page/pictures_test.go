package page_test

// The picture of the page in docs/pictures: the story of a seed, and what else the model thought of.
// It has the digest of the page's files and of the story; no browser is needed to compare that.

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"picogpt"
	"picogpt/dev/picture"
	"picogpt/dev/testmodel"
	"picogpt/internal/webparts"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
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
	picture.Page(t, "../../docs/pictures/page.png", from, func() picture.Shot {
		s, err := serve.New(testmodel.Demo(t, model.Options{}), tokenizer.GPT2(), serve.Options{Name: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		listener := httptest.NewServer(s)
		t.Cleanup(func() {
			s.Close()
			listener.Close()
		})
		return picture.Shot{Width: 1120, Height: 720, URL: listener.URL,
			Do: fmt.Sprintf(`(async () => {
				const byId = id => document.getElementById(id), text = byId("text");
				const frame = () => new Promise(requestAnimationFrame);
				while (!byId("model").textContent.includes("demo")) await frame();
				for (const [id, value] of [["set-seed", %d], ["set-max_tokens", %d]]) {
					byId(id).value = value;
					byId(id).dispatchEvent(new Event("input", {bubbles: true}));
				}
				text.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", ctrlKey: true, bubbles: true}));
				while (text.value !== %q || !byId("stop").hidden) await frame();
				await frame();
				await frame();
			})()`, seed, most, "Once upon a time"+text),
			Click: fmt.Sprintf(`(r => {
				const range = document.createRange();
				range.setStart(r.startContainer, r.startOffset);
				range.setEnd(r.endContainer, r.endOffset);
				return range;
			})([...CSS.highlights].flatMap(([_, ranges]) => [...ranges]).
				sort((a, b) => a.startOffset - b.startOffset)[%d])`, token)}
	})
}
