// Package picture draws what the documents show: terminals and charts as SVG, byte for byte the same on
// every machine, so that tests can say when a picture is stale. It also marks pictures of a browser
// with what they were made from.
package picture

import (
	"fmt"
	"strconv"
	"strings"
)

// A Screen is a terminal of a fixed width and any height. It understands what gpt writes: lines,
// colours, and the movements of an edited line.
type Screen struct {
	columns int
	rows    [][]cell
	x, y    int
	style   style
}

// A style is how a character looks. Colours are numbers of the palette of 256, plus 1; 0 is the usual
// one.
type style struct {
	text, ground int
	bold         bool
}

type cell struct {
	r rune
	style
}

// NewScreen returns an empty terminal of so many columns.
func NewScreen(columns int) *Screen { return &Screen{columns: columns} }

// Write shows what a program wrote to its terminal. Its error names a sequence that the screen does
// not understand.
func (s *Screen) Write(written string) error {
	for written != "" {
		if rest, found := strings.CutPrefix(written, "\x1b["); found {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 || !s.control(rest[:end], rest[end]) {
				return fmt.Errorf("a terminal's sequence: \\x1b[%.10q", rest)
			}
			written = rest[end+1:]
			continue
		}
		for _, r := range written {
			switch {
			case r == '\n':
				s.y++
			case r == '\r':
				s.x = 0
			case r == '\b':
				s.x = max(0, s.x-1)
			case r < ' ' || r == '\u007f':
				return fmt.Errorf("a control character: %q", r)
			default:
				s.put(r)
			}
			written = written[len(string(r)):]
			break
		}
	}
	return nil
}

// put shows one character, on the next line where the line is full.
func (s *Screen) put(r rune) {
	if s.x == s.columns {
		s.x, s.y = 0, s.y+1
	}
	for len(s.rows) <= s.y {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[s.y]) <= s.x {
		s.rows[s.y] = append(s.rows[s.y], cell{r: ' '})
	}
	s.rows[s.y][s.x] = cell{r, s.style}
	s.x++
}

// control does what a sequence says, and reports whether it is a known one.
func (s *Screen) control(arguments string, kind byte) bool {
	var numbers []int
	for _, word := range strings.Split(arguments, ";") {
		n, err := strconv.Atoi(word)
		if err != nil && word != "" {
			return false
		}
		numbers = append(numbers, n)
	}
	n := max(1, numbers[0])
	switch kind {
	case 'm':
		return s.setStyle(numbers)
	case 'A':
		s.y = max(0, s.y-n)
	case 'B':
		s.y += n
	case 'C':
		s.x = min(s.columns-1, s.x+n)
	case 'D':
		s.x = max(0, s.x-n)
	case 'J', 'K': // from here to the end
		if s.y < len(s.rows) {
			s.rows[s.y] = s.rows[s.y][:min(s.x, len(s.rows[s.y]))]
			if kind == 'J' {
				s.rows = s.rows[:s.y+1]
			}
		}
		return numbers[0] == 0
	default:
		return false
	}
	return true
}

func (s *Screen) setStyle(numbers []int) bool {
	for i := 0; i < len(numbers); i++ {
		switch n := numbers[i]; {
		case n == 0:
			s.style = style{}
		case n == 1:
			s.style.bold = true
		case n >= 30 && n < 38:
			s.style.text = n - 30 + 1
		case n >= 40 && n < 48:
			s.style.ground = n - 40 + 1
		case (n == 38 || n == 48) && i+2 < len(numbers) && numbers[i+1] == 5:
			if i += 2; n == 38 {
				s.style.text = numbers[i] + 1
			} else {
				s.style.ground = numbers[i] + 1
			}
		default:
			return false
		}
	}
	return true
}
