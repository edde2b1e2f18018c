package cli

import "testing"

func TestProse(t *testing.T) {
	p := Page{Width: 20}
	p.Prose(`
Words that are wrapped at a
width.

  an example, which stays as it is

key	what it is, wrapped
	and continued
longkey	more
`)
	const want = `Words that are
wrapped at a width.

  an example, which stays as it is

  key      what it
           is,
           wrapped
           and
           continued
  longkey  more
`
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p.String(), want)
	}
}

func TestRowsOfANarrowPageStandBelow(t *testing.T) {
	p := Page{Width: 20}
	p.Rows([][2]string{{"--a-long-flag VALUE", "what it does"}})
	if want := "  --a-long-flag VALUE\n      what it does\n"; p.String() != want {
		t.Errorf("got %q, want %q", p.String(), want)
	}
}
