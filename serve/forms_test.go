package serve

// Which compiled forms are cached.

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"picogpt/constrain"
	"picogpt/dev/cases"
)

// formsOf makes the forms of a vocabulary of bytes.
func formsOf(t *testing.T) (*forms, *constrain.Vocabulary) {
	t.Helper()
	tokens := make([][]byte, 256)
	for b := range tokens {
		tokens[b] = []byte{byte(b)}
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return newForms(vocabulary{}, nil, nil), v
}

// TestALargeFormPushesNobodysOut: forms of a client with large ones are removed before those of
// others, and a form that is too large is not cached at all.
func TestALargeFormPushesNobodysOut(t *testing.T) {
	cases.NotShort(t)
	c, v := formsOf(t)
	sized := map[int]*constrain.Constraint{} // forms of equal sizes need not be compiled again
	put := func(client string, i, bytes int) formKey {
		text := fmt.Sprint(i, " ", strings.Repeat("x", bytes))
		if sized[bytes] == nil {
			made, err := constrain.Choice(v, text)
			if err != nil {
				t.Fatal(err)
			}
			if n := made.Bytes(); n < bytes || n > 1000*(bytes+100) {
				t.Errorf("a choice of %d bytes holds %d", len(text), n)
			}
			sized[bytes] = made
		}
		key := (&form{choice: []string{text}}).key(client)
		c.add(&aForm{key, client, sized[bytes], nil})
		return key
	}
	small := put("b", 0, 10)
	for i := range 20 {
		put("a", i, 40000)
		total := 0
		for _, f := range c.known {
			total += f.bytes()
		}
		if total > keptFormBytes || len(c.known) > keptForms {
			t.Fatalf("%d forms of %d bytes are kept", len(c.known), total)
		}
	}
	for i := range 2 * keptForms { // many small ones
		put("a", 1000+i, 10)
	}
	if c.find(small) == nil {
		t.Error("the form of another client was let go")
	}
	if large := put("a", 1, 300_000); c.find(large) != nil {
		t.Error("a form that is too large is kept")
	}
}

// TestFormsOfTenantsAreKeptApart: a key is of one tenant and one form.
func TestFormsOfTenantsAreKeptApart(t *testing.T) {
	text, other := "a", "a\x00"
	keys := map[formKey]string{}
	for name, key := range map[string]formKey{
		"schema":          (&form{schema: &text}).key(""),
		"an open schema":  (&form{schema: &text, open: true}).key(""),
		"regex":           (&form{regex: &text}).key(""),
		"grammar":         (&form{grammar: &text}).key(""),
		"choice":          (&form{choice: []string{text}}).key(""),
		"two choices":     (&form{choice: []string{text, text}}).key(""),
		"another regex":   (&form{regex: &other}).key(""),
		"another tenant":  (&form{regex: &text}).key("key 1"),
		"another, longer": (&form{regex: &text}).key("key 1\",\"a"),
	} {
		if before, ok := keys[key]; ok {
			t.Errorf("%s has the key of %s", name, before)
		}
		keys[key] = name
	}
}

// TestARefusalIsKept: the cache holds the error of a form that is refused at a high cost.
func TestARefusalIsKept(t *testing.T) {
	cases.NotShort(t)
	c, v := formsOf(t)
	c.vocabulary = func() (*constrain.Vocabulary, error) { return v, nil }
	text := `{"enum":[` + strings.Repeat("1e4000,", 20000) + `1]}`
	f := &form{schema: &text, fields: []string{"guided_json"}}
	visit := &visit{client: client{id: "a"}}
	_, first := c.matcher(t.Context(), visit, f)
	clock := c.turns.Clock()
	_, again := c.matcher(t.Context(), visit, f)
	var e *apiError
	if !errors.As(first, &e) || !strings.Contains(e.Error(), "steps to compile") {
		t.Errorf("%v, want one about steps", first)
	}
	if again == nil || again.Error() != first.Error() || clock == 0 || c.turns.Clock() != clock {
		t.Errorf("again %v, after %d turns instead of %d", again, c.turns.Clock(), clock)
	}
}
