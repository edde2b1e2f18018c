package constrain

// Formats that no schema is held to.

import (
	"strings"
	"testing"
)

// TestAFormatThatNobodyDefinesIsAnAnnotation: it is said, and refused where the caller asks for it.
func TestAFormatThatNobodyDefinesIsAnAnnotation(t *testing.T) {
	for schema, want := range map[string]string{
		`{"format":"topic","type":"string"}`:                    `#: format "topic" is not known, and restricts nothing`,
		`{"properties":{"a":{"format":"color","minLength":1}}}`: `#/properties/a: format "color" is not known, and restricts nothing`,
		`{"format":"regex"}`:                                    "",
		`{"format":"starts_with","pattern":"^a"}`:               "",
		`{"format":"starts_with"}`:                              `#: format "starts_with" is not known, and restricts nothing`,
		`{"format":"password"}`:                                 "",
		`{"format":"email"}`:                                    "",
	} {
		c := compile(t, schema, SchemaOptions{})
		if got := strings.Join(c.Notes(), "|"); got != want {
			t.Errorf("%s: notes %q, want %q", schema, got, want)
		}
		_, err := JSONSchema(gpt2(), []byte(schema), SchemaOptions{Strict: true})
		before, _, _ := strings.Cut(want, ", and")
		if (err != nil) != (want != "") || err != nil && err.Error() != "schema: "+before {
			t.Errorf("%s: strict: %v, want %q", schema, err, before)
		}
	}
	if _, complete := accepts(t, compile(t, `{"format":"topic","maxLength":2}`, SchemaOptions{}), `"ab"`); !complete {
		t.Error("the rest of a schema with an unknown format is not followed")
	}
}
