package decode

import "fmt"

// letters is a vocabulary of so many ids: 0 is "a", 1 is "b" and so on.
type letters int

func (l letters) Size() int { return int(l) }

func (l letters) Bytes(id int) ([]byte, error) {
	if id < 0 || id >= int(l) {
		return nil, fmt.Errorf("id %d: want 0 to %d", id, int(l)-1)
	}
	return []byte{byte('a' + id)}, nil
}

// pieces is a vocabulary of any bytes.
type pieces []string

func (p pieces) Size() int { return len(p) }

func (p pieces) Bytes(id int) ([]byte, error) { return []byte(p[id]), nil }
