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
