package lines

// Requests of rows, and their records. The testscripts of gpt score show the rest.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"picogpt/eval"
	"picogpt/internal/rows"
)

func parse(t *testing.T, object string) rows.Object {
	t.Helper()
	o, err := rows.ParseObject([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestWhatAnObjectAsksFor(t *testing.T) {
	for _, c := range []struct {
		in     RequestReader
		object string
		want   string // of the request, or its error
	}{
		{RequestReader{}, `{"text":"a"}`, `"a" id <nil>`},
		{RequestReader{}, `{"id":7,"text":"a","x":1}`, `"a" id 7`},
		{RequestReader{IDField: "url"}, `{"id":7,"text":"a","url":"u"}`, `"a" id "u"`},
		{RequestReader{IDField: "url"}, `{"id":7,"text":"a"}`, `"a" id <nil>`},
		{RequestReader{}, `{"context":"a","continuation":" b"}`, `"a" + " b" id <nil>`},
		{RequestReader{}, `{"tokens":[1,2]}`, `[1 2] id <nil>`},
		{RequestReader{}, `{"tokens":[]}`, `[] id <nil>`},
		{RequestReader{}, `{"text":"a","tokens":null,"context":null}`, `"a" id <nil>`},
		{RequestReader{}, `{}`, "want text, or context and continuation, or tokens"},
		{RequestReader{}, `{"text":"a","tokens":[1]}`, "want text, or context and continuation, or tokens"},
		{RequestReader{}, `{"text":"a","context":"b"}`, "want text, or context and continuation, or tokens"},
		{RequestReader{}, `{"context":"b"}`, "want text, or context and continuation, or tokens"},
		{RequestReader{}, `{"text":5}`, "text: want a string"},
		{RequestReader{}, `{"tokens":[1.5]}`, "tokens: want an array of whole numbers"},
		{RequestReader{Table: true}, `{"text":"a","tokens":"x"}`, `"a" id <nil>`},
		{RequestReader{Table: true}, `{"tokens":"x"}`,
			"want a column text, or columns context and continuation"},
		{RequestReader{TextField: "body"}, `{"body":"a","text":5,"id":"i"}`, `"a" id "i"`},
		{RequestReader{TextField: "body"}, `{"text":"a"}`, "want body"},
		{RequestReader{TextField: "body"}, `{"body":null}`, "want body"},
		{RequestReader{TextField: "body"}, `{"body":1}`, "body: want a string"},
	} {
		row := rows.Row{First: 3, Last: 4, Object: parse(t, c.object)}
		r, ok := c.in.Request(row)
		tag := r.Tag.(*Row)
		got := fmt.Sprintf("%q", r.Text)
		switch {
		case r.Err != nil:
			got = r.Err.Error()
		case r.Pair:
			got = fmt.Sprintf("%q + %q", r.Context, r.Text)
		case r.Tokens != nil:
			got = fmt.Sprint(r.Tokens)
		}
		if r.Err == nil {
			id := "<nil>"
			if tag.ID != nil {
				id = string(tag.ID)
			}
			got += " id " + id
		}
		if !ok || got != c.want || tag.First != 3 {
			t.Errorf("%+v, %s: %s, want %s", c.in, c.object, got, c.want)
		}
	}
}

func TestTextsEmptyLinesAndBrokenOnes(t *testing.T) {
	objects, texts := RequestReader{}, RequestReader{Texts: true, Source: "a.txt"}
	if r, ok := objects.Request(rows.Row{First: 1}); ok {
		t.Errorf("an empty line among objects: %+v", r)
	}
	r, ok := texts.Request(rows.Row{First: 1})
	if !ok || r.Text != "" || r.Err != nil || r.Tag.(*Row).Source != "a.txt" {
		t.Errorf("an empty line among texts: %+v, %t", r, ok)
	}
	broken := errors.New("too long")
	for _, in := range []RequestReader{objects, texts} {
		if r, ok := in.Request(rows.Row{First: 9, Err: broken}); !ok || r.Err != broken ||
			r.Tag.(*Row).First != 9 {
			t.Errorf("a broken line: %+v, %t", r, ok)
		}
	}
}

func TestLines(t *testing.T) {
	scored := &eval.Scored{Index: 41, Text: "é🙂", Sum: -1.5, Mean: -1.5, Count: 1,
		Tokens: []eval.Token{{Stat: eval.Stat{ID: 5, LogProb: -1.5}, Start: 2, End: 6}}}
	const all = `"tokens":[5],"text":"é🙂","offsets":[[1,2]],"logprobs":[-1.5],"ranks":[0],` +
		`"entropies":[0],"sum_logprob":-1.5,"mean_logprob":-1.5,"greedy":false}`
	for _, c := range []struct {
		o            Output
		source       string
		object, want string
	}{
		{Output{}, "", "", `{"line":7,` + all},
		{Output{}, "a.jsonl", `{"id":"x","text":"y"}`, `{"source":"a.jsonl","line":7,"id":"x",` + all},
		{Output{Offsets: eval.UTF16}, "", "",
			`{"line":7,` + strings.ReplaceAll(all, "[1,2]", "[1,3]")},
		{Output{Fields: []string{"line"}}, "a.jsonl", `{"id":"x"}`, `{"line":7}`},
		{Output{Fields: []string{"source", "greedy"}}, "a.jsonl", `{"id":"x"}`,
			`{"source":"a.jsonl","greedy":false}`},
		{Output{Keep: true}, "a", `{"source":"b","line":1,"id":"x","text":"y","top":[ 1],"z":{}}`,
			`{"source":"a","line":7,"id":"x",` + strings.TrimSuffix(all, "}") +
				`,"top":[1],"z":{}}`},
		{Output{Keep: true, Fields: []string{"greedy"}}, "a", `{"source":"b","error":1,"z":2}`,
			`{"greedy":false,"source":"b","z":2}`},
		{Output{Keep: true, Fields: []string{"id"}}, "", `{"source":"b","context_dropped":1}`,
			`{"source":"b"}`},
	} {
		row := &Row{Row: rows.Row{First: 7, Last: 8}, Source: c.source}
		if c.object != "" {
			row.Object = parse(t, c.object)
			row.ID = row.Object.Get("id")
		}
		b, err := c.o.Line(row, c.o.Record(row, scored))
		if err != nil || string(b) != c.want+"\n" {
			t.Errorf("%+v, %s: %v\n%swant\n%s", c.o, c.object, err, b, c.want)
		}
	}
}

func TestErrorsAreWrittenWhole(t *testing.T) {
	row := &Row{Row: rows.Row{First: 7, Object: parse(t, `{"a":1,"error":0,"line":2}`)},
		Source: "s", ID: json.RawMessage(`7`)}
	err := &fs.PathError{Op: "read", Path: "a\nb", Err: errors.New("gone")}
	o := Output{Keep: true, Fields: []string{"greedy"}}
	const want = `{"source":"s","line":7,"id":7,"error":"a; b: gone","a":1}` + "\n"
	if b, err := o.Line(row, o.Error(row, err)); err != nil || string(b) != want {
		t.Errorf("%s %v, want %s", b, err, want)
	}
}

func TestParseFields(t *testing.T) {
	names, err := ParseFields([]string{"line", " text "}, Fields())
	if err != nil || strings.Join(names, ",") != "line,text" {
		t.Errorf("%q, %v", names, err)
	}
	_, err = ParseFields([]string{"line", "source"}, Fields())
	if err == nil || err.Error() != `"source" is no field of the output` {
		t.Errorf("%v", err)
	}
}
