package hub_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
	"picogpt/dev/fixture"
	"picogpt/internal/folder"

	"picogpt/weights"
)

func TestLookReadsHeadersAlone(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Embd: 240, Head: 3}) // 2 MB
	repo := &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"config.json": config,
		"model.safetensors": file}}
	h, o := start(t, repo)
	want, err := weights.FromBytes("", file)
	if err != nil {
		t.Fatal(err)
	}
	for name, fault := range map[string]fakehub.Fault{
		"nothing fails": nil,
		"cut":           fakehub.For("files", "GET", weightsFile, 3, fakehub.Cut(1000)),
		"503":           fakehub.For("files", "GET", weightsFile, 3, fakehub.Status(503)),
		"no parts":      fakehub.For("files", "GET", weightsFile, 1, fakehub.Whole(0)),
	} {
		h.Break(fault)
		r, err := hub.Look(t.Context(), parsed("a/b"), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := checkpoint.OpenFS(r, r.Weights, checkpoint.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := r.Fetched(); got > 120_000 {
			t.Errorf("%s: %d bytes fetched of %d", name, got, len(file))
		}
		same := slices.EqualFunc(c.Tensors.All(), want.All(), func(a, b weights.Tensor) bool {
			return a.Name == b.Name && a.DType == b.DType && slices.Equal(a.Shape, b.Shape)
		})
		if !same || c.Tensors.Size() != int64(len(file)) || r.Size != int64(len(file)) {
			t.Errorf("%s: other tensors", name)
		}
		if _, err := c.Tensors.All()[0].Bytes(); err == nil {
			t.Errorf("%s: elements are read", name)
		}
		if r.Commit != repo.Commit() || r.Err() != nil {
			t.Errorf("%s: commit %s, %v", name, r.Commit, r.Err())
		}
		r.Close()
	}
	if got := tree(t, o.Cache); got != "" {
		t.Errorf("the cache holds\n%s", got)
	}
}

// What is read in any order is what the file has, and no byte is requested twice.
func TestLookReadsParts(t *testing.T) {
	config, _ := fixture.Checkpoint(fixture.Options{})
	file := make([]byte, 900_000)
	for i := range file {
		file[i] = byte(i * i >> 7)
	}
	_, o := start(t, &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"config.json": config,
		"model.safetensors": file}})
	r, err := hub.Look(t.Context(), parsed("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := r.Open(r.Weights)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range [][2]int{{899_990, 10}, {0, 5}, {250_000, 10}, {90_000, 400_000},
		{700_000, 200_000}, {0, 900_000}, {899_999, 1}} {
		b := make([]byte, at[1])
		n, err := f.(*folder.FarFile).ReadAt(b, int64(at[0]))
		if n != len(b) || err != nil || !bytes.Equal(b, file[at[0]:at[0]+n]) {
			t.Errorf("%d: %d bytes of %d, %v", at[0], n, at[1], err)
		}
	}
	if got := r.Fetched(); got != int64(len(file)) {
		t.Errorf("%d bytes fetched of %d", got, len(file))
	}
	for name, want := range map[string]error{"none": fs.ErrNotExist, "../up": fs.ErrInvalid} {
		if _, err := r.Open(name); !errors.Is(err, want) || r.Err() != nil {
			t.Errorf("%s: %v, %v", name, err, r.Err())
		}
	}
}

func TestLookRefuses(t *testing.T) {
	cases.NotShort(t)
	config, file := fixture.Checkpoint(fixture.Options{Embd: 240, Head: 3})
	h, o := start(t, &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"config.json": config,
		"model.safetensors": file}})
	part := func(span string) fakehub.Fault {
		return fakehub.For("files", "GET", weightsFile, 0, fakehub.Status(http.StatusPartialContent,
			"Content-Range", span))
	}
	open := func(name string) error {
		r, err := hub.Look(t.Context(), parsed(name), o)
		if err != nil {
			return err
		}
		defer r.Close()
		if _, err = checkpoint.OpenFS(r, r.Weights, checkpoint.Options{}); err != nil && r.Err() != nil {
			err = r.Err()
		}
		return err
	}
	for want, fault := range map[string]fakehub.Fault{
		"git's SHA-1":       fakehub.For("hub", "GET", "/config.json", 0, fakehub.Other),
		"more than 1048576": fakehub.For("hub", "GET", "/config.json", 0, fakehub.Endless),
		"bytes from 7 on":   part("bytes 7-9/100"),
		"Content-Range":     part("from here"),
		"403 Forbidden":     fakehub.For("files", "GET", weightsFile, 0, fakehub.Status(403)),
		"given up":          fakehub.For("files", "GET", weightsFile, 0, fakehub.Cut(5)),
	} {
		h.Break(fault)
		if err := open("a/b"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// A server without parts is refused where the beginning is not enough.
	long := append([]byte("\xff\xff\x07\x00\x00\x00\x00\x00{"), bytes.Repeat([]byte(" "), 1<<19)...)
	h.Put(&fakehub.Repo{Name: "a/long", Files: map[string][]byte{"config.json": config,
		"model.safetensors": long}})
	h.Break(fakehub.For("files", "GET", weightsFile, 0, fakehub.Whole(0)))
	if err := open("a/long"); err == nil || !strings.Contains(err.Error(), "sends no parts") {
		t.Errorf("no parts: %v", err)
	}
	h.Break(nil)
	h.Put(&fakehub.Repo{Name: "a/adapter", Files: map[string][]byte{"adapter_config.json": nil,
		"adapter_model.bin": nil}})
	if err := open("a/adapter"); !errors.Is(err, hub.ErrNoWeights) {
		t.Errorf("an adapter: %v", err)
	}
	o.Offline = true
	if err := open("a/b"); !errors.Is(err, hub.ErrOffline) {
		t.Errorf("offline: %v", err)
	}
	h.Close()
	o.Offline, o.HeadTimeout = false, time.Second
	if err := open("a/b"); !errors.Is(err, hub.ErrUnreached) {
		t.Errorf("no hub: %v", err)
	}
}
