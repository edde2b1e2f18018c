package main

// What gpt score reads: lines of text or of JSON, some of them broken.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"picogpt/eval"
)

// longestLine bounds what one line may hold in memory.
const longestLine = 16 << 20

// A scoreInput reads requests from lines, and remembers which line each is of until it is answered.
type scoreInput struct {
	name  string
	text  *string // the one text, in place of a file
	r     *bufio.Reader
	file  *os.File // to be closed
	jsonl bool

	done     int         // lines up to here have results already
	line     int         // the last one read
	open     []openInput // read and not yet answered, in order
	answered int
	broken   int
	err      error // of reading
}

// An openInput is a line on its way.
type openInput struct {
	line int
	id   json.RawMessage
	err  error // why it is no request
}

// input opens the file, stdin, or the one text.
func (c *scoreCommand) input(a *app) (*scoreInput, error) {
	in := &scoreInput{name: c.File}
	switch {
	case c.Text != nil && c.File != "":
		return nil, usagef("--text and a file: want one of them")
	case c.Text != nil:
		in.name, in.text = "--text", c.Text
		a.hintAtFile(*c.Text, "gpt score FILE")
		return in, nil
	case c.File == "" && !readable(a.stdin):
		return nil, hinted{usagef("nothing to score"), "give a file of texts, --text TEXT, or texts through a pipe"}
	case c.File == "" || c.File == "-":
		in.name, in.r = "stdin", bufio.NewReaderSize(a.stdin, 1<<16)
	default:
		f, err := os.Open(c.File)
		if err != nil {
			return nil, hinted{fileError(c.File, err), "to score a text itself: gpt score --text TEXT"}
		}
		in.file, in.r = f, bufio.NewReaderSize(f, 1<<16)
	}
	in.jsonl = c.Input == "jsonl" || c.Input == "auto" && (strings.HasSuffix(in.name, ".jsonl") || beginsObject(in.r))
	return in, nil
}

func beginsObject(r *bufio.Reader) bool {
	b, _ := r.Peek(512)
	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
	return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{"))
}

func (in *scoreInput) close() {
	if in.file != nil {
		in.file.Close()
	}
}

// reads reports whether the input is the file of that name.
func (in *scoreInput) reads(a *app, name string) bool {
	f := in.file
	if f == nil && in.r != nil {
		f = a.stdin
	}
	if f == nil {
		return false
	}
	mine, err := f.Stat()
	other, e := os.Stat(name)
	return err == nil && e == nil && other.Mode().IsRegular() && os.SameFile(mine, other)
}

// requests are the lines that can be read, for eval.Score, which reads ahead. Those that cannot wait in open for their turn.
func (in *scoreInput) requests(yield func(eval.Request) bool) {
	if in.text != nil {
		if in.line = 1; in.done < 1 {
			in.open = append(in.open, openInput{line: 1})
			yield(eval.Request{Text: *in.text})
		}
		return
	}
	for {
		line, err := in.readLine()
		if err == io.EOF {
			return
		}
		if in.line++; in.line == 1 && in.jsonl {
			line = bytes.TrimPrefix(line, []byte(byteOrderMark))
		}
		if in.line <= in.done {
			continue
		}
		var r eval.Request
		o := openInput{line: in.line, err: err}
		switch {
		case err != nil && err != errLongLine:
			in.err = fileError(in.name, err)
			return
		case err != nil:
		case !in.jsonl:
			r.Text = string(line)
		case len(bytes.TrimSpace(line)) == 0:
			continue
		default:
			r, o.id, o.err = parseRequest(line)
		}
		in.open = append(in.open, o)
		if o.err == nil && !yield(r) {
			return
		}
	}
}

var errLongLine = fmt.Errorf("more than %d bytes", longestLine)

// readLine returns the next line without its end, errLongLine for one that is too long, which it reads past, or io.EOF.
func (in *scoreInput) readLine() (line []byte, err error) {
	size := 0
	for {
		part, err := in.r.ReadSlice('\n')
		if size += len(part); size <= longestLine {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && (err != io.EOF || size == 0):
			return nil, err
		case size > longestLine:
			return nil, errLongLine
		}
		if n := len(line) - 1; n >= 0 && line[n] == '\n' {
			line = bytes.TrimSuffix(line[:n], []byte("\r"))
		}
		return line, nil
	}
}

// parseRequest reads one object. Its id is there even if the rest is no request.
func parseRequest(line []byte) (r eval.Request, id json.RawMessage, err error) {
	o, err := parseObject(line)
	if err != nil {
		return r, nil, err
	}
	text, errText := o.text("text")
	before, errBefore := o.text("context")
	after, errAfter := o.text("continuation")
	tokens, errTokens := list[int](o, "tokens", "whole numbers")
	if err = joinErrors(errText, errBefore, errAfter, errTokens); err != nil {
		return r, o["id"], err
	}
	switch pair := before != nil && after != nil; {
	case pair && text == nil && tokens == nil:
		r = eval.Request{Context: *before, Text: *after, Pair: true}
	case text != nil && tokens == nil && before == nil && after == nil:
		r.Text = *text
	case tokens != nil && text == nil && before == nil && after == nil:
		r.Tokens = tokens
	default:
		err = errors.New("want text, or context and continuation, or tokens")
	}
	return r, o["id"], err
}

// answer writes the result of the oldest request, and of the broken lines before it.
func (in *scoreInput) answer(a *app, w *scoreWriter, s eval.Scored, err error) error {
	if err := in.answerBroken(a, w); err != nil {
		return err
	}
	o := in.open[0]
	in.open = in.open[1:]
	in.answered++
	if err != nil {
		return in.report(a, w, o, err)
	}
	return w.write(o.line, o.id, s)
}

// answerBroken writes what is to be said of the broken lines that are next.
func (in *scoreInput) answerBroken(a *app, w *scoreWriter) error {
	for len(in.open) > 0 && in.open[0].err != nil {
		o := in.open[0]
		in.open = in.open[1:]
		in.answered++
		if err := in.report(a, w, o, o.err); err != nil {
			return err
		}
	}
	return nil
}

// report tells of a line that cannot be scored, on stderr and in the output.
func (in *scoreInput) report(a *app, w *scoreWriter, o openInput, err error) error {
	in.broken++
	a.noteDuring(w.bar, "%s: line %d: %s", in.name, o.line, oneLine(err))
	return w.fail(o.line, o.id, err)
}
