package openapi

// Documents: paths with what they read and answer.

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// An Operation is what a server does for the method of a path, which has one {parameter} at most.
type Operation struct {
	Path, Method string
	Body         Schema            // of the request; nil: it has none
	Answers      map[string]Schema // by their types of content
	Errors       []int             // the statuses of errors
	Open         bool              // it needs no key
}

// A Document says what there is to say of a server.
type Document struct {
	Title, Version, Description string

	Keys       []string // the schemes of HTTP by which a key is shown; none: there are no keys
	Error      Schema   // of errors
	Types      Types
	Operations []Operation
}

type object = map[string]any

// noWord reports whether a character stands in no name.
func noWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// JSON returns the document.
func (d *Document) JSON() []byte {
	failures, schemes, security := object{}, object{}, []object{}
	for _, scheme := range d.Keys {
		schemes[scheme] = object{"type": "http", "scheme": scheme}
		security = append(security, object{scheme: []string{}})
	}
	paths := object{}
	for _, o := range d.Operations {
		answers := object{}
		for kind, s := range o.Answers {
			answers[kind] = object{"schema": s}
		}
		responses := object{"200": object{"description": http.StatusText(200), "content": answers}}
		for _, status := range o.Errors {
			code := strconv.Itoa(status)
			responses[code] = object{"$ref": "#/components/responses/" + code}
			failures[code] = object{"description": http.StatusText(status), "content": inJSON(d.Error)}
		}
		method := strings.ToLower(o.Method)
		one := object{"responses": responses,
			"operationId": method + "_" + strings.Join(strings.FieldsFunc(o.Path, noWord), "_")}
		if o.Body != nil {
			one["requestBody"] = object{"required": true, "content": inJSON(o.Body)}
		}
		if o.Open {
			one["security"] = []object{}
		}
		if _, after, ok := strings.Cut(o.Path, "{"); ok {
			name, _, _ := strings.Cut(after, "}")
			one["parameters"] = []object{{"name": name, "in": "path", "required": true,
				"schema": String()}}
		}
		paths[o.Path] = object{method: one}
	}
	b, err := json.Marshal(object{"openapi": "3.1.0", "paths": paths, "security": security,
		"info":    object{"title": d.Title, "version": d.Version, "description": d.Description},
		"servers": []object{{"url": "."}}, "components": object{"schemas": d.Types.Named,
			"responses": failures, "securitySchemes": schemes}})
	if err != nil { // maps of strings and numbers always have JSON
		panic(err)
	}
	return b
}

func inJSON(s Schema) object { return object{"application/json": object{"schema": s}} }
