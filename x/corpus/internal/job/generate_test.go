package job

import (
	"encoding/json"
	"reflect"
	"testing"

	"picogpt/decode"
	"picogpt/internal/option"
)

// TestOptionsTravel to workers, and are in the manifest by the names of their flags.
func TestOptionsTravel(t *testing.T) {
	var o GenerateOptions
	if err := option.SetDefaults(o.Table(), true); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(o)
	const usual = `{"overflow":"error","max_tokens":null,"samples":1,"stop":null,"temp":0.8,"top_k":40,` +
		`"top_p":1,"min_p":0,"repeat_penalty":1,"repeat_last_n":0,"seed":0}`
	if err != nil || string(b) != usual {
		t.Errorf("%s, %v\nwant %s", b, err, usual)
	}
	o.MaxTokens, o.Stop, o.TopP, o.Seed, o.Top = 7, []string{"a", "\n"}, 0, 1<<63, 3
	o.Fields, o.Keep, o.Overflow = []string{"ids"}, true, decode.OverflowSlide
	b, err = json.Marshal(o)
	var again GenerateOptions
	if err == nil {
		err = json.Unmarshal(b, &again)
	}
	if err != nil || !reflect.DeepEqual(again, o) {
		t.Errorf("%s: %+v, %v, want %+v", b, again, err, o)
	}
	if m := o.Meant(); m.TopP == 0 || o.TopP != 0 || m.MaxTokens != 7 {
		t.Errorf("%+v", m)
	}
}
