//go:build js && simd128

package kernels

// The leaf operations of a browser: those on float32 are those of wasm/leaves.c, a second module, which
// whoever starts this one instantiates on its memory. Go's compiler writes no vectors.

import (
	"slices"
	"sync"
	"syscall/js"
	"time"
	"unsafe"
)

// archVariants returns the variants of this processor.
func archVariants() []*variant {
	v := *goVariant
	v.name = "simd128"
	v.chain, v.chains, v.chainRows = chainLent, chains(chainLent), chainRows(chainLent)
	v.tile, v.dot, v.logSumExp, v.exp64s = tileLent, dotLent, logSumExpLent, exp64sLent
	return []*variant{&v}
}

//go:wasmimport leaves chain
//go:noescape
func leafChain(y, x unsafe.Pointer, kx int32, w unsafe.Pointer, ldw, n, cols int32)

//go:wasmimport leaves dot
//go:noescape
func leafDot(dst, x, w unsafe.Pointer, ldw, outs, k int32)

//go:wasmimport leaves sumexp
//go:noescape
func leafSumExp(lanes, x unsafe.Pointer, n int32, max float64)

//go:wasmimport leaves exps
//go:noescape
func leafExps(y, x unsafe.Pointer, n int32, max, by float64)

func at[T any](x []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(x)) }

func chainLent(y, x, w []float32, ldw int) {
	if len(y) == 0 || len(x) == 0 {
		return
	}
	_ = w[(len(x)-1)*ldw+len(y)-1]
	whole := len(y) &^ 7
	leafChain(at(y), at(x), 1, at(w), int32(ldw), int32(len(x)), int32(whole))
	chain(y[whole:], x, w[whole:], ldw)
}

func tileLent(
	c []float32, ldc int, a []float32, lda, ka int, b []float32, ldb, nextb, rows, k, panels int,
	add bool,
) {
	if k == 0 {
		tile(c, ldc, a, lda, ka, b, ldb, nextb, rows, k, panels, add)
		return
	}
	var sums [panelCols]float32
	for i := range rows {
		x := a[i*lda:][:(k-1)*ka+1]
		for p := range panels {
			y, w := c[i*ldc+p*panelCols:][:panelCols], b[p*nextb:][:(k-1)*ldb+panelCols]
			if !add {
				leafChain(at(y), at(x), int32(ka), at(w), int32(ldb), int32(k), panelCols)
				continue
			}
			clear(sums[:])
			leafChain(at(sums[:]), at(x), int32(ka), at(w), int32(ldb), int32(k), panelCols)
			for j, sum := range sums {
				y[j] = float32(y[j] + sum)
			}
		}
	}
}

func dotLent(dst []float32, ldd int, x []float32, ldx int, w []float32, ldw, rows, outs, k int) {
	if outs == 0 || k == 0 || k%8 != 0 {
		dot(dst, ldd, x, ldx, w, ldw, rows, outs, k)
		return
	}
	_ = w[(outs-1)*ldw+k-1]
	for i := range rows {
		leafDot(at(dst[i*ldd:][:outs]), at(x[i*ldx:][:k]), at(w), int32(ldw), int32(outs), int32(k))
	}
}

func logSumExpLent(x []float32) float64 {
	whole := len(x) &^ 7
	if whole == 0 || !allFinite(x) {
		return logSumExp(x)
	}
	max := float64(slices.Max(x))
	var l [8]float64
	leafSumExp(at(l[:]), at(x), int32(whole), max)
	for i, v := range x[whole:] {
		l[i] = float64(l[i] + Exp64(float64(float64(v)-max)))
	}
	return float64(max + Log64(reduce(&l)))
}

func exp64sLent(y, x []float64, max, by float64) {
	whole := len(x) &^ 1
	if whole > 0 {
		leafExps(at(y), at(x), int32(whole), max, by)
	}
	exp64s(y[whole:], x[whole:], max, by)
}

// In a browser the events of a worker, such as a request that is stopped, come only when no goroutine
// can run.

// holdBreath is how long events may wait.
const holdBreath = 20 * time.Millisecond

var breath struct {
	last time.Time
	once sync.Once
	out  js.Value      // a port; what is sent to it comes back as an event
	back chan struct{} // by way of this
}

// breathe lets events in, if it is time. It waits for an event of its own, which comes after those that
// are there: a timer would wait for four milliseconds more.
func breathe() {
	if now := time.Now(); now.Sub(breath.last) < holdBreath {
		return
	}
	breath.once.Do(func() {
		channel := js.Global().Get("MessageChannel").New()
		breath.out, breath.back = channel.Get("port2"), make(chan struct{}, 1)
		channel.Get("port1").Set("onmessage", js.FuncOf(func(js.Value, []js.Value) any {
			breath.back <- struct{}{}
			return nil
		}))
	})
	breath.out.Call("postMessage", 0)
	<-breath.back
	breath.last = time.Now()
}
