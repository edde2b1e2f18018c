package main

// Files that a command writes: what they may overwrite, and what they never do.

import (
	"errors"
	"io/fs"
	"os"

	"picogpt/checkpoint"
	"picogpt/internal/folder"
	"picogpt/internal/outfile"
)

// writing returns the rules for an output file of this command. inputs are the files that it reads,
// "-" for stdin; the checkpoint's files count too.
func (a *app) writing(force bool, inputs ...string) outfile.Options {
	o := outfile.Options{Force: force, Temps: &a.temps}
	for _, name := range inputs {
		info, err := a.stdin.Stat()
		if name != "-" {
			info, err = os.Stat(name)
		}
		if err == nil { // else reading it reports the error
			o.Inputs = append(o.Inputs, info)
		}
	}
	if a.Model != nil {
		if path, err := a.modelPath(); err == nil { // else opening it reports the error
			o.Inputs = append(o.Inputs, checkpointFiles(path)...)
		}
	}
	return o
}

// checkpointFiles lists the files of the checkpoint at path, the weights' and those beside them.
func checkpointFiles(path string) (files []fs.FileInfo) {
	dir, name, err := folder.Split(path)
	if err != nil {
		return nil // opening the checkpoint reports it
	}
	list, _ := fs.ReadDir(dir, ".")
	for _, e := range list {
		ours := e.Name() == name || checkpoint.Part(e.Name(), name)
		if info, err := fs.Stat(dir, e.Name()); ours && err == nil {
			files = append(files, info)
		}
	}
	return files
}

// outputError is an error of package outfile about the file that a flag names.
func outputError(flag string, err error) error {
	switch {
	case errors.Is(err, outfile.ErrInput):
		return usagef("%s %w", flag, err)
	case errors.Is(err, outfile.ErrNoName):
		return usagef("%s: %w", flag, err)
	case errors.Is(err, outfile.ErrExists):
		return hinted{err, "--force writes over it"}
	}
	return err
}
