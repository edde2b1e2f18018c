package input

// Parquet: files whose rows are stored in columns, read with parquet-go. Files may be hostile:
// numbers that the library trusts are checked before it reads them, and its panics become errors.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/parquet-go/parquet-go"

	"picogpt/internal/folder"
	"picogpt/internal/rows"
)

// A parquetFile is an open file.
type parquetFile struct {
	file *os.File
	temp bool // a copy, which Close removes
	size int64
	*parquet.File
	root field
	leaf []*parquet.Column // the columns with values
}

// openParquet opens a file. It copies a file that is not local, because reading it seeks a lot.
func openParquet(ctx context.Context, name string) (_ *parquetFile, err error) {
	f := &parquetFile{}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if scheme(name) == "" {
		f.file, err = os.Open(name)
	} else {
		err = f.copy(ctx, name)
	}
	if err != nil {
		return nil, plain(err)
	}
	if f.size, err = f.file.Seek(0, io.SeekEnd); err != nil {
		return nil, folder.Cause(err)
	}
	if err := checkFooter(f.file, f.size); err != nil {
		return nil, err
	}
	return f, trusting(func() (err error) {
		f.File, err = parquet.OpenFile(f.file, f.size, parquet.SkipPageIndex(true),
			parquet.SkipBloomFilters(true))
		if err != nil {
			return err
		}
		if err := checkRowGroups(f.Metadata()); err != nil {
			return err
		}
		r := schemaReader{elements: f.Metadata().Schema}
		f.root, err = r.field(f.Root(), 0, 0, false)
		f.leaf = r.leaf
		return err
	})
}

// copy copies a file to a temporary one.
func (f *parquetFile) copy(ctx context.Context, name string) error {
	in, err := newStream(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if f.file, err = os.CreateTemp("", "picogpt-*.parquet"); err != nil {
		return err
	}
	f.temp = true
	_, err = io.Copy(f.file, in)
	return err
}

// Close closes the file.
func (f *parquetFile) Close() {
	if f.file == nil {
		return
	}
	f.file.Close()
	if f.temp {
		os.Remove(f.file.Name())
	}
}

// trusting calls code that runs in parquet-go. Panics, and faults at addresses from the data,
// become errors.
func trusting(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("broken Parquet data: %v", p)
		}
		if err != nil && err != io.EOF {
			err = plain(err)
		}
	}()
	return do()
}

// readParquet calls row with each row of a part.
func readParquet(ctx context.Context, p Part, row func(rows.Row) bool) error {
	f, err := openParquet(ctx, p.Source)
	if err != nil {
		return err
	}
	defer f.Close()
	from, to := int64(p.Line-1), int64(p.Line-1+p.Lines)
	if n := f.NumRows(); p.Broken {
		to = n
	} else if n < to || p.Last && n > to {
		return changed("it has %d rows", n)
	}
	first := int64(0) // of the row group
	for i := range f.Metadata().RowGroups {
		n := f.Metadata().RowGroups[i].NumRows
		if first+n > from && first < to {
			g := groupReader{f: f, group: i, row: first, end: first + n}
			if err := g.read(ctx, from, to, row); err != nil {
				return err
			}
		}
		first += n
	}
	return nil
}

// A groupReader reads the rows of a row group.
type groupReader struct {
	f        *parquetFile
	group    int
	row, end int64 // the next row and that after the last
	rows     parquet.Rows
	buffer   []parquet.Row
}

// read calls row with the rows of the group that are in [from, to).
func (g *groupReader) read(ctx context.Context, from, to int64, row func(rows.Row) bool) error {
	if err := g.f.checkPages(g.group); err != nil {
		return err
	}
	defer trusting(func() error {
		if g.rows == nil {
			return nil
		}
		return g.rows.Close()
	})
	g.buffer = make([]parquet.Row, 64)
	for g.row < min(g.end, to) {
		if err := ctx.Err(); err != nil {
			return err
		}
		batch, err := g.batch(from)
		if err != nil {
			return err
		}
		for _, w := range batch {
			if w.First > int(to) {
				return nil
			}
			if !row(w) {
				return errStop
			}
		}
	}
	return nil
}

// batch reads some rows, and returns those from row from on.
func (g *groupReader) batch(from int64) (batch []rows.Row, err error) {
	err = trusting(func() error {
		if g.rows == nil {
			g.rows = g.f.RowGroups()[g.group].Rows()
		}
		n, err := g.rows.ReadRows(g.buffer[:min(int64(len(g.buffer)), g.end-g.row)])
		if n == 0 {
			if err == nil || err == io.EOF {
				err = fmt.Errorf("broken Parquet data: row group %d ends before its row %d", g.group,
					g.row+1)
			}
			return err
		}
		for _, values := range g.buffer[:n] {
			if g.row++; g.row > from {
				w, err := g.f.rowOf(values, int(g.row))
				if err != nil {
					return err
				}
				batch = append(batch, w)
			}
		}
		return nil
	})
	return batch, err
}

// rowOf returns a row for values.
func (f *parquetFile) rowOf(values parquet.Row, line int) (rows.Row, error) {
	v := make([][]parquet.Value, f.root.leaves)
	for i := range v {
		n := 0
		for n < len(values) && values[n].Column() == i && (n > 0) == (values[n].RepetitionLevel() > 0) {
			n++
		}
		v[i], values = values[:n], values[n:]
	}
	if len(values) > 0 {
		return rows.Row{}, errLevels
	}
	w := rows.Row{First: line, Last: line}
	w.Object, w.Err = f.root.object(v)
	if errors.Is(w.Err, errLevels) {
		return w, w.Err
	}
	return w, nil
}
