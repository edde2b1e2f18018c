// Command genr50k writes tokenizer/r50k/r50k.bin, GPT-2's byte-level BPE in 200,256 bytes, from the
// ranks of OpenAI's r50k_base that github.com/pkoukk/tiktoken-go-loader carries. It is a module of
// its own so that the loader, which embeds 6.8 MB of other vocabularies, is no dependency of
// picogpt.
//
//	cd tokenizer/internal/genr50k && go run . ../../r50k/r50k.bin
//
// The layout: 256 bytes, the byte that each of the ids 0 to 255 stands for; then for each of the
// ids 256 to 50255 the two ids it is merged from, as little-endian uint16s, left before right.
package main

import (
	"encoding/binary"
	"fmt"
	"os"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: genr50k FILE"))
	}
	ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe("r50k_base.tiktoken")
	if err != nil {
		fail(err)
	}
	table, err := compact(ranks)
	if err != nil {
		fail(err)
	}
	if err := os.WriteFile(os.Args[1], table, 0o644); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "genr50k:", err)
	os.Exit(1)
}

// compact turns token → rank into the table.
func compact(ranks map[string]int) ([]byte, error) {
	tokens := make([]string, len(ranks))
	for token, rank := range ranks {
		if rank < 0 || rank >= len(tokens) || tokens[rank] != "" {
			return nil, fmt.Errorf("rank %d of %q: out of range or used twice", rank, token)
		}
		tokens[rank] = token
	}
	var table []byte
	for rank, token := range tokens {
		if rank < 256 {
			if len(token) != 1 {
				return nil, fmt.Errorf("token %d is %q, want one byte", rank, token)
			}
			table = append(table, token[0])
			continue
		}
		left, right, err := parents(token, rank, ranks)
		if err != nil {
			return nil, err
		}
		table = binary.LittleEndian.AppendUint16(table, uint16(left))
		table = binary.LittleEndian.AppendUint16(table, uint16(right))
	}
	return table, nil
}

// parents runs BPE on the token's bytes with the ranks below its own: the two parts left are what
// it is merged from.
func parents(token string, rank int, ranks map[string]int) (left, right int, err error) {
	parts := make([]string, len(token))
	for i := range parts {
		parts[i] = token[i : i+1]
	}
	for len(parts) > 2 {
		best, at := rank, -1
		for i := range len(parts) - 1 {
			if r, ok := ranks[parts[i]+parts[i+1]]; ok && r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			return 0, 0, fmt.Errorf("token %d, %q: ends as %q, want two parts", rank, token, parts)
		}
		parts[at] += parts[at+1]
		parts = append(parts[:at+1], parts[at+2:]...)
	}
	return ranks[parts[0]], ranks[parts[1]], nil
}
