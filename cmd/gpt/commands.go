package main

// The list of commands, and parsing.

import "picogpt/internal/cli"

// commands are the commands of gpt, in the order of its help.
func commands(a *app) *cli.Command {
	generate := newGenerate(a)
	root := &cli.Command{
		Name: "gpt", Short: "write text with GPT-2 models",
		Elsewhere: elsewhere(), Words: otherWords,
		Check:   func(*cli.Flags, []string) error { return a.validate() },
		Default: generate,
		Commands: []*cli.Command{
			generate, newChat(a), newServe(a), newVerify(a),
			newNext(a), newChoose(a), newTree(a), newLogits(a), newTrace(a), newSurprise(a),
			newLens(a), newAttention(a), newAttribute(a), newPatch(a), newSteer(a), newExplain(a), newTokenize(a),
			newPerplexity(a), newCompare(a), newScore(a), newEmbed(a), newClassify(a), newEval(a),
			newCheck(a), newBench(a),
			newCompress(a), newDecompress(a),
			newPull(a), newModels(a), newInspect(a), newQuantize(a), newConvert(a),
			newDevices(a), newVersion(a),
		},
	}
	root.Commands = append(root.Commands, newHelp(a, root), newCompletion(a, root))
	cli.New(root)
	explain(root)
	return root
}

// parse returns what a command line asks for.
func parse(a *app, args []string) (run func() error, err error) {
	line, err := cli.Parse(commands(a), args)
	if line != nil && line.Other[0] != "" && !line.Help {
		a.noteOther(line.Other[0], line.Other[1])
	}
	switch {
	case err != nil:
		return nil, err
	case line.Help:
		return func() error { return a.printPage(line.Command.Help) }, nil
	case line.Version:
		return func() error { return printVersion(a, false) }, nil
	}
	a.bareWord = line.Bare
	hasModel := line.Flags.Find("model") != nil
	return func() error {
		if hasModel {
			if err := a.offerPull(a.Model); err != nil {
				return err
			}
		}
		if len(a.Adapters) == 0 {
			return line.Run()
		}
		if err := a.settleModel(hasModel); err != nil {
			return err
		}
		return line.Run()
	}, nil
}
