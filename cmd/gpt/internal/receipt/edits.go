package receipt

// The edits of a model in a receipt, read strictly.

import (
	"strconv"

	"picogpt/internal/strictjson"
	"picogpt/model"
)

// editsField reads edits that may be missing; then *to stays nil. Whether a model can make them is
// for model.New to say.
func editsField(to *[]model.Edit) strictjson.Field {
	f := strictjson.ListField("edits", "an array of edits", to, readEdit)
	f.Optional = true
	return f
}

func readEdit(r *strictjson.Reader, e *model.Edit) error {
	var op string
	e.Head = model.AllHeads
	at := strictjson.Field{Key: "at", Want: "the name of a point"}
	at.Read = func(r *strictjson.Reader) error {
		name, err := r.String()
		if err == nil {
			e.At, err = model.ParsePoint(name)
		}
		return err
	}
	values := strictjson.ListField("values", "an array of numbers", &e.Values, readFloat)
	values.Optional = true
	fields := []strictjson.Field{at, strictjson.StringField("op", &op), values}
	for _, number := range []struct {
		key string
		to  *int
	}{{"head", &e.Head}, {"from", &e.From}, {"to", &e.To}, {"keys_from", &e.KeysFrom},
		{"keys_to", &e.KeysTo}} {
		f := strictjson.NaturalField(number.key, number.to)
		f.Optional = true
		fields = append(fields, f)
	}
	err := strictjson.ReadFields(r, fields)
	e.Op = model.Op(op)
	return err
}

func readFloat(r *strictjson.Reader, to *float32) error {
	digits, err := r.Number()
	if err != nil {
		return err
	}
	x, err := strconv.ParseFloat(digits, 32)
	*to = float32(x)
	return err
}
