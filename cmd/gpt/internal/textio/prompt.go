package textio

// Prompts: where a text comes from, ids, a text of any length, and its end taken back.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// Reads a prompt of any length, in memory that does not grow with it.

const (
	// ShownIDs is how many ids of a prompt an output of ids or JSON has at most: the newest.
	ShownIDs = 1 << 20

	// HeldText is how many bytes of a prompt are held at most, to be printed before each text.
	HeldText = 16 << 20
)

// A Prompt says how a prompt is read.
type Prompt struct {
	Tokenizer *tokenizer.Tokenizer
	Context   int  // n_positions
	Refuse    bool // refuse more tokens than fit the context, as soon as that is certain
	Show      bool // print the text, or hold it to be printed

	Out     *process.Output
	Console *terminal.Console
}

// Read reads a text to its end. It returns the ids, only the newest if there are very many; how
// many were dropped before them; and the text, if it is to be printed before each text that
// follows. It prints a longer text while it reads.
func (p Prompt) Read(source io.Reader) (ids []int, dropped int, text string, err error) {
	// one more than the context, so that a prompt that does not fit is recognised
	encoder := p.Tokenizer.ForPrompts().NewEncoder(max(ShownIDs, p.Context+1))
	r := &promptReader{Prompt: p, encoder: encoder}
	defer p.Console.ShowProgress(func() string {
		return "reading the prompt, " + quote.LongSize(r.bytes.Load())
	})()
	if _, err := io.CopyBuffer(struct{ io.Writer }{r}, struct{ io.Reader }{source},
		make([]byte, 1<<16)); err != nil {
		return nil, 0, "", err
	}
	ids, total, err := encoder.End()
	return ids, total - len(ids), r.held.String(), err
}

// A promptReader encodes a prompt while it is read.
type promptReader struct {
	Prompt
	encoder *tokenizer.Encoder
	bytes   atomic.Int64
	held    strings.Builder
	printed bool // the held text is printed, and further text is printed as it arrives
}

// Write takes the next bytes of the prompt.
func (r *promptReader) Write(b []byte) (int, error) {
	r.bytes.Add(int64(len(b)))
	if _, err := r.encoder.Write(b); err != nil {
		return 0, err
	}
	if r.Refuse && r.encoder.AtLeast() > r.Context {
		return 0, &PromptTooLong{r.Context}
	}
	switch {
	case !r.Show:
		return len(b), nil
	case !r.printed && r.held.Len()+len(b) <= HeldText:
		return r.held.Write(b)
	case !r.printed:
		r.printed = true
		if r.Out.Terminal {
			r.Console.EndProgress()
		}
		if _, err := r.Out.WriteString(r.held.String()); err != nil {
			return 0, err
		}
		r.held.Reset()
	}
	return r.Out.Write(b)
}

// A PromptTooLong says that a prompt was not read to its end.
type PromptTooLong struct{ context int }

func (e *PromptTooLong) Error() string {
	return fmt.Sprintf("prompt of more than %d tokens: want at most %d (n_positions)", e.context,
		e.context)
}

// line returns a file's text and a newline, unless the text ends in one.
func line(file io.Reader) io.Reader { return &lineReader{file: file} }

type lineReader struct {
	file io.Reader
	last byte
	done bool
}

func (r *lineReader) Read(b []byte) (int, error) {
	if r.done || len(b) == 0 {
		return 0, io.EOF
	}
	n, err := r.file.Read(b)
	if n > 0 {
		r.last = b[n-1]
	}
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if n > 0 {
		return n, nil // the next call returns the end
	}
	r.done = true
	if r.last == '\n' {
		return 0, io.EOF
	}
	b[0] = '\n'
	return 1, nil
}

// Where a text comes from: the arguments, a file, or stdin.

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

// Ids as users write them, and as they are written.

// ParseIDs reads ids as a JSON array, or separated by commas or space.
func ParseIDs(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	var words []string
	if strings.HasPrefix(s, "[") {
		var values []json.RawMessage
		if err := json.Unmarshal([]byte(s), &values); err != nil {
			return nil, fmt.Errorf("want a JSON array of ids: %w", err)
		}
		for _, v := range values {
			words = append(words, string(bytes.TrimSpace(v)))
		}
	} else if strings.Contains(s, ",") {
		words = strings.Split(s, ",")
	} else {
		words = strings.Fields(s)
	}
	ids := make([]int, len(words))
	for i, w := range words {
		id, err := strconv.Atoi(strings.TrimSpace(w))
		if err != nil {
			return nil, fmt.Errorf("id %d of %d is %s: want a whole number",
				i+1, len(words), quote.Short(w, 40))
		}
		ids[i] = id
	}
	return ids, nil
}

// WriteIDs writes the ids of a text as they become certain, as one JSON array: for GPT-2's kind
// of vocabulary in memory that does not grow with the text.
func WriteIDs(w io.Writer, t *tokenizer.Tokenizer, text io.Reader) error {
	e := t.NewEncoder(math.MaxInt) // every id
	part, out, n := make([]byte, 64<<10), []byte("["), 0
	add := func(ids []int) {
		for _, id := range ids {
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = strconv.AppendInt(out, int64(id), 10)
		}
	}
	for {
		read, end := text.Read(part)
		if end != nil && end != io.EOF {
			return end
		}
		if _, err := e.Write(part[:read]); err != nil {
			return err
		}
		add(e.Take())
		if end == io.EOF {
			break
		}
		if len(out) >= len(part) {
			if _, err := w.Write(out); err != nil {
				return err
			}
			out = out[:0]
		}
	}
	ids, _, err := e.End()
	if err != nil {
		return err
	}
	add(ids)
	_, err = w.Write(append(out, "]\n"...))
	return err
}

// Prompts that end inside a word: gpt generate --heal.

// A Healer takes back the ends of prompts.
type Healer struct {
	tokenizer *tokenizer.Tokenizer
	tokens    [][]byte
	least     int // tokens that stay
}

// NewHealer returns a Healer for a model that can begin from nothing, or not.
func NewHealer(t *tokenizer.Tokenizer, fromNothing bool) (*Healer, error) {
	h := &Healer{tokenizer: t}
	if !fromNothing {
		h.least = 1
	}
	var err error
	h.tokens, err = t.Bytes()
	return h, err
}

// Heal takes back the end of a prompt, with its bytes at the beginning of the new text.
func (h *Healer) Heal(prompt []int) (*decode.Healing, error) {
	healing := decode.NewHealing(h.tokens, prompt, h.least)
	whole, err := h.tokenizer.Decode(prompt)
	if err != nil {
		return nil, err
	}
	left, err := h.tokenizer.Decode(healing.Prompt)
	if err != nil {
		return nil, err
	}
	if whole != left+string(healing.Bytes) {
		return nil, errors.New("--heal: want a tokenizer whose tokens have the same bytes " +
			"everywhere, found one where they depend on their neighbours")
	}
	return healing, nil
}
