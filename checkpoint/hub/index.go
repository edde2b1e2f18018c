// The list of a repository's files, from the hub's API.

package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"picogpt/internal/strictjson"
)

const (
	maxList  = 16 << 20 // bytes of the API's answer
	maxFiles = 100_000
)

// list returns the names of the repository's files.
func (r *repo) list(ctx context.Context) (files []string, err error) {
	u := r.address("api/models/" + r.name.Repo + "/revision/" + url.PathEscape(r.commit))
	const what = "the list of files"
	err = r.persist(ctx, what, func() int64 { return 0 }, func() error {
		b, err := r.answer(ctx, u)
		if err == nil {
			files, err = parseList(b)
		}
		return err
	})
	if err != nil {
		return nil, r.failed(what, err)
	}
	return files, nil
}

// answer returns the body of an answer, whose size is bounded.
func (r *repo) answer(ctx context.Context, u *url.URL) ([]byte, error) {
	resp, err := r.get(ctx, u)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, r.refusal(resp, r.name.revision(), "")
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxList+1))
	if err == nil && len(b) > maxList {
		err = fmt.Errorf("more than %d bytes", maxList)
	}
	return b, err
}

// parseList reads {"siblings": [{"rfilename": NAME}, …]} and ignores other keys. A name that would
// leave the folder is an error.
func parseList(text []byte) (files []string, err error) {
	found := false
	r := strictjson.NewReader(string(text))
	err = r.Object(func(key string) error {
		if key != "siblings" {
			_, err := r.Value()
			return err
		}
		found = true
		return r.Array(func(i int) error {
			if i == maxFiles {
				return fmt.Errorf("siblings: more than %d files", maxFiles)
			}
			name, err := parseSibling(r)
			files = append(files, name)
			return err
		})
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && !found {
		err = errors.New("want siblings, the list of the files, found none")
	}
	return files, err
}

func parseSibling(r *strictjson.Reader) (name string, err error) {
	err = r.Object(func(key string) (err error) {
		if key != "rfilename" {
			_, err = r.Value()
			return err
		}
		if name, err = r.String(); err == nil {
			err = checkFile(name)
		}
		return err
	})
	if err == nil && name == "" {
		err = errors.New("want rfilename, found none")
	}
	if err != nil {
		err = fmt.Errorf("siblings: %w", err)
	}
	return name, err
}
