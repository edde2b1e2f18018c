// Indexes of sharded checkpoints: JSON that says which file holds each tensor.

package weights

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

const (
	maxIndex  = 1 << 20 // bytes of a model.safetensors.index.json
	maxShards = 1024
)

// An Index says which file of a checkpoint holds each tensor, as model.safetensors.index.json and
// pytorch_model.bin.index.json do.
type Index struct {
	path     string
	listings []listing
}

// A listing says which shard holds a tensor.
type listing struct{ tensor, shard string }

// ReadIndex reads an index. Shards lie in the same folder, so their names have no directory. Errors
// begin with the file's name.
func ReadIndex(fsys fs.FS, name string) (Index, error) {
	x := Index{path: folder.Path(fsys, name)}
	text, err := folder.Read(fsys, name, maxIndex)
	if err == nil {
		x.listings, err = parseIndex(text)
	}
	if err != nil {
		return x, fmt.Errorf("%s: %w", x.path, err)
	}
	return x, nil
}

// Shards returns the distinct shards, sorted by name, which is the order of their numbers.
func (x Index) Shards() []string {
	var names []string
	for _, e := range x.listings {
		names = append(names, e.shard)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Shards returns the names of the files in an index, whose bytes are given, in order.
func Shards(index []byte) ([]string, error) {
	listings, err := parseIndex(index)
	return Index{listings: listings}.Shards(), err
}

// Check returns an error unless each tensor of the index is in the shard that the index says.
// holder maps a tensor to the shard in which it was found.
func (x Index) Check(holder map[string]string) error {
	for _, e := range x.listings {
		if found := holder[e.tensor]; found == "" {
			return fmt.Errorf("%s: %s: listed in %s, which does not have it", x.path, e.tensor,
				e.shard)
		} else if found != e.shard {
			return fmt.Errorf("%s: %s: listed in %s, but found in %s", x.path, e.tensor,
				e.shard, found)
		}
	}
	return nil
}

func parseIndex(text []byte) (where []listing, err error) {
	found := false
	err = strictjson.ReadObject(text, func(r *strictjson.Reader, key string) (err error) {
		if key != "weight_map" {
			_, err = r.Value() // metadata: a total size that nothing depends on
			return err
		}
		found = true
		where, err = parseWeightMap(r)
		return err
	})
	if err == nil && !found {
		err = errors.New("no weight_map in this index")
	}
	return where, err
}

func parseWeightMap(r *strictjson.Reader) ([]listing, error) {
	var where []listing
	names := map[string]bool{}
	err := r.Object(func(tensor string) error {
		if err := checkName(tensor); err != nil {
			return err
		}
		shard, err := r.String()
		if err != nil {
			return fmt.Errorf("%s: %w", tensor, err)
		}
		// A shard lies in the same folder as its index, and nowhere else.
		if shard == "." || shard != filepath.Base(shard) || !filepath.IsLocal(shard) ||
			strings.ContainsAny(shard, `/\`) || checkName(shard) != nil {
			return fmt.Errorf("%s: shard %s, want a plain file name", tensor,
				quote.Short(shard, 80))
		}
		if names[shard] = true; len(names) > maxShards {
			return fmt.Errorf("more than %d shards", maxShards)
		}
		where = append(where, listing{tensor, shard})
		return nil
	})
	if err == nil && len(where) == 0 {
		err = errors.New("lists no tensors")
	}
	if err != nil {
		err = fmt.Errorf("weight_map: %w", err)
	}
	return where, err
}
