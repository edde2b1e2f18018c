package stack_test

import (
	"encoding/json"
	"fmt"
	"log"

	"picogpt/model/stack"
)

// An edit that switches head 1 of layer 3 off, for decode.Options.Edits or model.Options.Edits.
func ExampleEdit() {
	at, err := stack.ParsePoint("blocks.3.attn.hook_z")
	if err != nil {
		log.Fatal(err)
	}
	off := stack.Edit{At: at, Head: 1, Op: stack.Scale, Values: []float32{0}}
	b, err := json.Marshal(off)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(b))
	// Output: {"at":"blocks.3.attn.hook_z","op":"scale","values":[0],"head":1}
}
