package textio

// Where a text comes from: the arguments, a file, or stdin.

import (
	"io"
	"os"
	"strings"

	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

// A Source is text in the arguments, in a file, or on stdin if that is no terminal. Every byte
// counts, a newline at the end included, but for a byte order mark. What is not asked for is not
// read.
type Source struct {
	Words []string
	File  *string
}

// Declare remembers the file that Open will open.
func (s *Source) Declare(f *Files) {
	switch {
	case s.File != nil:
		f.WillRead(*s.File, "")
	case len(s.Words) == 0 && Readable(f.Stdin):
		f.WillRead("-", "")
	}
}

// Read returns the text, and false if there is none.
func (s *Source) Read(f *Files) (text string, given bool, err error) {
	r, err := s.Open(f, false)
	if r == nil || err != nil {
		return "", false, err
	}
	defer r.Close()
	text, err = Whole(r)
	return text, true, err
}

// Open returns a reader of the text, nil if there is none. A byte order mark stays with mark.
func (s *Source) Open(f *Files, mark bool) (io.ReadCloser, error) {
	switch {
	case len(s.Words) > 0 && s.File != nil:
		return nil, fault.Usagef("text in the arguments and --file: want one of them")
	case len(s.Words) > 0:
		text := strings.Join(s.Words, " ")
		HintAtFile(f.Note, text, "-f")
		f.LeaveStdin()
		return io.NopCloser(strings.NewReader(text)), nil
	case s.File != nil:
		return f.OpenText(*s.File, "", mark)
	case !Readable(f.Stdin):
		return nil, nil
	}
	return f.OpenText("-", "", mark)
}

// OpenBoth is Open where a file and words are one text: the file, a newline unless it ends in one,
// and the words.
func (s *Source) OpenBoth(f *Files) (io.ReadCloser, error) {
	if s.File == nil || len(s.Words) == 0 {
		return s.Open(f, false)
	}
	file, err := f.OpenText(*s.File, "", false)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(line(file), strings.NewReader(strings.Join(s.Words, " "))), file}, nil
}

// HintAtFile notes that a text in the arguments is a file's name too, or - for stdin. What would
// read the file is reads and the name.
func HintAtFile(notef func(format string, args ...any), text, reads string) {
	if text == "-" {
		notef(`hint: "-" is taken as text; %s - reads stdin`, reads)
	} else if info, err := os.Stat(text); err == nil && !info.IsDir() {
		notef("hint: %s is taken as text; %s FILE reads the file of that name",
			quote.Short(text, 40), reads)
	}
}
