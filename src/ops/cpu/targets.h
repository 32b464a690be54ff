#pragma once

// Which kinds of vector unit the CPU kernels are compiled for, by Highway's names; to be included
// before any header of Highway. On x86: SSE4, AVX2 with FMA, AVX-512;
// the best one the processor has is chosen at run time. Finer kinds of AVX-512 would only cost
// compile time. Elsewhere: Highway's default.
#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#define HWY_DISABLED_TARGETS (HWY_AVX3 - 1)
#endif
