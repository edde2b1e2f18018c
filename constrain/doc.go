// Package constrain makes text match a form: one of some strings, a regular expression, a JSON
// Schema, a grammar, or parts of these with free text between them. It works on bytes and ids, without
// a model. Before each token a [Matcher] returns the ids of a vocabulary that may come next, a sampler
// draws one of those, and the matcher accepts it:
//
//	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{50256}})
//	c, err := constrain.JSONSchema(v, schema, constrain.SchemaOptions{})
//	text, err := c.Start()
//	mask := make([]uint64, v.Words())
//	for !ended {
//		err := text.Mask(mask)
//		id := draw(logits, mask)
//		err = text.Accept(id)
//	}
//
// # Types, in the order of reading
//
//   - [Vocabulary]: the bytes of a model's ids, arranged once for all constraints (forms.go).
//   - [Compiler]: compiles forms for a vocabulary, under a context and in counted steps;
//     [JSONSchema], [Regex], [Grammar] and [Choice] do without. [SchemaOptions] decide what a
//     schema leaves open.
//   - [Part]: a text that is made of several forms, with tags in free text ([Tags]); [Compose]
//     compiles it (parts.go). [StructuralTag] reads it from JSON (structural.go).
//   - [Constraint]: a compiled form, which any number of texts may use (constraint.go).
//   - [Text]: the state of one text: its masks, and what must follow. It is a [Matcher], which is
//     what package decode asks for.
//   - [Text.Within]: texts that end within a number of ids (within.go).
//   - [NotOpenError], [WorkError]: an id that does not fit, a form that takes too much work.
//   - [For] and [SchemaFor]: the JSON of a Go type (typed.go), by its fields and their tags
//     (typedfields.go).
//
// # What is open
//
// An id is open if, after its bytes, some text of the form can still follow. An id that ends a text
// is open if the text so far has the form. So a text that follows the masks can always be
// completed, and is valid when it ends. Tokens may end in the middle of a character: the automata
// read bytes, and their states include the incomplete character.
//
// # Texts that end in time
//
// With [Text.Within] a mask also shuts the ids after which no end is known that fits the number of
// ids left. Each state has a shortest end in bytes: of a grammar, rule by rule (by Knuth's version of
// Dijkstra's algorithm); of JSON, the least value of each kind, by the least fixed point, and what the
// open containers still need; strings and numbers find theirs by a search. Its tokens are counted
// piece by piece, so that the number may be too large, never too small. Where that leaves no id, the
// end of the text is spelled out with the fewest ids, and its next id is open. While more is left
// than any id could make necessary, nothing is computed. A mask of a machine is stored with the
// numbers of ids left for which it is the same, and what may come in a string of JSON by the ids that
// close it.
//
// No end is known of numbers whose divisor has more than 1000 remainders, of strings that need more
// than 4096 characters, of arrays whose items must differ and are of any type, counted, or arrays of
// such, and where the search takes long; nor of texts that no id without bytes ends. Then Within does
// nothing. The work for a mask is bounded too: ids that it does not reach are shut.
//
// # How it works
//
// [Vocabulary] arranges the ids once as a trie, which all constraints share: nodes in the order of
// a depth-first walk, each with the size of its subtree. A mask is one walk over it with the
// automaton. A byte that cannot follow skips its subtree, so that a mask of few ids takes
// microseconds. Results of long walks are stored: ids that may come anywhere in a string are sets,
// by their number of characters, so that the walk inside a string visits only the others.
//
//   - internal/grammar: [Regex], [Choice] and [Grammar] are compiled to a network of nodes over
//     characters. A machine makes the states of its automaton, sets of positions in the network,
//     when a text first reaches them, and stores masks with them (form.go). The positions of a
//     grammar have sets of stacks, which share their parts. So the cost of a regex depends on what
//     its texts visit: (a+)+b compiles at once; and s ::= "a" s s | "a" s | "a", whose texts can be
//     read in 2^n ways, takes the same steps for each letter. Rules that begin with themselves are
//     rewritten (left.go).
//     Free text until one of some triggers is a network too, of Aho's and Corasick's automaton. Where
//     a rule or a part reads JSON, the state of a text has that form's own state, byte by byte: its
//     mask is the form's mask, and from each node of the trie that ends it the walk goes on in the
//     rules (inner.go). A text may be at 64 such places at once; those that differ only in what
//     follows the form are one, and equal schemas are one form.
//   - internal/schema: [JSONSchema] compiles schemas to values (value.go): what may come, by type.
//     Combinations become alternatives (alternative.go), values that cannot exist are found and
//     left out, and the state of a text is a stack of open objects and arrays with the part that is
//     being read (form.go). Strings read patterns as one complete automaton (pattern.go); numbers
//     compare their digits with bounds (number.go). Characters, items and properties are counted
//     beside the automata, so maxLength 100000 costs nothing. Masks of strings and numbers do not
//     depend on what is around them, and are stored (lexmask.go).
//   - What both need is below them: sets of characters, networks, machines and tables, and the work
//     of compiling, counted (internal/automaton), and the trie (internal/trie).
//
// # JSON Schema
//
// Drafts 3, 4, 6, 7, 2019-09 and 2020-12, as $schema says; without it, or with an unknown one,
// 2020-12. A schema in the text may have a $schema of its own. A keyword is followed where its
// draft knows it: type, enum, const, properties, required, additionalProperties, patternProperties,
// propertyNames, minProperties, maxProperties, dependentRequired, dependentSchemas, items,
// prefixItems, minItems, maxItems, uniqueItems, contains, minContains, maxContains,
// unevaluatedItems, unevaluatedProperties, minLength, maxLength, pattern (anywhere in the string;
// ECMA-262's syntax as far as RE2 has it, and lookaheads), format, minimum, maximum,
// exclusiveMinimum, exclusiveMaximum, multipleOf, allOf, anyOf, oneOf, not, if, then, else, $ref,
// $dynamicRef, $recursiveRef, $defs, definitions, $id and $anchor within the schema; of older
// drafts, extends, disallow, divisibleBy, required true, exclusiveMinimum true, and id; and in
// them, and without $schema, items as an array, additionalItems and dependencies. Until draft 7,
// what stands beside $ref is ignored. What is ignored though another draft, another place or
// [SchemaOptions].OpenAPI would follow it is in [Constraint.Notes]. Unknown keywords are ignored,
// and what is in them is no schema.
//
// Under not and if, and in branches of oneOf that can hold together, uniqueItems,
// unevaluatedItems and unevaluatedProperties have no negation and are errors; 4 of items and
// contains, and 4 of additionalProperties, patternProperties and propertyNames, may hold together
// there. Branches of oneOf are 100 at most unless a required property tells them apart. Counts of
// contains times those of minItems are 65536 at most. Where uniqueItems stands with minItems, so
// many items must be known to differ: strings of any length, whole numbers, objects with one.
//
// Formats of strings are those of the draft, OpenAPI's byte, and those of zod: base64, base64url,
// jwt (three parts of base64url), cidrv4, cidrv6, e164, guid, cuid, cuid2, ulid, nanoid, xid,
// ksuid. Email addresses have a domain with a point, and no escapes in quotes; hosts have no
// punycode; idn-email and idn-hostname have labels of few letters, of some scripts; a scheme of a
// URI is followed by something; regexes are what ECMA-262, RE2 and Python read alike, with groups
// three deep, no lookaheads and no names. Formats of numbers are bounds: int8 to int64, uint8 to
// uint64, float, double. Any other format restricts nothing, as the draft says; [Constraint.Notes]
// has it, and [SchemaOptions].Strict refuses it.
//
// Every text is valid. Every valid instance can be written as one of these texts: no white space
// (or as [SchemaOptions] say), each name of an object once, the names of
// properties in their order and then others in any order (with AnyOrder, all in any order), whole
// numbers in digits, other numbers as encoding/json writes them (under multipleOf without
// exponents, and with no more digits after the point than the divisor), and only the escapes of ",
// \ and control characters in strings. If several schemas name properties (allOf, if, $ref beside
// properties), their names come in any order. Strings without a pattern or a format may have other
// escapes too. Leap seconds are written with offsets of whole or half hours, and numbers are within
// the range of float64. Of these instances, some are left out so that no program can read a text as
// invalid, and no text is led where it cannot end: numbers that must not be whole, or no multiples,
// have 9 digits before the point and 6 after it at most (or 15 in whole numbers), and numbers of
// uniqueItems 15 digits; items of uniqueItems that are objects or arrays begin only where a string
// of any length, a new name, more items or a new scalar can still make them differ.
//
// # Limits
//
// A regex may have 64 KiB and 131072 nodes, a grammar 1 MiB and as many nodes (n rules that begin
// with one another count n times), a schema 4 MiB, 2048 combinations of alternatives and 20000
// kinds of values; a pattern of a schema 10000 states. The work of compiling is counted in steps of
// some nanoseconds: 32 million, and 64 for each byte. A form that exceeds a bound is refused with
// one line when it is compiled, on every machine alike. [Compiler] compiles under a context, and
// lets other work run. More than 63 schemas that may begin at one place are refused too. Where schemas
// are parts of a text and have begun in more than 64 ways, as after free text with many brackets, 64 of
// them are followed: the others are as if they had not begun. Mask or Accept returns an error for a
// text that one form could read in very many ways (4096 for schemas, 8192 positions for regexes and grammars), or whose mask would visit
// more than a million such positions (fewer in rules that call one another), or 33 million nodes
// for a schema. Texts store at most 4096 states and 512 masks of a machine, and 8 MiB of masks of a
// schema.
package constrain
