package main

// The pictures of terminals in docs/pictures: commands are run on a terminal again, and what is then
// on it is compared. With -update they are drawn anew.

import (
	"testing"

	"picogpt/internal/testing/picture"
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
}}

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
