package input

// Cut and Pack: dividing sources into parts, and grouping parts into pieces of work.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"picogpt/internal/rows"
)

// mostParts bounds the parts of a source that can only be read from its beginning, because reading
// each part reads everything before it.
const mostParts = 64

// Cut reads a source once, counts its lines and divides it at line ends into parts of about
// pieceBytes (0 means DefaultPieceBytes). A source that is compressed or does not support seeking
// has at most 64 parts, and a text is one part. Unreadable data are no error here: the part that
// contains them is Broken, and Rows returns the error. Cut itself only returns the context's error.
func Cut(ctx context.Context, s Source, pieceBytes int64) ([]Part, error) {
	if pieceBytes <= 0 {
		pieceBytes = DefaultPieceBytes
	}
	if s.Form == "text" || s.Form == "wikitext" {
		p := s.part()
		p.Lines, p.Bytes, p.Last = 1, s.Size, true
		return []Part{p}, nil
	}
	c := cutter{part: s.part(), most: pieceBytes}
	err := c.source(ctx, s)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c.end(err), nil
}

func (s Source) part() Part {
	return Part{Source: s.Name, Order: s.Order, Form: s.Form, Raw: s.Form == "lines", Line: 1}
}

// form returns the form of a source that its bytes decide. It returns an error if the source is not
// text.
func (r *reading) form(form string) (string, error) {
	if form == "auto" && r.StartsWith("PAR1") {
		return "parquet", nil
	}
	in := rows.NewReader(r.Source, form)
	return in.Form, cause(in.Check())
}

// A cutter divides what it reads into parts.
type cutter struct {
	done  []Part
	part  Part  // the current part
	most  int64 // bytes of a part
	bound int   // parts, if not 0
	open  bool  // within a line
}

// source divides a source, up to the first byte that cannot be read.
func (c *cutter) source(ctx context.Context, s Source) error {
	if s.Form != "parquet" {
		in, err := open(ctx, s.Name)
		if err != nil {
			return err
		}
		defer in.Close()
		form, err := in.form(s.Form)
		if err != nil {
			return err
		}
		if c.part.Form = form; form != "parquet" {
			if !in.seekable {
				c.bound = mostParts
			}
			return c.read(in.Rest())
		}
	}
	f, err := openParquet(ctx, s.Name)
	if err != nil {
		return err
	}
	defer f.Close()
	if f.temp {
		c.bound = mostParts
	}
	c.rowGroups(f)
	return nil
}

// mostGroupParts bounds the parts of a row group, because reading each part decodes the rows before
// it.
const mostGroupParts = 64

// rowGroups divides a Parquet file between rows.
func (c *cutter) rowGroups(f *parquetFile) {
	for i := range f.Metadata().RowGroups {
		g := &f.Metadata().RowGroups[i]
		size := max(g.TotalByteSize, g.NumRows)
		n := min(max(size/c.most, 1), mostGroupParts, max(g.NumRows, 1))
		for i := range n {
			c.part.Lines += int(g.NumRows*(i+1)/n - g.NumRows*i/n)
			c.part.Bytes += size / n
			if c.part.Bytes >= c.most {
				c.next()
			}
		}
	}
}

// read divides the data of r, until an error other than io.EOF.
func (c *cutter) read(r io.Reader) error {
	b := make([]byte, 1<<17)
	for {
		n, err := r.Read(b)
		for rest := b[:n]; len(rest) > 0; {
			size := bytes.IndexByte(rest, '\n') + 1
			c.open = size == 0
			if c.open {
				size = len(rest)
			} else {
				c.part.Lines++
			}
			c.part.Bytes += int64(size)
			rest = rest[size:]
			if !c.open && c.part.Bytes >= c.most {
				c.next()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// next begins another part. If there are too many, it joins each two to one.
func (c *cutter) next() {
	p := c.part
	c.done = append(c.done, p)
	c.part.Line, c.part.Offset = p.Line+p.Lines, p.Offset+p.Bytes
	c.part.Lines, c.part.Bytes = 0, 0
	if len(c.done) != c.bound || c.bound == 0 {
		return
	}
	for i := range c.bound / 2 {
		a, b := c.done[2*i], c.done[2*i+1]
		a.Lines, a.Bytes = a.Lines+b.Lines, a.Bytes+b.Bytes
		c.done[i] = a
	}
	c.done = c.done[:c.bound/2]
	c.most *= 2
}

// end returns the parts. The last one ends at the end of the source or at the error.
func (c *cutter) end(err error) []Part {
	if err == nil && c.open {
		c.part.Lines++ // a line without an end
	}
	if c.part.Lines > 0 || err != nil {
		c.done = append(c.done, c.part)
	}
	if n := len(c.done); n > 0 {
		c.done[n-1].Last, c.done[n-1].Broken = true, err != nil
	}
	return c.done
}

// openCost is the cost of opening a part, in bytes of data, so that a piece of small files has a
// few files and not thousands.
const openCost = 16 << 10

// Pack sorts parts and groups them into pieces of at most pieceBytes (0 means DefaultPieceBytes),
// or of a single part.
func Pack(parts []Part, pieceBytes int64) (pieces [][]Part) {
	if pieceBytes <= 0 {
		pieceBytes = DefaultPieceBytes
	}
	slices.SortFunc(parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Line, b.Line))
	})
	first, size := 0, int64(0)
	for i, p := range parts {
		if cost := p.Bytes + openCost; i > first && size+cost > pieceBytes {
			pieces = append(pieces, parts[first:i:i])
			first, size = i, 0
		}
		size += p.Bytes + openCost
	}
	if first < len(parts) {
		pieces = append(pieces, parts[first:])
	}
	return pieces
}
