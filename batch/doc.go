// Package batch writes texts for many callers at once, as one continuous batch on one model.
//
// A [Batcher] takes requests from any number of goroutines. A request is one text, or several
// samples of one prompt; each text is a [decode.Stream], and token for token what [decode.Generate]
// gives with the same prompt and options. One goroutine makes steps while there are requests. A
// step is one Eval: the next token of each text that has a slot, and as much of the new prompts as
// fits into the time that others may wait for their next token ([Options].MaxDelay). A budget
// learns from the steps before how much that is.
//
// There are [Options].MaxStreams slots. Requests wait for one in a queue, in which the clients take
// turns. A text whose caller is slow to take its tokens loses its slot to others, as does one that
// came last when the cache is full; it continues when it has a slot again.
//
// Common beginnings of texts are evaluated once: a radix tree of tokens finds the session that has
// the most tokens in common with a prompt, among those of texts that are written and of some that
// have ended ([Options].PrefixBytes), and the new text forks it.
//
// A caller's own code, as in a context, a vocabulary or a constraint, can delay or end its own
// request only.
package batch
