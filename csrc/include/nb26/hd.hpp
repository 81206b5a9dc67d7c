// Function qualifiers: one spelling for code that runs on the host and on the device.
#pragma once

#ifdef __CUDACC__
#define NB26_HD __host__ __device__ __forceinline__
#else
// always_inline, so that a body takes the instruction set of the wrapper that calls it
#define NB26_HD inline __attribute__((always_inline))
#endif
