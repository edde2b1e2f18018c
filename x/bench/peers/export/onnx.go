package main

// ONNX models: the graph in NAME.onnx with its weights in NAME.data beside it (onnx.proto3, IR
// version 10).

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
)

// ONNX's numbers for types of elements.
const (
	onnxFloat = 1
	onnxUint8 = 2
	onnxInt32 = 6
	onnxInt64 = 7
)

// A graph is an ONNX graph that is being built; its weights are written to data at once.
type graph struct {
	nodes, initializers, inputs, outputs message

	dataName string
	data     io.Writer
	at       int
	values   int // number of names used so far
	err      error
}

// An attribute of a node: an int, a float32 or a string.
type attribute struct {
	name  string
	value any
}

// node adds an operator of the standard, or of com.microsoft if op says so, and returns its first
// output.
func (g *graph) node(op string, inputs []string, attributes ...attribute) string {
	g.values++
	out := op + "_" + strconv.Itoa(g.values)
	g.nodeTo([]string{out}, "", op, inputs, attributes...)
	return out
}

func (g *graph) nodeTo(
	outputs []string, domain, op string, inputs []string, attributes ...attribute,
) {
	g.nodes.message(1, func(n *message) {
		for _, in := range inputs {
			n.text(1, in)
		}
		for _, out := range outputs {
			n.text(2, out)
		}
		n.text(3, outputs[0])
		n.text(4, op)
		for _, a := range attributes {
			n.message(5, a.write)
		}
		n.text(7, domain)
	})
}

func (a attribute) write(m *message) {
	m.text(1, a.name)
	switch v := a.value.(type) {
	case float32:
		m.float(2, v)
		m.int(20, 1)
	case int:
		m.int(3, v)
		m.int(20, 2)
	case string:
		m.text(4, v)
		m.int(20, 3)
	}
}

// weight adds an initializer in the data file, at a page boundary so that it can be mapped.
func (g *graph) weight(name string, kind int, data []byte, shape ...int) string {
	const page = 4096
	pad := aligned(g.at, page) - g.at
	for _, b := range [][]byte{make([]byte, pad), data} {
		if g.err == nil {
			_, g.err = g.data.Write(b)
		}
	}
	at := g.at + pad
	g.at = at + len(data)
	g.initializers.message(5, func(t *message) {
		for _, d := range shape {
			t.int(1, d)
		}
		t.int(2, kind)
		t.text(8, name)
		for _, kv := range [][2]string{{"location", g.dataName}, {"offset", strconv.Itoa(at)},
			{"length", strconv.Itoa(len(data))}} {
			t.message(13, func(e *message) {
				e.text(1, kv[0])
				e.text(2, kv[1])
			})
		}
		t.int(14, 1) // EXTERNAL
	})
	return name
}

// integers adds a small constant [len(v)] of int64.
func (g *graph) integers(name string, v ...int) string {
	g.initializers.message(5, func(t *message) {
		t.int(1, len(v))
		t.int(2, onnxInt64)
		for _, n := range v {
			t.int(7, n)
		}
		t.text(8, name)
	})
	return name
}

// value describes an input or output; a dimension is an int or a name.
func value(name string, kind int, shape ...any) func(*message) {
	return func(m *message) {
		m.text(1, name)
		m.message(2, func(t *message) {
			t.message(1, func(tensor *message) {
				tensor.int(1, kind)
				tensor.message(2, func(s *message) {
					for _, d := range shape {
						s.message(1, func(dim *message) {
							switch d := d.(type) {
							case int:
								dim.int(1, d)
							case string:
								dim.text(2, d)
							}
						})
					}
				})
			})
		})
	}
}

// model returns the whole ModelProto.
func (g *graph) model() []byte {
	var m message
	m.int(1, 10)
	m.text(2, "picogpt")
	m.message(7, func(inner *message) {
		*inner = bytes.Join([][]byte{g.nodes, g.initializers, g.inputs, g.outputs}, nil)
		inner.text(2, "gpt2")
	})
	for _, opset := range []struct {
		domain  string
		version int
	}{{"", 20}, {"com.microsoft", 1}} {
		m.message(8, func(o *message) {
			o.text(1, opset.domain)
			o.int(2, opset.version)
		})
	}
	return m
}

// writeONNX writes the checkpoint's graph into dir, its matrices in 32, 8 or 4 bits.
func writeONNX(dir string, c *source, bits int) error {
	name := map[int]string{32: "f32", 8: "q8", 4: "q4"}[bits]
	g := &graph{dataName: name + ".data"}
	err := writeTo(filepath.Join(dir, g.dataName), func(w io.Writer) error {
		g.data = w
		gpt2Graph(g, c, bits)
		if g.err == nil {
			g.err = c.err
		}
		return g.err
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".onnx"), g.model(), 0o666); err != nil {
		return fmt.Errorf("%s.onnx: %w", name, err)
	}
	return nil
}
