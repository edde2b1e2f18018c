package process

import "testing"

func TestLinuxTellsItsFreeMemory(t *testing.T) {
	if n := FreeMemory(); n < 1<<20 || n > 1<<50 || n%1024 != 0 {
		t.Errorf("%d bytes are free", n)
	}
}
