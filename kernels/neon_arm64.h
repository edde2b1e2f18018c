// Vector instructions that Go's assembler lacks, and those that a macro must be able to give its registers to.
//
// Registers are plain numbers (F5 and V5 are both 5), in Go's order: the destination d last, n and m being the A64 operands.
// Four float32 lanes where nothing else is said.

#define FADD(m, n, d) WORD $(0x4e20d400 | (m)<<16 | (n)<<5 | (d))    // fadd d.4s, n.4s, m.4s
#define FSUB(m, n, d) WORD $(0x4ea0d400 | (m)<<16 | (n)<<5 | (d))    // fsub d.4s, n.4s, m.4s: n − m
#define FMUL(m, n, d) WORD $(0x6e20dc00 | (m)<<16 | (n)<<5 | (d))    // fmul d.4s, n.4s, m.4s
#define FDIV(m, n, d) WORD $(0x6e20fc00 | (m)<<16 | (n)<<5 | (d))    // fdiv d.4s, n.4s, m.4s: n / m
#define FMLA(m, n, d) WORD $(0x4e20cc00 | (m)<<16 | (n)<<5 | (d))    // fmla d.4s, n.4s, m.4s: d + n·m, fused
#define FMLS(m, n, d) WORD $(0x4ea0cc00 | (m)<<16 | (n)<<5 | (d))    // fmls d.4s, n.4s, m.4s: d − n·m, fused
#define FMIN(m, n, d) WORD $(0x4ea0f400 | (m)<<16 | (n)<<5 | (d))    // fmin d.4s, n.4s, m.4s: NaN if one is NaN
#define FMAX(m, n, d) WORD $(0x4e20f400 | (m)<<16 | (n)<<5 | (d))    // fmax d.4s, n.4s, m.4s: NaN if one is NaN
#define FMAXNM(m, n, d) WORD $(0x4e20c400 | (m)<<16 | (n)<<5 | (d))  // fmaxnm d.4s, n.4s, m.4s: the other if one is NaN
#define FMAXV(n, d) WORD $(0x6e30f800 | (n)<<5 | (d))                // fmaxv d(s), n.4s
#define FMAXNMV(n, d) WORD $(0x6e30c800 | (n)<<5 | (d))              // fmaxnmv d(s), n.4s
#define FRINTN(n, d) WORD $(0x4e218800 | (n)<<5 | (d))               // frintn d.4s, n.4s: to an integer, ties to even
#define FNEG(n, d) WORD $(0x6ea0f800 | (n)<<5 | (d))                 // fneg d.4s, n.4s
#define FABS(n, d) WORD $(0x4ea0f800 | (n)<<5 | (d))                 // fabs d.4s, n.4s
#define FADDP(m, n, d) WORD $(0x6e20d400 | (m)<<16 | (n)<<5 | (d))   // faddp d.4s, n.4s, m.4s: n0+n1, n2+n3, m0+m1, m2+m3

// FMLAE is fmla d.4s, n.4s, m.s[e]: d + n·m[e], fused.
#define FMLAE(e, m, n, d) WORD $(0x4f801000 | ((e)&1)<<21 | ((e)>>1)<<11 | (m)<<16 | (n)<<5 | (d))

// Masks: all ones in the lanes where it holds, never where one is NaN.
#define FCMGT(m, n, d) WORD $(0x6ea0e400 | (m)<<16 | (n)<<5 | (d))   // fcmgt d.4s, n.4s, m.4s: n > m
#define FCMGE(m, n, d) WORD $(0x6e20e400 | (m)<<16 | (n)<<5 | (d))   // fcmge d.4s, n.4s, m.4s: n ≥ m
#define FCMLT0(n, d) WORD $(0x4ea0e800 | (n)<<5 | (d))               // fcmlt d.4s, n.4s, #0.0
#define CLEAR(m, n, d) WORD $(0x4e601c00 | (m)<<16 | (n)<<5 | (d))   // bic d.16b, n.16b, m.16b: n where m is 0
#define BIT(m, n, d) WORD $(0x6ea01c00 | (m)<<16 | (n)<<5 | (d))     // bit d.16b, n.16b, m.16b: n where m is 1, else d
#define BIF(m, n, d) WORD $(0x6ee01c00 | (m)<<16 | (n)<<5 | (d))     // bif d.16b, n.16b, m.16b: n where m is 0, else d

#define IADD(m, n, d) WORD $(0x4ea08400 | (m)<<16 | (n)<<5 | (d))    // add d.4s, n.4s, m.4s
#define SHL23(n, d) WORD $(0x4f375400 | (n)<<5 | (d))                // shl d.4s, n.4s, #23

#define MOV(n, d) WORD $(0x4ea01c00 | (n)<<16 | (n)<<5 | (d))        // mov d.16b, n.16b
#define ZERO(d) WORD $(0x4f000400 | (d))                             // movi d.4s, #0
#define LOW1(n, d) WORD $(0x6e040400 | (n)<<5 | (d))                 // mov d.s[0], n.s[0]
#define LOW2(n, d) WORD $(0x6e080400 | (n)<<5 | (d))                 // mov d.d[0], n.d[0]
#define SWAP(n, d) WORD $(0x6e004000 | (n)<<16 | (n)<<5 | (d))       // ext d.16b, n.16b, n.16b, #8: the halves change places

// 16 bits to float32, from the lower and the upper four.
#define FCVTL(n, d) WORD $(0x0e217800 | (n)<<5 | (d))                // fcvtl d.4s, n.4h
#define FCVTL2(n, d) WORD $(0x4e217800 | (n)<<5 | (d))               // fcvtl2 d.4s, n.8h
#define SHLL(n, d) WORD $(0x2e613800 | (n)<<5 | (d))                 // shll d.4s, n.4h, #16
#define SHLL2(n, d) WORD $(0x6e613800 | (n)<<5 | (d))                // shll2 d.4s, n.8h, #16

// float32 to 16 bits, rounded to nearest even, to the lower and the upper four.
#define FCVTN(n, d) WORD $(0x0e216800 | (n)<<5 | (d))                // fcvtn d.4h, n.4s
#define FCVTN2(n, d) WORD $(0x4e216800 | (n)<<5 | (d))               // fcvtn2 d.8h, n.4s

// Two float64 lanes.
#define WIDE(n, d) WORD $(0x0e617800 | (n)<<5 | (d))                 // fcvtl d.2d, n.2s
#define WIDE2(n, d) WORD $(0x4e617800 | (n)<<5 | (d))                // fcvtl2 d.2d, n.4s
#define DADD(m, n, d) WORD $(0x4e60d400 | (m)<<16 | (n)<<5 | (d))    // fadd d.2d, n.2d, m.2d
#define DSUB(m, n, d) WORD $(0x4ee0d400 | (m)<<16 | (n)<<5 | (d))    // fsub d.2d, n.2d, m.2d
#define DDIV(m, n, d) WORD $(0x6e60fc00 | (m)<<16 | (n)<<5 | (d))    // fdiv d.2d, n.2d, m.2d: n / m
#define DMUL(m, n, d) WORD $(0x6e60dc00 | (m)<<16 | (n)<<5 | (d))    // fmul d.2d, n.2d, m.2d
#define DMLA(m, n, d) WORD $(0x4e60cc00 | (m)<<16 | (n)<<5 | (d))    // fmla d.2d, n.2d, m.2d
#define DMLS(m, n, d) WORD $(0x4ee0cc00 | (m)<<16 | (n)<<5 | (d))    // fmls d.2d, n.2d, m.2d
#define DADDP(m, n, d) WORD $(0x6e60d400 | (m)<<16 | (n)<<5 | (d))   // faddp d.2d, n.2d, m.2d: n0+n1, m0+m1
#define DCMGT(m, n, d) WORD $(0x6ee0e400 | (m)<<16 | (n)<<5 | (d))   // fcmgt d.2d, n.2d, m.2d: n > m
#define DCMEQ(m, n, d) WORD $(0x4e60e400 | (m)<<16 | (n)<<5 | (d))   // fcmeq d.2d, n.2d, m.2d: n = m
#define DIADD(m, n, d) WORD $(0x4ee08400 | (m)<<16 | (n)<<5 | (d))   // add d.2d, n.2d, m.2d
#define DSHL52(n, d) WORD $(0x4f745400 | (n)<<5 | (d))               // shl d.2d, n.2d, #52

// Integers.

// SMLAL and SMLAL2 multiply the lower and the upper four int16 of n by one of m (m < 16): d + n·m[e] in int32.
#define SMLAL(e, m, n, d) WORD $(0x0f402000 | ((e)&1)<<20 | ((e)>>1&1)<<21 | ((e)>>2)<<11 | (m)<<16 | (n)<<5 | (d))  // smlal d.4s, n.4h, m.h[e]
#define SMLAL2(e, m, n, d) WORD $(0x4f402000 | ((e)&1)<<20 | ((e)>>1&1)<<21 | ((e)>>2)<<11 | (m)<<16 | (n)<<5 | (d)) // smlal2 d.4s, n.8h, m.h[e]
#define HSHL8(n, d) WORD $(0x4f185400 | (n)<<5 | (d))                // shl d.8h, n.8h, #8
#define HSSHR8(n, d) WORD $(0x4f180400 | (n)<<5 | (d))               // sshr d.8h, n.8h, #8
#define HUSHR(s, n, d) WORD $(0x6f000400 | (32-(s))<<16 | (n)<<5 | (d)) // ushr d.8h, n.8h, #s
#define HUZP1(m, n, d) WORD $(0x4e401800 | (m)<<16 | (n)<<5 | (d))   // uzp1 d.8h, n.8h, m.8h: the even ones
#define HUZP2(m, n, d) WORD $(0x4e405800 | (m)<<16 | (n)<<5 | (d))   // uzp2 d.8h, n.8h, m.8h: the odd ones
#define AND(m, n, d) WORD $(0x4e201c00 | (m)<<16 | (n)<<5 | (d))     // and d.16b, n.16b, m.16b
#define FIFTEEN(d) WORD $(0x4f0085e0 | (d))                          // movi d.8h, #15
#define UMAX(m, n, d) WORD $(0x6ea06400 | (m)<<16 | (n)<<5 | (d))    // umax d.4s, n.4s, m.4s
#define UMAXV(n, d) WORD $(0x6eb0a800 | (n)<<5 | (d))                // umaxv d(s), n.4s
#define ADDV(n, d) WORD $(0x4eb1b800 | (n)<<5 | (d))                 // addv d(s), n.4s
#define SCVTF(n, d) WORD $(0x4e21d800 | (n)<<5 | (d))                // scvtf d.4s, n.4s: int32 to float32
#define FCVTNS(n, d) WORD $(0x4e21a800 | (n)<<5 | (d))               // fcvtns d.4s, n.4s: to the nearest int32, ties to even
#define SQXTN(n, d) WORD $(0x0e614800 | (n)<<5 | (d))                // sqxtn d.4h, n.4s
#define SQXTN2(n, d) WORD $(0x4e614800 | (n)<<5 | (d))               // sqxtn2 d.8h, n.4s
