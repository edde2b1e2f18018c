package main

// The templates that --template names.

import (
	"os"
	"strings"

	"picogpt/internal/chattemplate"
	"picogpt/tokenizer"
)

// readChatTemplate returns the template that --template names, the plain one without it.
func readChatTemplate(name *string, t *tokenizer.Tokenizer) (*chattemplate.Template, error) {
	if name == nil {
		return chattemplate.New(chattemplate.Plain, t)
	}
	source, err := chatTemplateSource(*name)
	if err != nil {
		return nil, err
	}
	made, err := chattemplate.New(source, t)
	if err != nil {
		return nil, usagef("--template %s: %w", *name, err)
	}
	return made, nil
}

// chatTemplateSource returns what --template names.
func chatTemplateSource(name string) (string, error) {
	switch name {
	case "":
		return "", usagef("--template: want dialogpt or a file, found nothing")
	case "dialogpt":
		return chattemplate.DialoGPT, nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", hinted{fileError(name, err), "--template takes dialogpt or a file"}
	}
	return withoutMark(strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")), nil
}
