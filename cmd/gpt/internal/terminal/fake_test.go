package terminal

// A terminal for the tests: a grid of cells that does what xterm does.

import (
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

type fakeTerminal struct {
	mu            sync.Mutex
	columns, rows int
	cells         [][]string // the second cell of a wide character is ""
	row, column   int
	full          bool // the row is: the next character begins another one
	written       int
	bad           error // of what was written
	modes         []mode
	suspended     []mode // the mode at each stop

	keys chan string
}

func newFake(columns, rows int) *fakeTerminal {
	f := &fakeTerminal{columns: columns, rows: rows, keys: make(chan string)}
	f.erase(0, 0)
	return f
}

func (f *fakeTerminal) erase(row, column int) {
	for len(f.cells) < f.rows {
		f.cells = append(f.cells, nil)
	}
	for r := row; r < f.rows; r++ {
		for len(f.cells[r]) < f.columns {
			f.cells[r] = append(f.cells[r], " ")
		}
		for c := range f.columns {
			if r > row || c >= column {
				f.cells[r][c] = " "
			}
		}
	}
}

func (f *fakeTerminal) lineFeed() {
	if f.row++; f.row == f.rows {
		f.cells = append(f.cells[1:], nil)
		f.row--
		f.erase(f.row, 0)
	}
}

func (f *fakeTerminal) Read(b []byte) (int, error) {
	text, ok := <-f.keys
	if !ok {
		return 0, io.EOF
	}
	return copy(b, text), nil
}

// types types keys, and waits until the editor waits for more.
func (f *fakeTerminal) types(keys string) {
	for len(keys) > 1<<16 {
		f.keys <- keys[:1<<16]
		keys = keys[1<<16:]
	}
	f.keys <- keys
}

func (f *fakeTerminal) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.written += len(b)
	for text := string(b); text != ""; {
		n := f.put(text)
		text = text[n:]
	}
	return len(b), nil
}

// put does what comes first, and returns its bytes.
func (f *fakeTerminal) put(text string) int {
	switch {
	case text[0] == '\r':
		f.column, f.full = 0, false
		return 1
	case text[0] == '\n':
		f.lineFeed()
		return 1
	case strings.HasPrefix(text, "\x1b["):
		end := 2
		for text[end] < '@' {
			end++
		}
		n, err := strconv.Atoi(text[2:end])
		if err != nil {
			n = 1
		}
		f.control(text[end], n)
		return end + 1
	case text[0] < ' ' || text[0] == 0x7f:
		f.bad = errors.New("control character " + strconv.Quote(text[:1]))
		return 1
	}
	r, size := utf8.DecodeRuneInString(text)
	w := width(r)
	if w == 0 {
		return size // the cells do not show marks
	}
	if f.full || f.column+w > f.columns {
		f.column, f.full = 0, false
		f.lineFeed()
	}
	f.cells[f.row][f.column] = string(r)
	if w == 2 {
		f.cells[f.row][f.column+1] = ""
	}
	if f.column += w; f.column >= f.columns {
		f.column, f.full = f.columns-1, true
	}
	return size
}

func (f *fakeTerminal) control(what byte, n int) {
	f.full = f.full && what == 'A'
	switch what {
	case 'A':
		if n > f.row {
			f.bad = errors.New("up beyond the first row")
		}
		f.row = max(0, f.row-n)
	case 'C':
		f.column = min(f.columns-1, f.column+n)
	case 'H':
		f.row, f.column = 0, 0
	case 'J':
		from := cell{f.row, f.column}
		if n == 2 {
			from = cell{}
		}
		f.erase(from.row, from.column)
	default:
		f.bad = errors.New("sequence " + string(what))
	}
}

func (f *fakeTerminal) size() (columns, rows int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.columns, f.rows
}

func (f *fakeTerminal) setMode(m mode) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.modes = append(f.modes, m)
	return nil
}

func (f *fakeTerminal) mode() mode { return f.modes[len(f.modes)-1] }

func (f *fakeTerminal) suspend() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.suspended = append(f.suspended, f.mode())
}

// rowsOf are the rows that a text takes from the beginning of a row on, without space at their ends.
func rowsOf(text string, columns int) (rows []string) {
	row, at := "", 0
	for _, r := range text {
		if w := width(r); at+w > columns {
			rows, row, at = append(rows, row), "", 0
		}
		if width(r) > 0 {
			row += string(r)
		}
		at += width(r)
	}
	return append(rows, row)
}

// check compares the terminal with what it is to show: the text, and the cursor before a part of it.
func (f *fakeTerminal) check(t *testing.T, text, before string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bad != nil {
		t.Fatalf("written: %v", f.bad)
	}
	want := rowsOf(text, f.columns)
	next := "." // whatever comes at the end
	for _, r := range strings.TrimPrefix(text, before) {
		next = string(r)
		break
	}
	cursor := rowsOf(before+next, f.columns)
	row := len(cursor) - 1
	if row == len(want) {
		want = append(want, "")
	}
	first := f.row - row // where the terminal has the first row
	for i, wanted := range want {
		if at := first + i; at >= 0 && at < f.rows {
			got := strings.TrimRight(strings.Join(f.cells[at], ""), " ")
			if got != strings.TrimRight(wanted, " ") {
				t.Fatalf("row %d of %q shows %q, want %q (cursor before %q)", i, text, got, wanted,
					strings.TrimPrefix(text, before))
			}
		}
	}
	column := 0
	for _, r := range strings.TrimSuffix(cursor[row], next) {
		column += width(r)
	}
	if f.full || f.column != column {
		t.Fatalf("%q: the cursor is in column %d (%v), want %d, before %q", text, f.column, f.full,
			column, strings.TrimPrefix(text, before))
	}
}
