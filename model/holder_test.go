package model

import (
	"testing"

	"picogpt/internal/engine"
)

// A slowCache waits while it is released.
type slowCache struct {
	engine.Cache
	released     int
	begun, going chan struct{}
}

func (c *slowCache) Release() {
	c.released++
	close(c.begun)
	<-c.going
}

// A goroutine that comes while a cache is being released finds that it is already released.
func TestACacheIsGivenUpOnce(t *testing.T) {
	slow := &slowCache{begun: make(chan struct{}), going: make(chan struct{})}
	h := &holder{cache: slow}
	done := make(chan struct{})
	go func() {
		h.release(nil)
		close(done)
	}()
	<-slow.begun
	h.forget()
	h.release(nil)
	close(slow.going)
	<-done
	h.forget()
	if slow.released != 1 {
		t.Errorf("released %d times", slow.released)
	}
}
