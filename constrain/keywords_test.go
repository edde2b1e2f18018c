package constrain

// Keywords that look at a whole object or array: what others left unevaluated, how many items are
// of a kind, which differ.

import (
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/judge"
)

// whole are schemas and canonical instances; some are valid and some are not.
var whole = []struct{ schema, instances string }{
	{`{"allOf":[{"properties":{"a":{"type":"integer"}}},{"patternProperties":{"^x":true}}],"properties":{"b":{}},"unevaluatedProperties":false}`,
		`{"a":1} {"b":1,"a":1,"x":2} {"a":1,"c":2} {"a":"x"} 5`},
	{`{"anyOf":[{"properties":{"k":{"const":1},"a":{}},"required":["k"]},{"properties":{"l":{"const":1},"b":{}},"required":["l"]}],"unevaluatedProperties":{"type":"null"}}`,
		`{"k":1,"a":2} {"k":1,"b":2} {"l":1,"b":2,"k":null} {"k":1,"a":1,"l":1,"b":1} {"k":1,"l":2} {"k":1,"z":null} {"a":1}`},
	{`{"if":{"properties":{"k":{"const":1}},"required":["k"]},"then":{"properties":{"a":{}}},"else":{"properties":{"b":{}}},"unevaluatedProperties":false}`,
		`{"k":1,"a":2} {"k":2,"b":1} {"b":2} {"a":1} {"k":1,"b":2} {}`},
	{`{"not":{"not":{"properties":{"a":{}},"required":["a"]}},"properties":{"b":{}},"unevaluatedProperties":{"type":"string"}}`, `{"a":1} {"a":"x"} {"a":"x","b":1} {"b":1}`},
	{`{"oneOf":[{"properties":{"a":{"type":"integer"}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}],"unevaluatedProperties":false,"dependentSchemas":{"b":{"properties":{"c":{}}}}}`,
		`{"a":1} {"b":1} {"b":1,"c":2} {"a":1,"b":1} {"a":1,"c":1}`},
	{`{"properties":{"o":{"$ref":"#/$defs/t","unevaluatedProperties":false}},"$defs":{"t":{"properties":{"a":{}},"anyOf":[true,{"properties":{"b":{}}}]}}}`,
		`{"o":{"a":1,"b":2}} {"o":{"c":1}} {"o":1,"z":1}`},
	{`{"enum":[{"a":1},{"b":2}],"unevaluatedProperties":{"const":1}}`, `{"a":1} {"b":2}`},
	{`{"prefixItems":[{"type":"integer"}],"anyOf":[{"prefixItems":[true,{"const":2}]},{"prefixItems":[true,true,{"const":3}]},true],"unevaluatedItems":{"type":"null"}}`,
		`[1] [1,2] [1,2,3] [1,5,3] [1,2,3,4] [1,5,3,null] [1,null] [1,5] ["a"]`},
	{`{"if":{"prefixItems":[{"const":1}]},"items":{"type":"integer"},"unevaluatedItems":false}`, `[1,2] ["a"]`},
	{`{"$schema":"https://json-schema.org/draft/2019-09/schema","items":[true],"unevaluatedItems":false}`, `[1] [1,2]`},
	{`{"$id":"https://e.org/tree","$dynamicAnchor":"n","type":"object",
		"$defs":{"strict":{"$id":"https://e.org/strict","$dynamicAnchor":"n","$ref":"tree","unevaluatedProperties":false}},"properties":{"s":{"$ref":"strict"},"kids":{"items":{"$dynamicRef":"#n"}},"v":{}}}`,
		`{"s":{"kids":[{"v":1}]}} {"s":{"kids":[{"w":1}]}} {"kids":[{"w":1}]} {"s":{"w":1}}`},
}

func TestKeywordsOfTheWhole(t *testing.T) {
	cases.NotShort(t)
	for _, x := range whole {
		held(t, x.schema, x.instances, judge.Schema(t, x.schema))
	}
}
