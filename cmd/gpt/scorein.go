package main

// What gpt score reads: lines of text or of JSON, some of them broken.

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"

	"picogpt/eval"
	"picogpt/internal/resume"
)

// longestLine bounds what one line may hold in memory.
const longestLine = 16 << 20

// A scoreInput reads requests from lines.
type scoreInput struct {
	name  string
	text  *string // the one text, in place of a file
	r     *bufio.Reader
	file  *os.File // to be closed
	jsonl bool

	from   resume.Mark // lines up to here have results already
	line   int         // the last one read
	digest hash.Hash   // of the lines up to there, each with a line feed at its end
	err    error       // of reading; after the last request
}

// A scoreLine is the tag of a request: the line that it is of.
type scoreLine struct {
	number int
	id     json.RawMessage
	digest string // of the input up to here
}

// input opens the file, stdin, or the one text.
func (c *scoreCommand) input(a *app) (*scoreInput, error) {
	in := &scoreInput{digest: sha256.New()}
	switch {
	case c.Text != nil && c.File != nil:
		return nil, usagef("--text and a file: want one of them")
	case c.Text != nil:
		in.name, in.text = "--text", c.Text
		a.hintAtFile(*c.Text, "gpt score")
		return in, nil
	case c.File == nil && !readable(a.stdin):
		return nil, hinted{usagef("nothing to score"), "give a file of texts, --text TEXT, or texts through a pipe"}
	case c.File == nil || *c.File == "-":
		in.name, in.r = "stdin", bufio.NewReaderSize(a.stdin, 1<<16)
	default:
		f, err := os.Open(*c.File)
		if err != nil {
			return nil, hinted{fileError(*c.File, err), "to score a text itself: gpt score --text TEXT"}
		}
		in.name = *c.File
		in.file, in.r = f, bufio.NewReaderSize(f, 1<<16)
	}
	in.jsonl = c.Input == "jsonl" || c.Input == "auto" && (strings.HasSuffix(in.name, ".jsonl") || beginsObject(in.r))
	return in, nil
}

// beginsObject reports whether the first thing in r is {. It waits for no more than that.
func beginsObject(r *bufio.Reader) bool {
	for n := 1; n <= 512; n++ {
		b, err := r.Peek(n)
		if err != nil {
			return false
		}
		text := strings.TrimLeft(strings.TrimPrefix(string(b), byteOrderMark), " \t\r\n")
		if text != "" && !strings.HasPrefix(byteOrderMark, text) {
			return text[0] == '{'
		}
	}
	return false
}

func (in *scoreInput) close() {
	if in.file != nil {
		in.file.Close()
	}
}

// path is the file that is read, "-" for stdin, "" for none.
func (in *scoreInput) path() string {
	switch {
	case in.file != nil:
		return in.name
	case in.text != nil:
		return ""
	}
	return "-"
}

// requests are the lines, for eval.Score, which reads ahead.
func (in *scoreInput) requests(yield func(eval.Request) bool) {
	for {
		r, err := in.next()
		if err != nil {
			if in.err = err; err == io.EOF {
				in.err = in.atEnd()
			}
			return
		}
		if r.Tag != nil && !yield(r) {
			return
		}
	}
}

// atEnd errs if the input ends before the lines that have results.
func (in *scoreInput) atEnd() error {
	if in.line < in.from.Line {
		return in.mismatch("%d lines, want the %d that have results", in.line, in.from.Line)
	}
	return nil
}

func (in *scoreInput) mismatch(format string, args ...any) error {
	return hinted{fmt.Errorf(in.name+": "+format, args...), "--force in place of --resume begins anew"}
}

// next reads one line. One that has its result already, or needs none, is a request without a tag.
func (in *scoreInput) next() (r eval.Request, err error) {
	line, bad := in.readLine()
	if bad != nil && bad != errLongLine {
		return r, bad
	}
	in.line++
	in.digest.Write([]byte{'\n'})
	sum := hex.EncodeToString(in.digest.Sum(nil))
	if in.line == in.from.Line && sum != in.from.Input {
		return r, in.mismatch("its first %d lines are not those that have results", in.line)
	}
	if in.line <= in.from.Line {
		return r, nil
	}
	if in.line == 1 && in.jsonl {
		line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	}
	tag := &scoreLine{number: in.line, digest: sum}
	switch {
	case bad != nil:
		r.Err = bad
	case !in.jsonl:
		r.Text = string(line)
	case len(bytes.TrimSpace(line)) == 0:
		return r, nil
	default:
		r, tag.id, r.Err = parseRequest(line)
	}
	r.Tag = tag
	return r, nil
}

var errLongLine = fmt.Errorf("more than %d bytes", longestLine)

// readLine returns the next line without its end, errLongLine for one that is too long, which it reads
// past, or io.EOF. It digests what it returns.
func (in *scoreInput) readLine() (line []byte, err error) {
	if in.text != nil {
		if in.line == 1 {
			return nil, io.EOF
		}
		io.WriteString(in.digest, *in.text)
		return []byte(*in.text), nil
	}
	size := 0
	for {
		part, err := in.r.ReadSlice('\n')
		if size += len(part); size <= longestLine {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && size == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, fileError(in.name, err)
		case size > longestLine:
			fmt.Fprintf(in.digest, "%s %d", line, size)
			return nil, errLongLine
		}
		if n := len(line) - 1; n >= 0 && line[n] == '\n' {
			line = bytes.TrimSuffix(line[:n], []byte("\r"))
		}
		in.digest.Write(line)
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
