package automaton

// Bounds of networks, machines and tables. All are counts, so that every machine gives the same
// result.

const (
	maxPattern     = 1 << 16 // bytes of a regex
	MaxNodes       = 1 << 17 // nodes of a network
	maxTable       = 1 << 18 // cells of a table
	maxTableStates = 10000

	// states of a machine that are stored; if there are more, all are dropped and made again
	maxStates = 4096
	maxMasks  = 512     // masks of a machine that are stored
	maxItems  = 8192    // positions in the network that one state may hold
	maxHeld   = 1 << 20 // positions of all stored states
	maxSeen   = 1 << 12 // positions for which a machine keeps memory
	MaxWork   = 1 << 20 // positions that may be visited for one mask
	// positions without a stack that are visited in the time of one that has a stack, or of making
	// a stack
	stackWork = 2
)
