// The instructions of AMX that quantamx_amd64.s needs, as bytes, for Go's assembler has none. Each
// line ends in what an assembler calls it: TestTileInstructions holds the bytes against that.
//
// TMM0 and TMM1, or TMM2 and TMM3, are sums; TMM4 rows, TMM6 and TMM7 weights. A tile is 16 rows of
// 64 bytes, in memory SI or CX bytes apart.

#define TILECONFIG  LONG $0x4978e2c4; BYTE $0x00 // ldtilecfg (%rax)
#define TILERELEASE LONG $0x4978e2c4; BYTE $0xc0 // tilerelease

#define LOADROWS LONG $0x4b7be2c4; WORD $0x3024 // tileloadd (%rax,%rsi,1), %tmm4
#define LOADLOW  LONG $0x4b7be2c4; WORD $0x0b34 // tileloadd (%rbx,%rcx,1), %tmm6
#define LOADHIGH LONG $0x4b7be2c4; WORD $0x0bbc; LONG $1024 // tileloadd 1024(%rbx,%rcx,1), %tmm7

#define ZERO0 LONG $0x497be2c4; BYTE $0xc0 // tilezero %tmm0
#define ZERO1 LONG $0x497be2c4; BYTE $0xc8 // tilezero %tmm1
#define ZERO2 LONG $0x497be2c4; BYTE $0xd0 // tilezero %tmm2
#define ZERO3 LONG $0x497be2c4; BYTE $0xd8 // tilezero %tmm3

#define HIGH0 LONG $0x5e43e2c4; BYTE $0xc4 // tdpbssd %tmm7, %tmm4, %tmm0
#define LOW1  LONG $0x5e49e2c4; BYTE $0xcc // tdpbusd %tmm6, %tmm4, %tmm1
#define HIGH2 LONG $0x5e43e2c4; BYTE $0xd4 // tdpbssd %tmm7, %tmm4, %tmm2
#define LOW3  LONG $0x5e49e2c4; BYTE $0xdc // tdpbusd %tmm6, %tmm4, %tmm3

#define STORE0 LONG $0x4b7ae2c4; WORD $0x0f04 // tilestored %tmm0, (%rdi,%rcx,1)
#define STORE1 LONG $0x4b7ae2c4; WORD $0x0f8c; LONG $1024 // tilestored %tmm1, 1024(%rdi,%rcx,1)
#define STORE2 LONG $0x4b7ae2c4; WORD $0x0f94; LONG $2048 // tilestored %tmm2, 2048(%rdi,%rcx,1)
#define STORE3 LONG $0x4b7ae2c4; WORD $0x0f9c; LONG $3072 // tilestored %tmm3, 3072(%rdi,%rcx,1)
