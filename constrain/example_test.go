package constrain_test

import (
	"fmt"
	"log"

	"picogpt/constrain"
)

// A loop without a model: of the ids that are open, it takes the one with the most bytes.
func ExampleVocabulary() {
	tokens := [][]byte{nil} // id 0 ends a text
	for b := range 256 {
		tokens = append(tokens, []byte{byte(b)})
	}
	for _, word := range []string{"Lily", `"name": `, `"age": `} {
		tokens = append(tokens, []byte(word))
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{0}})
	if err != nil {
		log.Fatal(err)
	}
	form, err := constrain.JSONSchema(v, []byte(`{
		"type": "object", "required": ["name", "age"], "additionalProperties": false,
		"properties": {"name": {"enum": ["Tom", "Lily"]},
			"age": {"type": "integer", "minimum": 5, "maximum": 9}}
	}`), constrain.SchemaOptions{})
	if err != nil {
		log.Fatal(err)
	}
	text, err := form.Start()
	if err != nil {
		log.Fatal(err)
	}
	open := make([]uint64, v.Words())
	for !text.Complete() {
		if err := text.Mask(open); err != nil {
			log.Fatal(err)
		}
		best := -1
		for id, bytes := range tokens {
			if open[id/64]>>(id%64)&1 != 0 && (best < 0 || len(bytes) > len(tokens[best])) {
				best = id
			}
		}
		if err := text.Accept(best); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s|", tokens[best])
	}
	// Output: {|"name": |"|Lily|"|,|"age": |5|}|
}
