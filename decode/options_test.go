package decode

import (
	"errors"
	"strings"
	"testing"

	"picogpt/sample"
)

func TestOptionsNobodyCanFollowAreRefusedByName(t *testing.T) {
	for want, o := range map[string]Options{
		"max tokens -1":      {MaxTokens: -1},
		"stop strings":       {Stop: []string{"x"}},
		"stop string 2 of 2": {Stop: []string{"x", ""}, Vocabulary: letters(2)},
		`overflow "wrap"`:    {Overflow: "wrap"},
		"temperature -0.1":   {Params: sample.Params{Temperature: -0.1}},
	} {
		err := o.Check()
		var option *sample.OptionError
		if !errors.As(err, &option) || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("%+v: error %v, want one about %s", o, err, want)
		}
		if _, err := newStream(limits{context: 9, vocabulary: 9}, nil, []int{1}, o); err == nil {
			t.Errorf("%+v: a stream began", o)
		}
	}
}
