package gguf

import "testing"

// BenchmarkBlocks decodes the blocks of each type, in weights a second.
func BenchmarkBlocks(b *testing.B) {
	for number := range Type(256) {
		l, ok := number.layout()
		if !ok || l.decode == nil {
			continue
		}
		const n = 1 << 16
		x := Tensor{Type: number, Shape: []int{n}, Data: make([]byte, n/l.elements*l.bytes)}
		dst := make([]byte, 4*n)
		b.Run(l.name, func(b *testing.B) {
			for b.Loop() {
				if err := x.fill(dst, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}

// BenchmarkTransposed decodes a matrix of GPT-2 and transposes it.
func BenchmarkTransposed(b *testing.B) {
	for _, number := range []Type{F32, F16, Q8_0, Q4_K} {
		l, _ := number.layout()
		const rows, cols = 3072, 768
		x := Tensor{Type: number, Shape: []int{rows, cols},
			Data: make([]byte, rows*cols/l.elements*l.bytes)}
		b.Run(l.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Elements().Transposed().Bytes(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(rows*cols)*float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
		})
	}
}
