package rows

// Records of CSV and TSV, as in RFC 4180, from lines that arrive one by one.

import (
	"bytes"
	"errors"
)

// A csvRecord collects the lines of one record. A field that begins with a quote may contain
// separators, line feeds and doubled quotes; all its bytes count. In other fields a quote is an
// ordinary character.
type csvRecord struct {
	comma byte
	open  bool // within quotes: the next line belongs to the record
	field []byte
	err   error

	fields []string
	size   int
}

var (
	errQuote = errors.New("want a separator after the quote that ends a field; " +
		"within quotes, a quote is doubled")
	errOpen = errors.New("the quote before a field has no end")
)

// add adds a line with its end.
func (c *csvRecord) add(line []byte) {
	if c.size += len(line); c.size > longestLine {
		c.fail(ErrLongLine)
	}
	text := line
	if !c.open {
		text = c.begin(line)
	}
	for c.open {
		quoted, rest, closed := bytes.Cut(text, []byte{'"'})
		c.keep(quoted)
		switch {
		case !closed:
			return // with the end of the line
		case len(rest) > 0 && rest[0] == '"':
			c.keep(rest[:1])
			text = rest[1:]
			continue
		}
		c.open = false
		c.end()
		after, rest, more := bytes.Cut(rest, []byte{c.comma})
		if len(after) > 0 && (more || len(TrimEnd(after)) > 0) {
			c.fail(errQuote)
		}
		if more {
			text = c.begin(rest)
		}
	}
}

// skip skips a line that is too long, of which only the number of quotes is known.
func (c *csvRecord) skip(quotes int) {
	c.fail(ErrLongLine)
	if quotes%2 == 1 {
		c.open = !c.open
	}
}

// begin reads the fields before the first quoted one, and returns the text after that quote.
func (c *csvRecord) begin(text []byte) []byte {
	for {
		if len(text) > 0 && text[0] == '"' {
			c.open = true
			return text[1:]
		}
		field, rest, more := bytes.Cut(text, []byte{c.comma})
		if !more {
			field = TrimEnd(field)
		}
		c.keep(field)
		c.end()
		if !more {
			return nil
		}
		text = rest
	}
}

func (c *csvRecord) keep(b []byte) {
	if c.err == nil {
		c.field = append(c.field, b...)
	}
}

func (c *csvRecord) end() {
	if c.err == nil {
		c.fields = append(c.fields, string(c.field))
	}
	c.field = c.field[:0]
}

func (c *csvRecord) fail(err error) {
	if c.err == nil {
		c.err, c.field, c.fields = err, nil, nil
	}
}
