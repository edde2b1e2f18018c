// The kernels of the forward pass, in the orders that the Go package kernels fixes
// (kernels/doc.go). This file names the parts; each is OpenCL C 1.2, and CUDA C by dialect.h.
//
//	rows.cl       embedding, layer norm, rows as integers
//	linear.cl     linear layers of one row on float weights; chains.cl of a few rows, and
//	              chainstile.cl of many
//	quant.cl      linear layers, and the head, on Q8 and Q4 weights; quanttile.cl of many rows
//	attention.cl  keys and values into the pages, and attention over them
//	last.cl       the rows of which the last block is computed
//	head.cl       the logits; best.cl what of them the host needs
//	exp.cl        exponential and activations; format.cl number formats
//	probe.cl      single operations, for the probe; bench.cl the device's limits
//
// Every sum is written as its definition says: fma where that says fma, and a product and a sum
// apart elsewhere, which a compiler must not contract. No kernel converts a float to half
// precision: compilers fuse that with what comes before.
//
// After a change: make ptx, which writes what the CUDA driver ships.

#include "dialect.h"
#include "exp.cl"
#include "format.cl"
#include "rows.cl"
#include "linear.cl"

#include "chains.cl"

// chainstile.cl for groups of 64 rows by 64 outputs, and of 128 by 128.
#define NAMED(of) chains_many_##of
#define DOWN 8
#define WIDE 4
#define DEEP 16
#include "chainstile.cl"
#undef NAMED
#undef DOWN
#undef WIDE
#undef DEEP
#define NAMED(of) chains_most_##of
#define DOWN 16
#define WIDE 8
#define DEEP 8
#include "chainstile.cl"

#include "last.cl"
#include "head.cl"
#include "best.cl"
#include "quant.cl"
#include "quanttile.cl"
#include "attention.cl"
#include "probe.cl"
#include "bench.cl"
