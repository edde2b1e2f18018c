package records

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/internal/outfile"
)

func TestTargetsThatAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.jsonl")
	for _, c := range []struct {
		target Target
		want   string
	}{
		{Target{Resume: true}, "--resume: want --out FILE, the file to continue"},
		{Target{Out: &name, Resume: true, Force: true}, "--resume and --force: want one of them"},
		{Target{Out: &name}, ""}, {Target{Out: &name, Resume: true}, ""},
	} {
		err := c.target.Check(outfile.Options{Inputs: new(outfile.Inputs)})
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.target, err, c.want)
		}
	}
}

func TestRecordsOnStdoutAndInAFileThatIsContinued(t *testing.T) {
	settings := func() ([]Setting, error) {
		return []Setting{{Name: "a", Value: "1"}}, nil
	}
	unsealed := func(string) { t.Error("a journal without a digest") }
	var stdout strings.Builder
	r, err := new(Target).Open(&stdout, Options{}, settings, unsealed)
	if err == nil {
		err = r.Close(r.Write([]byte("one\n"), Mark{Line: 1}))
	}
	if err != nil || stdout.String() != "one\n" || r.Last().Line != 0 {
		t.Errorf("stdout: %q, %v", &stdout, err)
	}
	name := filepath.Join(t.TempDir(), "out.jsonl")
	for line := 1; line <= 2; line++ {
		target := Target{Out: &name, Resume: line > 1}
		r, err := target.Open(&stdout, Options{Program: "test"}, settings, unsealed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Last().Line != line-1 || r.Setting("a") != "1" {
			t.Errorf("run %d continues after line %d, a is %q", line, r.Last().Line, r.Setting("a"))
		}
		mark := Mark{Line: line, Input: fmt.Sprint(line)}
		if err := r.Close(r.Write(fmt.Appendln(nil, line), mark)); err != nil {
			t.Fatal(err)
		}
	}
}
