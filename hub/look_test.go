package hub_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"picogpt/hub"
	"picogpt/internal/testing/fakehub"
	"picogpt/internal/testing/fixture"
	"picogpt/weights"
)

func TestLookReadsHeadersAlone(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{Embd: 240, Head: 3}) // 2 MB
	repo := &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"config.json": config,
		"model.safetensors": file}}
	h, o := start(t, repo)
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
		tensors, err := weights.FromReaders(r.Files...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := weights.FromBytes("", file)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Fetched(); got > 120_000 {
			t.Errorf("%s: %d bytes fetched of %d", name, got, len(file))
		}
		for i, x := range want.All() {
			if name != "nothing fails" && i > 3 {
				break
			}
			if same, err := x.Equal(tensors.All()[i]); !same || err != nil {
				t.Errorf("%s: %s: other bytes, %v", name, x.Name, err)
			}
		}
		if r.Commit != repo.Commit() || string(r.Config) != string(config) {
			t.Errorf("%s: commit %s, config %s", name, r.Commit, r.Config)
		}
		r.Close()
	}
	if got := tree(t, o.Cache); got != "" {
		t.Errorf("the cache holds\n%s", got)
	}
}

func TestLookRefuses(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	h, o := start(t, &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"config.json": config,
		"model.safetensors": file}})
	part := func(span string) fakehub.Fault {
		return fakehub.For("files", "GET", weightsFile, 0, fakehub.Status(http.StatusPartialContent,
			"Content-Range", span))
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
		r, err := hub.Look(t.Context(), name("a/b"), o)
		if err == nil {
			_, err = weights.FromReaders(r.Files...)
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	o.Offline = true
	if _, err := hub.Look(t.Context(), name("a/b"), o); !errors.Is(err, hub.ErrOffline) {
		t.Errorf("offline: %v", err)
	}
	h.Close()
	o.Offline, o.HeadTimeout = false, time.Second
	if _, err := hub.Look(t.Context(), name("a/b"), o); !errors.Is(err, hub.ErrUnreached) {
		t.Errorf("no hub: %v", err)
	}
}
