package main

// The templates that --template names.

import (
	"strings"

	"picogpt/internal/chattemplate"
	"picogpt/internal/fault"
	"picogpt/tokenizer"
)

// readChatTemplate returns the template that --template names, the plain one without it.
func (a *app) readChatTemplate(
	name *string, t *tokenizer.Tokenizer,
) (*chattemplate.Template, error) {
	if name == nil {
		return chattemplate.New(chattemplate.Plain, t)
	}
	source, err := a.chatTemplateSource(*name)
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
func (a *app) chatTemplateSource(name string) (string, error) {
	switch name {
	case "":
		return "", usagef("--template: want dialogpt or a file, found nothing")
	case "dialogpt":
		return chattemplate.DialoGPT, nil
	}
	if name == "-" {
		return "", usagef("--template -: want dialogpt or a file")
	}
	text, err := a.files.Limited(name, "--template", chattemplate.Longest)
	if err != nil {
		return "", fault.Hint(err, "--template takes dialogpt or a file")
	}
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), nil
}
