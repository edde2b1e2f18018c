package main

// --session: what the model has read, kept in a file from one run to the next.

import (
	"context"
	"errors"
	"fmt"
	"os"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/talk"
	"picogpt/decode"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/model"
)

// A sessionFlag is the file of a session, and what a text has done to the session.
type sessionFlag struct {
	Session  *string
	ReadOnly bool

	file  *talk.SessionFile // nil: none
	begun bool              // a token came
	last  decode.Token      // the last that came
	held  int               // tokens of the prompt that the file had
}

func (s *sessionFlag) flags(f *cli.Flags) {
	f.Add(&s.Session, "--session FILE", `continue what FILE holds: the tokens that it and the prompt
		begin with in common are not computed again; afterwards FILE holds prompt and text`)
	f.Add(&s.ReadOnly, "--session-read-only", "leave the file of --session as it is")
}

// check refuses what --session does not go with, and what can be no session's file.
func (s *sessionFlag) check(a *app, c *generateCommand) error {
	switch {
	case s.Session == nil && s.ReadOnly:
		return usagef("--session-read-only: want --session with it")
	case s.Session == nil:
		return nil
	case c.Many.Prompts != nil:
		return usagef("--session and --prompts: want one of them")
	case c.Search.asked() != "":
		return usagef("--session and %s: want one of them", c.Search.asked())
	case c.Samples > 1:
		return usagef("--session and --samples %d: want one text", c.Samples)
	}
	if err := a.Edits.refuse("--session"); err != nil {
		return err
	}
	s.file = a.sessionFile(*s.Session, c.Many.Target.Force)
	s.file.ReadOnly = s.ReadOnly
	return sessionError(s.file.Check())
}

// sessionFile returns the file that --session names.
func (a *app) sessionFile(path string, force bool) *talk.SessionFile {
	return &talk.SessionFile{Path: path, Force: force, Writing: a.writing(force, outfile.Session)}
}

// sessionError is an error about the file that --session names.
func sessionError(err error) error { return outfile.FlagError("--session", err) }

// open returns a session that holds what the file and the prompt have in common, and the rest of
// the prompt. Without --session it is empty.
func (s *sessionFlag) open(a *app, m *model.Model, prompt []int) (*model.Session, []int, error) {
	if s.file == nil {
		return m.NewSession(), prompt, nil
	}
	end := a.ShowProgress(func() string { return "reading " + s.file.Path })
	held, says, problem, err := s.file.Restore(context.Background(), m)
	end()
	if err == nil && says != nil && len(says.Note) > 0 && !s.ReadOnly && !s.file.Force {
		err = fault.Hint(fmt.Errorf("%s: a conversation of gpt chat, which would be lost",
			s.file.Path),
			"--session-read-only begins with it and leaves it as it is, --force replaces it")
	}
	if err != nil {
		return nil, nil, sessionError(err)
	}
	if problem != "" {
		a.Notef("%s", talk.Anew(problem, held))
	}
	s.held = held.Matches(prompt)
	a.logf("%s: %d of %s of the prompt", s.file.Path, s.held, quote.Count(len(prompt), "token"))
	held.Truncate(s.held)
	return held, prompt[s.held:], nil
}

// save writes the session of a text that has begun, also if it was stopped. The last token of a
// text that ended by its length is a part of it, and not evaluated yet.
func (s *sessionFlag) save(a *app, held *model.Session) error {
	if s.file == nil || s.ReadOnly || !s.begun {
		return nil
	}
	defer a.ShowProgress(func() string { return "writing " + s.file.Path })()
	ctx, m := context.Background(), held.Model()
	if s.last.Finish == decode.FinishLength && held.Len() < m.Config().Positions {
		err := m.Eval(ctx, model.Input{Session: held, Tokens: []int{s.last.ID}, NoLogits: true})
		if err != nil {
			return model.Cause(err)
		}
	}
	return sessionError(s.file.Save(ctx, held, nil))
}

// inspectSession shows a file that keeps a session, if it is one. The error says how it is damaged.
func (a *app) inspectSession(name string, json bool) (is bool, err error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	in, err := a.files.Open(name, "")
	if err != nil {
		return false, nil
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return false, nil
	}
	file, err := model.ReadSnapshot(in, info.Size())
	if errors.Is(err, model.ErrNoSnapshot) {
		return false, nil
	}
	if err == nil {
		damage := file.Check()
		shown := show.SessionOf(file, info.Size())
		err = fault.First(a.print(json, shown, string(shown.Text())), damage)
	}
	if err != nil {
		err = fmt.Errorf("%s: snapshot: %w", name, err)
	}
	return true, err
}
