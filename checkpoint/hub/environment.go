// The environment: the variables of Hugging Face's own tools.

package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"picogpt/internal/folder"
)

// Environment returns the Options that environment variables give, as huggingface_hub reads them:
//
//	HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE    Cache
//	HF_HOME                                Cache is hub in it
//	XDG_CACHE_HOME                         HF_HOME is huggingface in it; ~/.cache without it
//	HF_TOKEN, HUGGING_FACE_HUB_TOKEN       Token
//	HF_TOKEN_PATH                          the file of the token; token in HF_HOME without it
//	HF_HUB_DISABLE_IMPLICIT_TOKEN          no Token
//	HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE   Offline
//	HF_ENDPOINT                            Endpoint
//	HF_HUB_ETAG_TIMEOUT                    HeadTimeout, in seconds
//	HF_HUB_DOWNLOAD_TIMEOUT                ReadTimeout, in seconds
//	HF_HUB_DISABLE_SYMLINKS                NoSymlinks
//	HTTPS_PROXY, HTTP_PROXY, NO_PROXY      Proxy, as http.ProxyFromEnvironment has it
//
// Cache is "" if there is no home folder. An error names the variable or the file.
func Environment() (Options, error) {
	home := cmp.Or(expand(os.Getenv("HF_HOME")), defaultHome())
	o := Options{
		Cache: cmp.Or(expand(os.Getenv("HF_HUB_CACHE")),
			expand(os.Getenv("HUGGINGFACE_HUB_CACHE")), below(home, "hub")),
		Endpoint:   strings.TrimRight(os.Getenv("HF_ENDPOINT"), "/"),
		Offline:    isOn("HF_HUB_OFFLINE") || isOn("TRANSFORMERS_OFFLINE"),
		NoSymlinks: isOn("HF_HUB_DISABLE_SYMLINKS"),
		Proxy:      http.ProxyFromEnvironment,
	}
	var bad [3]error
	if !isOn("HF_HUB_DISABLE_IMPLICIT_TOKEN") {
		o.Token, bad[0] = token(home)
	}
	o.HeadTimeout, bad[1] = seconds("HF_HUB_ETAG_TIMEOUT")
	o.ReadTimeout, bad[2] = seconds("HF_HUB_DOWNLOAD_TIMEOUT")
	return o, cmp.Or(bad[:]...) // the first error only
}

// defaultHome returns the value of HF_HOME if it is not set, or "" if there is no home folder.
func defaultHome() string {
	if cache := expand(os.Getenv("XDG_CACHE_HOME")); cache != "" {
		return filepath.Join(cache, "huggingface")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".cache", "huggingface")
}

// token returns the user's token, or "" if there is none.
func token(home string) (string, error) {
	const longest = 4096 // bytes of a token's file
	if t := clean(os.Getenv("HF_TOKEN")); t != "" {
		return t, nil
	}
	if t := clean(os.Getenv("HUGGING_FACE_HUB_TOKEN")); t != "" {
		return t, nil
	}
	path := cmp.Or(expand(os.Getenv("HF_TOKEN_PATH")), below(home, "token"))
	if path == "" {
		return "", nil
	}
	f, _, err := folder.Open(folder.Dir(filepath.Dir(path)), filepath.Base(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil {
		return "", fmt.Errorf("token %s: %w", path, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, longest+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("token %s: %w", path, folder.Cause(err))
	case len(b) > longest:
		return "", fmt.Errorf("token %s: more than %d bytes, which no token has", path, longest)
	}
	return clean(string(b)), nil
}

// clean removes line ends and spaces, which are often copied with a token.
func clean(token string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(token))
}

// isOn reports whether a variable is switched on.
func isOn(variable string) bool {
	return slices.Contains([]string{"1", "ON", "YES", "TRUE"},
		strings.ToUpper(os.Getenv(variable)))
}

// seconds reads a variable in seconds. It returns 0 if it is not set.
func seconds(variable string) (time.Duration, error) {
	s := os.Getenv(variable)
	if s == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 86400 {
		return 0, fmt.Errorf("%s: want seconds, 1 to 86400, found %q", variable, s)
	}
	return time.Duration(n) * time.Second, nil
}

// expand replaces ~ at the beginning by the home folder, and $NAME and ${NAME} by the values of
// variables that are set.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + rest
		}
	}
	return os.Expand(path, func(name string) string {
		if value, ok := os.LookupEnv(name); ok {
			return value
		}
		return "$" + name
	})
}

// below returns a path in a folder, or "" if dir is "".
func below(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}
