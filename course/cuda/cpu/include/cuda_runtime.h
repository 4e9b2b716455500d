// CUDA's runtime API and device language for g++: what a .cu text needs to run without a GPU.
// See README.md beside this file for what is faithful to a GPU and what is not.
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <type_traits>

#define __CUDACC__ 1
#define __CUDA_ON_CPU__ 1
#define CUDART_VERSION 13000

#define __host__
#define __device__
#define __global__ __attribute__((noinline))
#define __constant__
#define __managed__
#define __forceinline__ inline __attribute__((always_inline))
// `__noinline__` is rewritten too: as a macro it would break `__attribute__((__noinline__))`.
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define CUDART_CB
// `__restrict__` is g++'s own. `__shared__`, launches and kernels are rewritten before this
// header is seen (course/cuda/rewrite.py); a `__shared__` that is left came out of a macro.

#include "types.h"

#include "errors.h"

#include "host_api.h"

#include "device.h"

#include "launch.h"
