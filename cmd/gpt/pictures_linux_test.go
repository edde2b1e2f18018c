package main

// The pictures of terminals in docs/pictures: commands are run on a terminal again, and what is
// then on it is compared. With -update they are drawn anew.

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/picture"
)

// pictures is the folder of the pictures.
const pictures = project + "/docs/pictures/"

// A scene is what one terminal shows.
type scene struct {
	file, title string
	columns     int
	commands    []string
}

var scenes = []scene{{
	file: "story.svg", columns: 80,
	title: "A terminal: gpt writes a story with a seed, and shows which tokens may come next",
	commands: []string{
		`gpt --seed 124 "Once upon a time" | fold -s`,
		`gpt next --top 6 "Lily wanted to"`,
	},
}, {
	file: "surprise.svg", columns: 96,
	title: "A terminal: gpt surprise colours each token by how far it is from what was expected",
	commands: []string{`gpt surprise "Once upon a time there was a little girl named Lily. ` +
		`She had a red submarine."`},
}, {
	file: "lens.svg", columns: 92,
	title:    "A terminal: gpt lens shows what each layer would predict, the likelier the greener",
	commands: []string{`gpt lens "Once upon a time, there was a little girl named"`},
}}

// A pageScene is a page that a command writes, and what is clicked on it.
type pageScene struct {
	file          string
	width, height int
	command       []string
	click         string // an element's id
}

var pageScenes = []pageScene{{
	file: "lens.png", width: 960, height: 910, click: "p10",
	command: []string{"lens", "Once upon a time, there was a little girl named"},
}, {
	file: "attention.png", width: 960, height: 920, click: "h8",
	command: []string{"attention", "Tom and Sue went to the park. They had a ball."},
}, {
	file: "patch.png", width: 960, height: 740, click: "p4",
	command: []string{"patch", "--target", " dog", "--against", " cat",
		"I saw a big dog. Lucy liked the", "I saw a big cat. Lucy liked the"},
}}

func TestPicturesShowThePagesOfTheInside(t *testing.T) {
	cases.NotShort(t)
	for _, s := range pageScenes {
		t.Run(s.file, func(t *testing.T) {
			page := filepath.Join(t.TempDir(), "page.html")
			if out, err := exec.Command("gpt", append(s.command, "--html", page)...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			html, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			picture.Page(t, pictures+s.file, [][]byte{html, []byte(s.click)}, func() picture.Shot {
				return picture.Shot{Width: s.width, Height: s.height, URL: "file://" + page,
					Click: "document.getElementById('" + s.click + "')"}
			})
		})
	}
}

func TestPicturesShowWhatCommandsPrint(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	for _, s := range scenes {
		t.Run(s.file, func(t *testing.T) { picture.Compare(t, pictures+s.file, s.draw(t)) })
	}
}

// draw runs the commands on a terminal, which is drawn as it is then.
func (s *scene) draw(t *testing.T) []byte {
	t.Helper()
	screen := picture.NewScreen(s.columns)
	show := func(text string) {
		if err := screen.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range s.commands {
		if i > 0 {
			show("\r\n")
		}
		show("\x1b[32m$\x1b[0m \x1b[1m" + c + "\x1b[0m\r\n")
		p := typing(t, "xterm", uint16(s.columns), "sh", "-c", c)
		p.ends(0)
		<-p.over
		show(p.text.String())
	}
	return screen.SVG(s.title)
}
