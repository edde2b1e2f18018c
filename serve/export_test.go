package serve

// What tests look at from outside.

// AppendLogProb is how a log-probability is written.
var AppendLogProb = appendLogProb
