package schema

// Bounds of schemas. All are counts, so that every machine gives the same result.

// Bounds on the result of compiling.
const (
	maxSpace        = 64
	maxSchemaBytes  = 4 << 20
	maxPointer      = 1 << 14 // bytes of the JSON pointer to a part of a schema
	maxDepth        = 20000   // of schemas within schemas and behind $ref
	maxAlternatives = 2048    // combinations of alternatives
	maxValues       = 20000   // kinds of values
	maxBranches     = 100     // of oneOf, without a tag
	maxPairs        = maxBranches * (maxBranches - 1) / 2
	maxFew          = 1000 // values of the items of an array with uniqueItems
	maxNotes        = 20
	maxScale        = 17  // digits after the point of a divisor
	maxPoint        = 400 // digits before the point of numbers of JSON: float64 ends at 309
)

// Bounds on the matching of a text.
const (
	maxVisits    = 1 << 25 // nodes of tries that are visited for one mask of a schema
	maxParts     = 1024    // ways to read one text of JSON
	maxReachable = 1 << 12 // results of the arithmetic of one divisor that are stored
	maxLexBytes  = 8 << 20 // of masks that a schema or a vocabulary stores
)
