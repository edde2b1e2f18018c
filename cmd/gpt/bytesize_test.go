package main

import "testing"

func TestByteSizes(t *testing.T) {
	for text, want := range map[string]byteSize{
		"0": 0, "1048576": 1 << 20, "512MiB": 512 << 20, "1.5GiB": 3 << 29, "2GB": 2e9, "7KB": 7000,
		"3B": 3,
	} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, error %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "-1MB", "10 parsecs", "99999999999999999999",
		"1e400GB", "NaN"} {
		var got byteSize
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
}
