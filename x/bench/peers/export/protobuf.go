package main

// The part of protobuf's wire format that writing ONNX needs.

import (
	"encoding/binary"
	"math"
)

// A message is a protobuf message that is written field by field.
type message []byte

func (m *message) tag(field, wire int) { *m = binary.AppendUvarint(*m, uint64(field<<3|wire)) }

func (m *message) int(field, v int) {
	m.tag(field, 0)
	// protobuf writes negative int64s in ten bytes
	*m = binary.AppendUvarint(*m, uint64(v))
}

func (m *message) float(field int, v float32) {
	m.tag(field, 5)
	*m = binary.LittleEndian.AppendUint32(*m, math.Float32bits(v))
}

func (m *message) text(field int, s string) {
	m.tag(field, 2)
	*m = append(binary.AppendUvarint(*m, uint64(len(s))), s...)
}

func (m *message) message(field int, fill func(*message)) {
	var inner message
	fill(&inner)
	m.text(field, string(inner))
}
