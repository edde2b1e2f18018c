package constrain

import "testing"

func TestTry(t *testing.T) {
	c, err := StructuralTag(gpt2(), []byte(`{"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<f"],"tags":[{"begin":"<f>","content":{"type":"json_schema","json_schema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}},"end":"</f>"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "x", "x<f", "x<f>", `x<f>{"a":1}</f>`, `x<f>{"a":1}</f>y`, `x<f>{"a":1}<`, "<f>1", `<f>{"a":1}</f><f>{"a":1}</f>`, "<"} {
		x, _ := c.Start()
		ok := true
		for i := range len(s) {
			if err := x.Accept(gpt2().ids.Alone(s[i])); err != nil {
				ok = false
				t.Log(err)
				break
			}
		}
		n, known := x.Least()
		t.Log(s, ok, ok && x.Complete(), n, known)
	}
	t.Log(c.Notes(), c.Bytes())
}
