package engine

// Arithmetic is the version of the order of operations that kernels/doc.go and this package's
// callers define. It is raised whenever a bit of any result changes: of logits, or of the text of a
// seed. Package dev/digest holds it to recorded bits.
const Arithmetic = 1
