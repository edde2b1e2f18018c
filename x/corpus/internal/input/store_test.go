package input

// gs:// and s3://, from servers that speak as theirs do.

import (
	"encoding/json"
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// objects are what both servers hold, in a bucket named b. Some names have what URLs do not.
var objects = map[string]string{
	"texts/a.jsonl":       `{"text":"a"}` + "\n",
	"texts/b 100%#?.txt":  "b\n",
	"texts/c.txt":         "c\nd\n",
	"texts/deep/e.txt":    "e\n",
	"texts/%41 is no A":   "f\n",
	"elsewhere/[0].jsonl": "{}\n",
	"texts/deep/":         "",
}

// serve answers with an object, for its key.
func serve(w http.ResponseWriter, r *http.Request, key string) {
	text, ok := objects[key]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.Header().Set("Last-Modified", "Sun, 22 Nov 2026 16:00:00 GMT")
	if r.Method != http.MethodHead {
		w.Write([]byte(text))
	}
}

// s3Server answers as S3, with buckets as folders.
func s3Server(w http.ResponseWriter, r *http.Request) {
	if key := strings.TrimPrefix(r.URL.Path, "/b/"); key != r.URL.Path && key != "" {
		serve(w, r, key)
		return
	}
	type object struct {
		Key  string
		Size int
	}
	var list struct {
		XMLName  xml.Name `xml:"ListBucketResult"`
		Contents []object
	}
	for key, text := range objects {
		if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
			list.Contents = append(list.Contents, object{key, len(text)})
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(list)
}

// gcsServer answers as Google Cloud Storage: lists and attributes in JSON, and contents.
func gcsServer(w http.ResponseWriter, r *http.Request) {
	type object struct {
		Bucket string `json:"bucket"`
		Name   string `json:"name"`
		Size   string `json:"size"`
	}
	attributes := func(key string) object { return object{"b", key, strconv.Itoa(len(objects[key]))} }
	path, isJSON := strings.CutPrefix(r.URL.EscapedPath(), "/storage/v1/b/b/o")
	if !isJSON {
		serve(w, r, strings.TrimPrefix(r.URL.Path, "/b/"))
		return
	}
	key, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if key == "" {
		var list struct {
			Items []object `json:"items"`
		}
		for key := range objects {
			if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
				list.Items = append(list.Items, attributes(key))
			}
		}
		json.NewEncoder(w).Encode(list)
		return
	}
	if _, ok := objects[key]; !ok {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	json.NewEncoder(w).Encode(attributes(key))
}

func TestObjectStores(t *testing.T) {
	s3 := httptest.NewServer(http.HandlerFunc(s3Server))
	defer s3.Close()
	gcs := httptest.NewServer(http.HandlerFunc(gcsServer))
	defer gcs.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": s3.URL, "AWS_REGION": "x", "AWS_ACCESS_KEY_ID": "x",
		"AWS_SECRET_ACCESS_KEY": "x", "AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none",
		"STORAGE_EMULATOR_HOST": gcs.URL, "GOOGLE_APPLICATION_CREDENTIALS": "",
		"AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required", // which this server does not make
	} {
		t.Setenv(name, value)
	}
	for _, store := range []string{"s3", "gs"} {
		base := store + "://b/"
		sources, err := Match(t.Context(), Options{Patterns: []string{base + "texts/*.txt",
			base + "texts/%41 is no A", base + "texts/*.jsonl", base + "texts/c*"}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"texts/b 100%#?.txt", "texts/c.txt", "texts/%41 is no A", "texts/a.jsonl"}
		var names []string
		for i, s := range sources {
			key := strings.TrimPrefix(s.Name, base)
			names = append(names, key)
			if s.Size != int64(len(objects[key])) || s.Order != i {
				t.Errorf("%+v, want %d bytes", s, len(objects[key]))
			}
			all, err := rowsOf(t.Context(), cut(t, s, 0)...)
			if lines := linesOf([]byte(objects[key])); err != nil || len(all) != len(lines) {
				t.Errorf("%s: %q, %v, want %q", s.Name, show(all), err, lines)
			}
		}
		if !reflect.DeepEqual(names, want) {
			t.Errorf("%s: %q, want %q", store, names, want)
		}
		for pattern, want := range map[string]string{
			"**/*.txt": "texts/b 100%#?.txt texts/c.txt texts/deep/e.txt", "texts/**/e.txt": "texts/deep/e.txt",
			"**/[[]0].jsonl": "elsewhere/[0].jsonl", "tex?s/**/d*/*": "texts/deep/e.txt",
		} {
			sources, err := Match(t.Context(), Options{Patterns: []string{base + pattern}})
			var names []string
			for _, s := range sources {
				names = append(names, strings.TrimPrefix(s.Name, base))
			}
			if got := strings.Join(names, " "); got != want || err != nil {
				t.Errorf("%s%s: %q, %v, want %q", base, pattern, got, err, want)
			}
		}
		for pattern, want := range map[string]string{
			base + "none/**":     base + "none/**: no such file matches",
			base + "none":        base + "none: no such file",
			base + "none/*":      base + "none/*: no such file matches",
			base + "texts/?.txt": base + "texts/?.txt: no such file matches, and the first wildcard",
		} {
			_, err := Match(t.Context(), Options{Patterns: []string{pattern}})
			if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}
