#include "textflag.h"

// func prefetch(ps *places, n int, headers bool)
TEXT ·prefetch(SB), NOSPLIT, $0-17
	MOVQ    ps+0(FP), AX
	MOVQ    n+8(FP), CX
	MOVBLZX headers+16(FP), DX
	TESTQ   CX, CX
	JLE     done
	SHLQ    $4, CX
	ADDQ    AX, CX
	TESTL   DX, DX
	JNE     both

slots:
	MOVQ       (AX), BX
	PREFETCHT0 (BX)
	ADDQ       $16, AX
	CMPQ       AX, CX
	JB         slots
	RET

both:
	MOVQ       (AX), BX
	MOVQ       8(AX), SI
	PREFETCHT0 (BX)
	PREFETCHT0 (SI)
	ADDQ       $16, AX
	CMPQ       AX, CX
	JB         both

done:
	RET
