package kernels

// In a browser the events of a worker, such as a request that is stopped, come only when no goroutine
// can run.

import (
	"sync"
	"syscall/js"
	"time"
)

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
