// Package decode writes text: the loop around a model's session, what ends a text, and what it may
// not contain.
//
// [Generate] continues one session and streams its tokens; [Samples] draws several continuations of
// one prompt, a few at a time in one Eval. Package [picogpt/batch] does both for many callers at
// once. [Echo] scores the prompt too. Package search chooses a token by more than the logits before
// it, and package guess proposes drafts.
//
// All of them drive [Stream], the state machine that says what to evaluate and takes the logits:
// sampling, stop strings, overflow and log-probabilities are there and nowhere else. It is exported
// for loops of your own.
//
// How a token is chosen from logits is package [picogpt/sample]: [Options] embeds its Params. What is
// here can go back: a token that would complete a string of Options.Ban is taken back, and another one
// is drawn with the random number of the same position.
//
// Sample i of [Samples] uses Seed+i and is the text that Seed+i gives alone, on every machine.
package decode

// The files, in an order to read them:
//
//	stream.go      a text in the making: what to evaluate next, and the token that follows
//	timeline.go    the session under it, and how it goes back
//	context.go     what fits the context, and what is dropped
//	choose.go      the choice of a token, with package sample
//	steer.go       choices that the caller makes; package search
//	drive.go       what a driver of many streams needs; package batch
//	evaluated.go   what is evaluated, for other texts that begin alike; package batch
//	generate.go    Generate and Samples: the loops
//	draft.go       guessed tokens, with package guess
//	guidance.go    another context, away from which the text goes
//	echo.go        prompts that are scored
//	spell.go       the text of the tokens, and how it ends
//	stop.go        text that is held back while a stop string may begin in it
//	bans.go        banned strings, from which the text goes back
//	finder.go      strings found as bytes come, for both
//	constraint.go  forms that the text follows, and masks of what may come next
//	heal.go        prompts that end inside a word
//	options.go     what a caller can ask for; table.go as an option's flag, field and check
