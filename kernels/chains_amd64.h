// What several segments of inputs side by side share, in 256 and in 512 bits: one row of x, a row of
// w of each segment at a time. Where rows of w are short, this is what keeps memory busy: each
// segment is one stream, far from the others.
//
// Registers: DI the sums of segment 0, R12 within them; R11, R13, R14 = 1, 3, 5 rows of sums in
// bytes. BX the row of w of segment 0, AX within it; R8, R9, R10 = 1, 3, 5 segments of w in bytes.
// SI x, CX inputs left; DX columns left. XA–XF hold an element of x of each segment, 1024 bytes
// apart.
//
// The file that includes this defines XA–XF, STREAM, which continues 16 columns of one segment, and
// STREAM32, which continues 32 and fetches what lies further on in its stream: a line of the cache
// in 16 bits, two in 32. To ask for one line twice costs a tenth of the speed. Six streams ask the
// first cache. Three ask the second one (SECOND): AMD's first cache holds no more than that, since
// segments lie a multiple of 4 KiB apart.

#define FETCH16(at) PREFETCHT0 1536 at

#define FETCH32(at) \
	PREFETCHT0 2048 at         \
	PREFETCHT0 2112 at

#define SECOND16(at) PREFETCHT1 1024 at

#define SECOND32(at) \
	PREFETCHT1 1024 at         \
	PREFETCHT1 1088 at

#define SPREAD2 \
	VBROADCASTSS 0(SI), XA    \
	VBROADCASTSS 1024(SI), XB

#define SPREAD3 \
	SPREAD2                    \
	VBROADCASTSS 2048(SI), XC

#define SPREAD6 \
	SPREAD3                    \
	VBROADCASTSS 3072(SI), XD \
	VBROADCASTSS 4096(SI), XE \
	VBROADCASTSS 5120(SI), XF

// STREAMS2, STREAMS3 and STREAMS6 are a step of so many segments.
#define STREAMS2(STEP, WIDEN, FETCH, size) \
	STEP(WIDEN, FETCH, size, (AX), (R12), XA)                \
	STEP(WIDEN, FETCH, size, (AX)(R8*1), (R12)(R11*1), XB)

#define STREAMS3(STEP, WIDEN, FETCH, size) \
	STREAMS2(STEP, WIDEN, FETCH, size)                        \
	STEP(WIDEN, FETCH, size, (AX)(R8*2), (R12)(R11*2), XC)

#define STREAMS6(STEP, WIDEN, FETCH, size) \
	STREAMS3(STEP, WIDEN, FETCH, size)                        \
	STEP(WIDEN, FETCH, size, (AX)(R9*1), (R12)(R13*1), XD)   \
	STEP(WIDEN, FETCH, size, (AX)(R8*4), (R12)(R11*4), XE)   \
	STEP(WIDEN, FETCH, size, (AX)(R10*1), (R12)(R14*1), XF)

#define CHAINS(SPREAD, STREAMS, WIDEN, FETCH, size) \
	MOVQ y_base+0(FP), DI       \
	MOVQ ldy+24(FP), R11        \
	SHLQ $2, R11                \
	LEAQ (R11)(R11*2), R13      \
	LEAQ (R11)(R11*4), R14      \
	MOVQ x_base+32(FP), SI      \
	MOVQ w_base+56(FP), BX      \
	MOVQ ldw+80(FP), R15        \
	IMULQ $size, R15            \
	MOVQ R15, R8                \
	SHLQ $8, R8                 \
	LEAQ (R8)(R8*2), R9         \
	LEAQ (R8)(R8*4), R10        \
	MOVQ n+88(FP), CX           \
row:                            \
	SPREAD                      \
	MOVQ DI, R12                \
	MOVQ BX, AX                 \
	MOVQ cols+96(FP), DX        \
cols:                           \
	SUBQ $32, DX                \
	JLT  rest                   \
	STREAMS(STREAM32, WIDEN, FETCH, size) \
	ADDQ $128, R12              \
	ADDQ $(32*size), AX         \
	JMP  cols                   \
rest:                           \
	CMPQ DX, $-32               \
	JEQ  next                   \
	STREAMS(STREAM, WIDEN, FETCH, size) \
next:                           \
	ADDQ R15, BX                \
	ADDQ $4, SI                 \
	DECQ CX                     \
	JNE  row                    \
	VZEROUPPER                  \
	RET
