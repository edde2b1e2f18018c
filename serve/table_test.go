package serve

// Each option by its field and by its flag: the same options come out.

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/tokenizer"
)

func TestAFieldIsAFlag(t *testing.T) {
	s, err := New(testmodel.Demo(t, model.Options{Threads: 1}), tokenizer.GPT2(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	walked := 0
	for i, o := range newCompletion().table(128) {
		var written, read string
		switch o.Value.(type) {
		case *float64:
			written, read = "0.25", "0.25"
		case *int, *uint64:
			written, read = "1", "1"
		case *[]string:
			written, read = "word", `["word"]`
		case *[]int:
			written, read = "257", "[257]"
		case option.Biases:
			written, read = "257=2.5", `{"257":2.5}`
		case option.TextBiases:
			written, read = " red apple=2.5", `{" red apple":2.5}`
		}
		if o.Field.Name == "" || written == "" || o.Field.Name == "logprobs" {
			continue
		}
		walked++
		byFlag := newCompletion()
		table := byFlag.table(128)
		if err := table[i].Set(written); err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
		option.Settle(table)
		byField, err := s.parseCompletion(fmt.Sprintf(`{"prompt":"a","%s":%s}`, o.Field.Name, read))
		if err != nil {
			t.Errorf("%s: %v", o.Field.Name, err)
			continue
		}
		if o.Field.Name != "seed" {
			byFlag.Seed = byField.Seed
		}
		if !reflect.DeepEqual(byField.Options, byFlag.Options) || byField.n != byFlag.n {
			t.Errorf("%s: the field gives %+v, the flag %+v", o.Name, byField.Options, byFlag.Options)
		}
	}
	if walked < 30 {
		t.Errorf("%d options were walked, want more", walked)
	}
	if q := newCompletion(); q.Temperature != 1 || q.MaxTokens != 16 || q.n != 1 ||
		strings.Contains(fmt.Sprint(q.Options), "NaN") {
		t.Errorf("%+v", q)
	}
}
