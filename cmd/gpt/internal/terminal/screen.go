package terminal

// Drawing: characters that were added at the end are only appended; otherwise the line is drawn
// again.

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"
)

// A screen is the line as the terminal shows it.
type screen struct {
	prompt string
	drawn  []rune // nil before the first drawing
	at     int    // index in drawn of the cursor
	cell   cell   // of the cursor
	above  int    // rows of the line above the first one that is shown
}

// A cell is one cell of the rows of the prompt and the line.
type cell struct{ row, column int }

// begin sets the state for a cursor at the beginning of a free row.
func (s *screen) begin(prompt string) { *s = screen{prompt: prompt} }

// clear empties the terminal.
func (s *screen) clear(e *Editor) {
	e.write("\x1b[H\x1b[2J")
	s.begin(s.prompt)
}

// end moves the cursor to the row below the line.
func (s *screen) end(e *Editor) {
	e.line.at = len(e.line.text)
	s.draw(e)
	if s.cell.column > 0 {
		e.write("\r\n")
	}
}

// draw draws the line.
func (s *screen) draw(e *Editor) {
	columns, rows := e.terminal.size()
	old, text := len(s.drawn), e.line.text
	added := s.drawn != nil && s.at == old && e.line.at == len(text) && len(text) >= old &&
		slices.Equal(text[:old], s.drawn)
	switch {
	case added:
		var b strings.Builder
		from := s.cell.row
		s.cell = appendCells(&b, s.cell, text[old:], columns)
		if old < len(text) {
			endRow(&b, s.cell)
		}
		s.above += s.cell.row - from
		e.write(b.String())
	case s.drawn == nil || s.at != e.line.at || !slices.Equal(text, s.drawn):
		s.drawAll(e, columns, rows)
	}
	s.drawn, s.at = append(s.drawn[:0], text...), e.line.at
	if s.drawn == nil {
		s.drawn = []rune{}
	}
}

// drawAll draws the line again, or the part around the cursor that fits on the terminal.
func (s *screen) drawAll(e *Editor, columns, rows int) {
	text := e.line.text
	end := appendCells(nil, cell{}, []rune(s.prompt), columns)
	starts, cursor := make([]int, end.row+1), end // the index in text of each row's start
	for i, r := range text {
		at, next := step(end, width(r), columns)
		if at.row == len(starts) {
			starts = append(starts, i)
		}
		if i == e.line.at {
			cursor = at
		}
		end = next
	}
	if e.line.at == len(text) {
		cursor = end
	}
	if end.row == len(starts) {
		starts = append(starts, len(text))
	}

	top := max(0, min(cursor.row-rows/2, len(starts)-rows))
	var b strings.Builder
	move(&b, min(s.above, rows-1), 'A')
	b.WriteString("\r\x1b[J")
	if top == 0 {
		b.WriteString(s.prompt)
	}
	last := end.row
	if bottom := top + rows; bottom < len(starts) {
		appendCells(&b, cell{}, text[starts[top]:starts[bottom]], columns)
		last = bottom - 1
	} else {
		appendCells(&b, cell{}, text[starts[top]:], columns)
		endRow(&b, end)
	}
	move(&b, last-cursor.row, 'A')
	b.WriteByte('\r')
	move(&b, cursor.column, 'C')
	e.write(b.String())
	s.cell, s.above = cursor, cursor.row-top
}

func move(b *strings.Builder, n int, direction byte) {
	if n > 0 {
		b.WriteString("\x1b[" + strconv.Itoa(n))
		b.WriteByte(direction)
	}
}

// appendCells writes characters from a cell on, and returns the next cell. b may be nil.
func appendCells(b *strings.Builder, p cell, text []rune, columns int) cell {
	for _, r := range text {
		if _, p = step(p, width(r), columns); b == nil {
			continue
		}
		if unicode.IsControl(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return p
}

// step returns the cell of a character that is w columns wide, and the next cell.
func step(p cell, w, columns int) (at, next cell) {
	if p.column+w > columns {
		p = cell{row: p.row + 1}
	}
	at, next = p, cell{p.row, p.column + w}
	if next.column >= columns {
		next = cell{row: p.row + 1}
	}
	return at, next
}

// endRow moves to the next row if the last one is full: the terminal waits for a character there.
func endRow(b *strings.Builder, p cell) {
	if p.column == 0 && p.row > 0 {
		b.WriteString("\r\n")
	}
}

// width returns the number of columns of a character.
func width(r rune) int {
	switch {
	case r >= ' ' && r < 0x7f || unicode.IsControl(r):
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	return uniseg.StringWidth(string(r))
}

func (e *Editor) write(text string) {
	if text != "" {
		e.terminal.Write([]byte(text))
	}
}
