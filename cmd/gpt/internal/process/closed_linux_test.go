package process

import "testing"

func TestWhoOpensNullForBoth(t *testing.T) {
	for program, want := range map[string]bool{"/usr/bin/python3.12": true, "/usr/bin/node": true,
		"/usr/bin/bash": false, "/usr/bin/dash": false, "/home/python/bin/sh": false} {
		if got := opensNullForBoth(program); got != want {
			t.Errorf("%s: %v, want %v", program, got, want)
		}
	}
}
