package protobuf_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"picogpt/internal/protobuf"
)

// TestFields: every wire type, and every message that is cut or has another.
func TestFields(t *testing.T) {
	// 1: varint 300; 2: "ab"; 3: 32 bits; 4: 64 bits
	const message = "\x08\xac\x02" + "\x12\x02ab" + "\x1d\x01\x00\x00\x80" +
		"\x21\x02\x00\x00\x00\x00\x00\x00\x01"
	ends := map[int]bool{0: true, 3: true, 7: true, 12: true, len(message): true}
	for n := range len(message) + 1 {
		var got []string
		err := protobuf.Fields([]byte(message[:n]), func(number int, n uint64, b []byte) error {
			got = append(got, fmt.Sprintf("%d %x %s", number, n, b))
			return nil
		})
		if errors.Is(err, protobuf.ErrBroken) == ends[n] {
			t.Errorf("%d bytes: %v", n, err)
		}
		const want = "1 12c ;2 0 ab;3 80000001 ;4 100000000000002 "
		if all := strings.Join(got, ";"); n == len(message) && all != want {
			t.Errorf("%q, want %q", all, want)
		}
	}
	for _, broken := range []string{"\x00\x00", "\x0b", "\x0c", "\x0f", "\x12\xff\xff\xff\xff\x7f",
		strings.Repeat("\xff", 11)} {
		err := protobuf.Fields([]byte(broken), func(int, uint64, []byte) error { return nil })
		if !errors.Is(err, protobuf.ErrBroken) {
			t.Errorf("%q: %v", broken, err)
		}
	}
	stop := errors.New("stop")
	err := protobuf.Fields([]byte(message), func(int, uint64, []byte) error { return stop })
	if err != stop {
		t.Errorf("%v, want the caller's error", err)
	}
}
