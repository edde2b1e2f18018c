// Package decode writes text: the loop around a model's session, the conditions that end a text,
// and the strings that it may not contain.
//
// [Generate] continues one session and streams its tokens; [Samples] draws several continuations of
// one prompt, a few at a time in one Eval. Package [picogpt/batch] does both for many callers at
// once. [Echo] scores the prompt too. Package search chooses tokens by more than the logits before
// them, and package guess proposes drafts.
//
// All of them drive [Stream], the state machine that returns what to evaluate and takes the logits.
// Sampling, stop strings, overflow and log-probabilities are there and nowhere else. It is exported
// for programs that have a loop of their own.
//
// Package [picogpt/sample] chooses a token from logits: [Options] embeds its Params. A stream can
// also go back: it takes back a token that would complete a string of Options.Ban, and draws
// another one with the random number of the same position.
//
// Its types, in the order to read them:
//
//   - [Stream] is a text in the making; [Options] say how it is written and when it ends.
//   - [Token] is a piece of it, [PromptTokens] the scores of its prompt, as [Echo] asks for them.
//   - [Overflow] says what happens where the context is full.
//   - [Matcher] is a form: which ids may come next; [Vocabulary] says which ids there are.
//   - [Healing] takes back the last tokens of a prompt, so that a text may go on inside one.
//   - [Pending] counts what a stream evaluates before its next token; [Evaluated] is the part of a
//     text that is evaluated.
//   - [ConstraintError] and [NegativeError] say what of the options went wrong.
//
// Sample i of [Samples] uses Seed+i, and is the text that Generate gives with Seed+i, on every
// machine.
package decode

// The files, in an order to read them:
//
//	stream.go      a text in progress: what to evaluate next, and the token that follows
//	timeline.go    the session of a stream, and how it goes back
//	context.go     what fits the context, and what is dropped
//	choose.go      the choice of a token, with package sample
//	steer.go       choices that the caller makes, for package search
//	drive.go       what a driver of many streams needs, for package batch
//	evaluated.go   sharing evaluated tokens with texts that begin alike, for package batch
//	generate.go    Generate and Samples: the loops
//	draft.go       guessed tokens, with package guess
//	guidance.go    the second context of guidance
//	echo.go        prompts that are scored
//	spell.go       the text of the tokens, and how it ends
//	stop.go        text that is held back while a stop string may begin in it
//	bans.go        banned strings, for which the text goes back
//	finder.go      finds strings as bytes arrive, for both
//	constraint.go  constraints on the new tokens, and their masks
//	heal.go        prompts that end inside a word
//	options.go     the options; table.go lists them as flags, fields and checks
