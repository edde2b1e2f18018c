package surprise_test

// The picture of the page in docs/pictures, which has the digest of the page.

import (
	"os"
	"path/filepath"
	"testing"

	drawn "picogpt/dev/picture"
	"picogpt/internal/webparts"
)

func TestPicturesShowThePage(t *testing.T) {
	const story = "Once upon a time there was a little girl named Lily. She loved to play in the park " +
		"with her dog. One day, the dog drove a submarine to the moon. Lily was very sad. " +
		"\"Where is my dog?\" she said. Her mom gave her a big hug.\n" +
		"The next day the dog came back with a piece of cheese. They lived happily ever after."
	html := page(t, picture(t, story, webparts.ByRank))
	from := [][]byte{[]byte(html)}
	drawn.Page(t, "../../../../docs/pictures/surprise.png", from, func() drawn.Shot {
		path := filepath.Join(t.TempDir(), "page.html")
		if err := os.WriteFile(path, []byte(html), 0o666); err != nil {
			t.Fatal(err)
		}
		return drawn.Shot{Width: 960, Height: 772, URL: "file://" + path,
			Click: "document.getElementById('p30')"}
	})
}
