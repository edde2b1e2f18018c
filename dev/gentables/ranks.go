package main

// The table of GPT-2's vocabulary, from OpenAI's ranks.

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// ranksOf reads a file of tiktoken, which has a line for each token: its bytes in base64, and its
// rank.
func ranksOf(file []byte) (map[string]int, error) {
	ranks := map[string]int{}
	for line := range strings.Lines(string(file)) {
		coded, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		token, err := base64.StdEncoding.DecodeString(coded)
		rank, wrong := strconv.Atoi(number)
		if err = cmp.Or(err, wrong); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		ranks[string(token)] = rank
	}
	return ranks, nil
}

// compact turns a file of tiktoken into the table.
func compact(file []byte) ([]byte, error) {
	ranks, err := ranksOf(file)
	if err != nil {
		return nil, err
	}
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
