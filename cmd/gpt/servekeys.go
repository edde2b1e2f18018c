package main

// The file of keys of gpt serve, which is read again when it changes.

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"picogpt/cmd/gpt/internal/listen"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/internal/fault"
	"picogpt/serve"
)

// readKeys reads --api-key-file. contents is what filewatch.Watch compares with.
func readKeys(name string) (keys []serve.Key, contents []string, err error) {
	if contents, err = listen.Read(name); err == nil {
		keys, err = parseKeys(contents[0])
	}
	if err != nil {
		return nil, nil, fault.Usagef("--api-key-file %w", textio.Error(quoteShort(name), err))
	}
	return keys, contents, nil
}

// parseKeys reads lines of a name and a key. What follows a # that begins a word is a comment.
func parseKeys(text string) (keys []serve.Key, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(strings.TrimPrefix(line, "\ufeff"))
		for i, word := range words {
			if strings.HasPrefix(word, "#") {
				words = words[:i]
				break
			}
		}
		switch len(words) {
		case 0:
		case 2:
			keys = append(keys, serve.Key{Name: words[0], Value: words[1]})
		default: // no word is shown: it may be a key
			return nil, fmt.Errorf("line %d: want a name and a key, found %d words", n, len(words))
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("want at least one name and key, found none")
	}
	return keys, nil
}

// watchKeys gives a server the keys of a file whenever that changes, until ctx is done. A file with
// a mistake changes nothing.
func watchKeys(
	ctx context.Context, name string, contents []string, s *serve.Server, log *slog.Logger,
) {
	listen.Watch(ctx, contents, func(contents []string, err error) {
		var keys []serve.Key
		if err == nil {
			if keys, err = parseKeys(contents[0]); err == nil {
				err = s.SetNamedKeys(keys)
			}
		}
		if err != nil {
			log.Error("keys are as before", "file", name, "error", err.Error())
			return
		}
		log.Info("keys were read again", "file", name, "keys", len(keys))
	}, name)
}
