package job

// Shares: several runs that divide the pieces among themselves.

import (
	"fmt"
	"strconv"
	"strings"
)

// A Share is every Of-th piece, beginning with the Number-th, from 1. The zero Share is all pieces.
type Share struct{ Number, Of int }

// ParseShare reads a share such as 2/7. "" means all.
func ParseShare(text string) (s Share, err error) {
	if text == "" {
		return s, nil
	}
	number, of, found := strings.Cut(text, "/")
	s.Number, err = strconv.Atoi(number)
	if err == nil {
		s.Of, err = strconv.Atoi(of)
	}
	if !found || err != nil || s.Number < 1 || s.Number > s.Of {
		return Share{}, fmt.Errorf("%.40q: want a number and how many there are, such as 2/7", text)
	}
	return s, nil
}

// All reports whether the share is all pieces.
func (s Share) All() bool { return s.Of == 0 }

// Has reports whether the piece of an index is in the share.
func (s Share) Has(index int) bool { return s.All() || index%s.Of == s.Number-1 }
