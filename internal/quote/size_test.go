package quote

import "testing"

func TestByteSizes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "1048576": 1 << 20, "512MiB": 512 << 20, "1.5GiB": 3 << 29, "2GB": 2e9, "7KB": 7000,
		"3B": 3,
	} {
		var got Bytes
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %d, error %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "-1MB", "10 parsecs", "99999999999999999999",
		"1e400GB", "NaN"} {
		var got Bytes
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken as %d", text, got)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.00 kB", 9994: "9.99 kB", 9996: "10.0 kB",
		99940: "99.9 kB", 99960: "100 kB", 999499: "999 kB", 999500: "1.00 MB",
		1419319488: "1.42 GB", 1e15: "1000000 GB",
	} {
		if got := Size(n); got != want {
			t.Errorf("%d bytes: %q, want %q", n, got, want)
		}
	}
}
