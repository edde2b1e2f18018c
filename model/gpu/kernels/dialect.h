// One source, two dialects: OpenCL C 1.2, and CUDA C without NVIDIA's headers.
#ifdef __OPENCL_C_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel
#define KERNEL_OF(items, groups) __kernel
// Always inlined: where all calls of a function give the same local array, the optimizer writes the
// array into it, and pocl 3.1 knows arrays of kernels only: its numbers are undefined, sums of them
// NaN.
#define FUNCTION static inline __attribute__((always_inline))
#define GLOBAL __global
#define LOCAL __local
#define SHARED __local
#define GROUP(d) ((int)get_group_id(d))
#define ITEM ((int)get_local_id(0))
#define ITEMS ((int)get_local_size(0))
#ifdef POCL_DEVICE_ADDRESS_BITS
// Where in a loop a branch directly follows a barrier, and the compiler has its condition from
// before the barrier, pocl 3.1 may put a barrier of its own into the branch: then one item's
// condition decides for all items. So something stands between barrier and branch.
#define FENCED(flags)                                                                              \
	do {                                                                                           \
		barrier(flags);                                                                            \
		__asm__ volatile("");                                                                      \
	} while (0)
#else
#define FENCED(flags) barrier(flags)
#endif
#define BARRIER FENCED(CLK_LOCAL_MEM_FENCE)
#define BARRIER_GLOBAL FENCED(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define HIDE(i)
#define BITS(f) as_uint(f)
#define FLOAT(u) as_float(u)
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define DOUBLES // the device has float64
#define BITS64(d) as_ulong(d)
#define DOUBLE(u) as_double(u)
#define FMA64(a, b, c) fma(a, b, c)
#endif
#else
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
typedef uint uint4 __attribute__((ext_vector_type(4)));
typedef float float2 __attribute__((ext_vector_type(2)));
typedef float float4 __attribute__((ext_vector_type(4)));
// KERNEL_OF is for kernels of so many items, so many groups of which a multiprocessor runs at a
// time: its 65,536 registers are to suffice.
#define KERNEL_OF(items, groups) extern "C" __attribute__((global, launch_bounds(items, groups)))
#define KERNEL extern "C" __attribute__((global, launch_bounds(256)))
#define FUNCTION static inline __attribute__((device, always_inline))
#define GLOBAL
#define LOCAL
#define SHARED static __attribute__((shared))
#define GROUP(d)                                                                                   \
	((int)((d) == 0   ? __nvvm_read_ptx_sreg_ctaid_x()                                             \
	       : (d) == 1 ? __nvvm_read_ptx_sreg_ctaid_y()                                             \
	                  : __nvvm_read_ptx_sreg_ctaid_z()))
#define ITEM ((int)__nvvm_read_ptx_sreg_tid_x())
#define ITEMS ((int)__nvvm_read_ptx_sreg_ntid_x())
#define BARRIER __syncthreads()
#define BARRIER_GLOBAL __syncthreads()
// HIDE hides from the compiler what an integer is. What is made of it is then made where it is
// used, and not before a loop around that, in registers that are taken all the time.
#define HIDE(i) __asm__ volatile("" : "+r"(i))
#define fma(a, b, c) __builtin_fmaf(a, b, c)
#define sqrt(a) __builtin_sqrtf(a)
FUNCTION uint BITS(float f) { return __builtin_bit_cast(uint, f); }
FUNCTION float FLOAT(uint u) { return __builtin_bit_cast(float, u); }
#define DOUBLES
#define FMA64(a, b, c) __builtin_fma(a, b, c)
FUNCTION ulong BITS64(double d) { return __builtin_bit_cast(ulong, d); }
FUNCTION double DOUBLE(ulong u) { return __builtin_bit_cast(double, u); }
#define WIDEN_HALF widen_half // one instruction, and exact
// As inline assembly: clang would put each load beside its conversion, where one load is under way
// at a time. It unrolls no loop that has some unless its length is constant: other loops have their
// steps written out, by EACH_16.
FUNCTION float widen_half(ushort h) {
	float f;
	__asm__("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
	return f;
}
extern "C" __attribute__((device)) void __syncthreads() __asm__("llvm.nvvm.barrier0");
#endif
#define ALIGNED __attribute__((aligned(16)))
#define UNROLL _Pragma("unroll")
#define UNROLL_4 _Pragma("unroll 4")
#define ROLLED _Pragma("nounroll")

// EACH_8 and EACH_16 write a macro for 0, 1, 2, …
#define EACH_8(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
#define EACH_16(M) EACH_8(M) M(8) M(9) M(10) M(11) M(12) M(13) M(14) M(15)

// dot_low returns sum + x₀·w₀ + x₁·w₁, where x is two int16s and w₀ and w₁ are the lower two int8s
// of w; for dot_high they are the upper two. bytes returns four of the eight bytes of a and b, a's
// first, each chosen by four bits of selector.
#ifdef __OPENCL_C_VERSION__
FUNCTION int dot_low(uint x, uint w, int sum) {
	return sum + (int)(short)x * (int)(char)w + (int)(short)(x >> 16) * (int)(char)(w >> 8);
}
FUNCTION int dot_high(uint x, uint w, int sum) { return dot_low(x, w >> 16, sum); }
FUNCTION uint bytes(uint a, uint b, uint selector) {
	ulong all = (ulong)b << 32 | a;
	uint v = 0;
	UNROLL for (int i = 0; i < 4; i++)
		v |= (uint)(all >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
	return v;
}
#else // a compiler unrolls loops with inline assembly only where their length is constant
FUNCTION int dot_low(uint x, uint w, int sum) {
	__asm__("dp2a.lo.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));
	return sum;
}
FUNCTION int dot_high(uint x, uint w, int sum) {
	__asm__("dp2a.hi.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(x), "r"(w));
	return sum;
}
FUNCTION uint bytes(uint a, uint b, uint selector) { return __nvvm_prmt(a, b, selector); }
#ifdef MATRICES // the device is sm_80 or later
// add_product adds the product of A [16, 32] and B [32, 8] to sum [16, 8], whose numbers are spread
// over the 32 items of a warp. A has int8s, or if is_signed is 0 uint8s; B has int8s. With g the
// quotient and t the rest of ITEM % 32 by 4, this item has of rows g and g + 8 of A and of column g
// of B the inputs 4·t to 4·t + 3, in a0, a1 and b[0], and 16 + 4·t to 19 + 4·t, in a2, a3 and b[1];
// and of rows g and g + 8 of the sum the columns 2·t and 2·t + 1. PTX ISA, Matrix Fragments for
// mma.m16n8k32.
FUNCTION void add_product(int *sum, uint a0, uint a1, uint a2, uint a3, const uint *b,
		int is_signed) {
#define MMA(type)                                                                                  \
	__asm__("mma.sync.aligned.m16n8k32.row.col.s32." type ".s8.s32 {%0, %1, %2, %3}, "             \
			"{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                        \
		: "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])                                   \
		: "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[0]), "r"(b[1]))
	if (is_signed) MMA("s8");
	else MMA("u8");
}
#endif
#endif
