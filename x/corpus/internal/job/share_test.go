package job

import "testing"

func TestShares(t *testing.T) {
	for _, text := range []string{"0/1", "2/1", "-1/2", "1", "1/", "/2", "1/2/3", "a/b", "1/2 ", "+1/0"} {
		if s, err := ParseShare(text); err == nil {
			t.Errorf("%q is %+v, want an error", text, s)
		}
	}
	whole, err := ParseShare("")
	if err != nil || !whole.All() {
		t.Errorf("%+v, %v", whole, err)
	}
	for piece := range 20 {
		if !whole.Has(piece) {
			t.Errorf("piece %d is not in all", piece)
		}
		in := 0
		for _, text := range []string{"1/3", "2/3", "3/3"} {
			s, err := ParseShare(text)
			if err != nil || s.All() {
				t.Fatalf("%s: %+v, %v", text, s, err)
			}
			if s.Has(piece) {
				in++
			}
		}
		if in != 1 {
			t.Errorf("piece %d is in %d shares of 3", piece, in)
		}
	}
}
