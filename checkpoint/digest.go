package checkpoint

// Digests, which differ between checkpoints.

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"picogpt/internal/folder"
	"picogpt/weights"
)

// Digest returns 32 hexadecimal digits that depend on the config and on all tensors, and not on the
// files or their names. It reads all tensors. To cost little more than the reading, it is the
// SHA-256 of the CRC-32 of the tensors' pieces: that tells files apart unless somebody has made
// them to collide.
func (c *Checkpoint) Digest() (string, error) {
	h := sha256.New()
	config, err := json.Marshal(c.Config)
	if err != nil {
		return "", err
	}
	h.Write(config)
	tensors := slices.Clone(c.Tensors.All())
	slices.SortFunc(tensors, func(a, b weights.Tensor) int {
		return strings.Compare(a.Name, b.Name)
	})
	var sums []uint32
	for _, t := range tensors {
		fmt.Fprintf(h, "%q %s %v\n", t.Name, t.DType, t.Shape)
		data, err := t.Bytes()
		if err != nil {
			return "", err
		}
		sums = append(sums, checksums(slices.Collect(slices.Chunk(data, 1<<18)))...)
	}
	binary.Write(h, binary.LittleEndian, sums)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// checksums returns the CRC-32 (Castagnoli) of each piece.
func checksums(pieces [][]byte) []uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	sums := make([]uint32, len(pieces))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(pieces); i = next.Add(1) - 1 {
				sums[i] = crc32.Checksum(pieces[i], table)
			}
		})
	}
	workers.Wait()
	return sums
}

// tokenizerFiles are the names of all files that a tokenizer may be read from.
var tokenizerFiles = [...]string{
	folder.Tokenizer, folder.Vocab, folder.Merges, folder.AddedTokens, folder.TokenizerConfig,
	folder.SpecialTokens, folder.Encoder, folder.VocabBPE, folder.VocabText, folder.Pieces,
	folder.OtherPieces,
}

func hasTokenizerFile(fsys fs.FS) bool {
	return slices.ContainsFunc(tokenizerFiles[:], func(name string) bool {
		_, err := fs.Stat(fsys, name)
		return err == nil
	})
}

// TokenizerDigest returns 32 hexadecimal digits that depend on the bytes of the tokenizer's files,
// or "none" if there is no tokenizer.
func (c *Checkpoint) TokenizerDigest() (string, error) {
	h, found := sha256.New(), false
	if c.vocabulary != nil {
		b, err := c.vocabulary.raw()
		h.Write(b)
		return hex.EncodeToString(h.Sum(nil)[:16]), err
	}
	for _, name := range tokenizerFiles {
		b, err := folder.Read(c.words, name, 64<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return "", fmt.Errorf("%s: %w", folder.Path(c.words, name), err)
		}
		found = true
		fmt.Fprintf(h, "%q %d\n", name, len(b))
		h.Write(b)
	}
	if !found {
		return "none", nil
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
