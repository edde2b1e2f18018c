package main

import (
	"bytes"
	"os"
	"testing"

	"picogpt/weights/demo"
)

func TestTheEmbeddedFileIsWhatPackMakes(t *testing.T) {
	want, err := os.ReadFile("../../model.rows")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pack(demo.Weights()), want) {
		t.Error("model.rows is not what pack makes of the weights")
	}
}
