// Package constrain makes text fit a form: one of some strings, a regular expression, a JSON
// Schema, or a grammar. It knows bytes and ids, no models: before each token it says which ids of a
// vocabulary may come next, and the sampler draws among those.
package constrain
