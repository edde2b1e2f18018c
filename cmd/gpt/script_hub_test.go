package main

// The script command hub: a Hugging Face hub on this machine, with faults.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"picogpt/dev/fakehub"
)

// hubCommand is the script command hub:
//
//	hub start                   a hub, at $HF_ENDPOINT; the cache is in $HF_HOME
//	hub put REPO DIR [KEY=V]... a repository of the files in a folder: gated=1, token=T, ref=R;
//	                            $COMMIT is its commit
//	hub move OLD NEW            OLD is called NEW by now
//	hub break FAULT FILE TIMES  requests for the bytes of a file fail: cut, 403, 429, 503, other, more
//	hub mend                    nothing fails
//	hub log FILE                writes the requests since the last time
//	hub stop                    the hub is out of reach
func hubCommand(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "start" {
		startHub(ts)
		return
	}
	h := ts.Value(hubKey{}).(**fakehub.Hub)
	switch args[0] {
	case "put":
		repo := hubRepo(ts, args[1], args[2], args[3:])
		ts.Setenv("COMMIT", repo.Commit())
		(*h).Put(repo)
	case "move":
		(*h).Put(&fakehub.Repo{Name: args[1], MovedTo: args[2]})
	case "break":
		(*h).Break(hubFault(ts, args[1], args[2], args[3]))
	case "mend":
		(*h).Break(nil)
	case "log":
		var b strings.Builder
		for _, r := range (*h).Requests() {
			fmt.Fprintf(&b, "%s %s %s %s %s\n", r.Host, r.Method, r.Path, r.Range, r.Authorization)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o666))
	case "stop":
		(*h).Close()
	default:
		ts.Fatalf("hub: unknown command %s", args[0])
	}
}

type hubKey struct{}

func startHub(ts *testscript.TestScript) {
	h := fakehub.New()
	*ts.Value(hubKey{}).(**fakehub.Hub) = h
	ts.Defer(h.Close)
	ts.Setenv("HF_ENDPOINT", h.URL)
	ts.Setenv("HF_HOME", ts.MkAbs("hf"))
}

func hubRepo(ts *testscript.TestScript, name, dir string, options []string) *fakehub.Repo {
	repo := &fakehub.Repo{Name: name, Files: map[string][]byte{}}
	ts.Check(filepath.WalkDir(ts.MkAbs(dir), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		file, err := filepath.Rel(ts.MkAbs(dir), path)
		ts.Check(err)
		repo.Files[filepath.ToSlash(file)], err = os.ReadFile(path)
		return err
	}))
	for _, option := range options {
		switch key, value, _ := strings.Cut(option, "="); key {
		case "gated":
			repo.Gated = true
		case "denied":
			repo.Denied = value
		case "token":
			repo.Token = value
		case "ref":
			repo.Refs, repo.OnlyRef = append(repo.Refs, value), true
		default:
			ts.Fatalf("hub put: unknown option %s", option)
		}
	}
	return repo
}

func hubFault(ts *testscript.TestScript, kind, file, times string) fakehub.Fault {
	f := map[string]fakehub.Fault{
		"cut": fakehub.Cut(2000), "429": fakehub.Status(429, "Retry-After", "0"),
		"503": fakehub.Status(503), "403": fakehub.Status(403), "other": fakehub.Other, "more": fakehub.More,
		"hours": fakehub.Status(429, "Retry-After", "7200"), "hang": fakehub.Hang(2000),
	}[kind]
	n := 0
	if _, err := fmt.Sscan(times, &n); err != nil || f == nil {
		ts.Fatalf("hub break: %s %s", kind, times)
	}
	return fakehub.All(fakehub.For("files", "GET", "/"+file, n, f),
		fakehub.For("hub", "GET", "/"+file, n, f))
}
