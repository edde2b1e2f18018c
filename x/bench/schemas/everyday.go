package main

// Schemas as programs emit them: how many are followed, whether their instances are taken, and
// texts for another judge.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"picogpt/constrain"
)

// everyday runs the lines of a file that everyday/emit.mjs and everyday/emit.py wrote. To a second
// file it writes what walks wrote, for everyday/judge.cjs.
func (r *run) everyday(file, written string) error {
	if err := r.vocabulary(); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	out, err := os.Create(written)
	if err != nil {
		return err
	}
	defer out.Close()
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var s struct {
			Name   string
			Schema json.RawMessage
			Valid  []json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return err
		}
		r.schemas++
		from := processorTime()
		c, err := constrain.JSONSchema(r.vocab, s.Schema, constrain.SchemaOptions{})
		if err != nil {
			r.refused[err.Error()]++
			if r.verbose {
				fmt.Printf("refused %s: %v\n", s.Name, err)
			}
			continue
		}
		took := processorTime() - from
		if r.compiles = append(r.compiles, took); r.verbose && took.Milliseconds() > 5 {
			fmt.Printf("slow %v: %s\n", took, s.Name)
		}
		for _, v := range s.Valid {
			text, err := canonical(s.Schema, v)
			if err != nil {
				return err
			}
			if r.accepts(c, text) {
				r.accepted++
			} else {
				r.fail("%s: %s is not taken", s.Name, text)
			}
		}
		texts := []json.RawMessage{}
		for i := range r.walks {
			if text, ok := r.write(c, uint64(i), s.Name); ok {
				r.finished++
				texts = append(texts, json.RawMessage(text))
			}
		}
		line, err := json.Marshal(map[string]any{"name": s.Name, "schema": s.Schema, "texts": texts})
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		out.Write(append(line, '\n'))
	}
	return lines.Err()
}
