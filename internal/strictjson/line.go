package strictjson

import (
	"bytes"
	"encoding/json"
)

// Line is a value as one line of JSON, with its line feed. Characters such as < stand as they are.
func Line(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
