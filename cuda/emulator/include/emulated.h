/* What CUDA has and a host compiler lacks: enough for this library's kernels and for those of candle's that its tensors need.
   A launch runs block after block and thread after thread. With EMULATED_FIBERS each thread of a block has a stack of its own, so
   that it can wait for the others. */
#ifndef EMULATED_H
#define EMULATED_H

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>
#ifdef EMULATED_FIBERS
#include <ucontext.h>
#endif

#define __CUDA_ARCH__ 520
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __device__
#define __host__
#define __constant__
/* A launch runs on the thread that asks for it, and others may launch the same kernel meanwhile. */
#define __shared__ static thread_local
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

struct dim3 {
  unsigned x, y, z;
};
struct float2 {
  float x, y;
};
struct float4 {
  float x, y, z, w;
};
static thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

using std::isinf;
using std::isnan;
using std::max;
using std::min;
using std::signbit;

/* Numbers of half precision and less are not computed with; candle's kernels name them. */
template <int> struct Small {
  float __x;
  Small(float x = 0) : __x(x) {}
  operator float() const { return __x; }
};
typedef Small<0> __half;
typedef Small<1> __nv_bfloat16;
typedef Small<2> __nv_fp8_e4m3;
enum { __NV_E4M3 };
static inline unsigned short __half_as_ushort(__half x) { return (unsigned short)x.__x; }
static inline __half __ushort_as_half(unsigned short x) { return x; }
static inline float __half2float(__half x) { return x; }
static inline float __bfloat162float(__nv_bfloat16 x) { return x; }
static inline __half __nv_cvt_fp8_to_halfraw(float x, int) { return x; }
static inline __half __hmax_nan(__half x, __half y) { return x > y ? x : y; }
static inline __half __hmin_nan(__half x, __half y) { return x < y ? x : y; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

static inline long long __double_as_longlong(double x) { long long y; memcpy(&y, &x, 8); return y; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline unsigned __float_as_uint(float x) { unsigned y; memcpy(&y, &x, 4); return y; }
static inline float __uint_as_float(unsigned x) { float y; memcpy(&y, &x, 4); return y; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678f); }
static inline double normcdf(double x) { return 0.5 * erfc(-x * 0.7071067811865476); }
static inline float __frcp_rn(float x) { return 1 / x; }
static inline unsigned atomicAdd(unsigned *to, unsigned x) { const unsigned old = *to; *to += x; return old; }
static inline float atomicAdd(float *to, float x) { const float old = *to; *to += x; return old; }
template <class T, class U, class V>
static inline T atomicCAS(T *to, U expected, V x) { const T old = *to; if (old == (T)expected) *to = (T)x; return old; }
template <class T, class U> static inline T atomicMin(T *to, U y) { const T x = (T)y; const T old = *to; *to = min(old, x); return old; }
template <class T, class U> static inline T atomicMax(T *to, U y) { const T x = (T)y; const T old = *to; *to = max(old, x); return old; }
template <class T> static inline T __ldg(const T *from) { return *from; }

#ifdef EMULATED_FIBERS
namespace emulated {
enum State { Ready, InBlock, InWarp, Done };
struct Fiber {
  ucontext_t context;
  State state;
  std::vector<char> stack;
};
static thread_local std::vector<Fiber> fibers;
static thread_local ucontext_t scheduler;
static thread_local unsigned current;
static thread_local char exchanged[1024][16];
static inline void wait(State state) {
  fibers[current].state = state;
  swapcontext(&fibers[current].context, &scheduler);
}
template <class T> static inline T shuffle(T x, unsigned from) {
  memcpy(exchanged[current], &x, sizeof x);
  wait(InWarp);
  memcpy(&x, exchanged[current / 32 * 32 + from % 32], sizeof x);
  wait(InWarp);
  return x;
}
}
static inline void __syncthreads() { emulated::wait(emulated::InBlock); }
static inline void __syncwarp(unsigned = ~0u) { emulated::wait(emulated::InWarp); }
template <class T> static inline T __shfl_xor_sync(unsigned, T x, int mask, int = 32) {
  return emulated::shuffle(x, emulated::current ^ (unsigned)mask);
}
template <class T> static inline T __shfl_down_sync(unsigned, T x, unsigned by, int = 32) {
  return emulated::shuffle(x, emulated::current % 32 + by < 32 ? emulated::current + by : emulated::current);
}
#else
/* Threads that run one after the other cannot wait. */
static inline void __syncthreads() { abort(); }
#endif

namespace emulated {
typedef void (*Launcher)(void **);

template <class... A, size_t... I> static void call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
  kernel(*(typename std::decay<A>::type *)arguments[I]...);
}
template <class... A> static void call(void (*kernel)(A...), void **arguments) {
  call(kernel, arguments, std::index_sequence_for<A...>());
}

#ifdef EMULATED_FIBERS
static thread_local Launcher launcher;
static thread_local void **arguments;
static void start() {
  launcher(arguments);
  wait(Done);
}
static void block(Launcher f, void **p) {
  launcher = f;
  arguments = p;
  const unsigned n = blockDim.x * blockDim.y * blockDim.z;
  if (fibers.size() < n) fibers.resize(n);
  for (unsigned i = 0; i < n; ++i) {
    Fiber &fiber = fibers[i];
    fiber.stack.resize(64 << 10);
    fiber.state = Ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.data();
    fiber.context.uc_stack.ss_size = fiber.stack.size();
    fiber.context.uc_link = 0;
    makecontext(&fiber.context, start, 0);
  }
  for (bool runs = true; runs;) {
    runs = false;
    for (unsigned i = 0; i < n; ++i) {
      if (fibers[i].state != Ready) continue;
      runs = true;
      current = i;
      threadIdx = {i % blockDim.x, i / blockDim.x % blockDim.y, i / (blockDim.x * blockDim.y)};
      swapcontext(&scheduler, &fibers[i].context);
    }
    /* Who waits for a warp or for the block goes on once all that are not done wait for the same. */
    const auto release = [&](unsigned first, unsigned last, State state) {
      unsigned waiting = 0, others = 0;
      for (unsigned i = first; i < last; ++i) (fibers[i].state == state ? waiting : others) += fibers[i].state != Done;
      if (!waiting || others) return;
      for (unsigned i = first; i < last; ++i)
        if (fibers[i].state == state) fibers[i].state = Ready;
      runs = true;
    };
    for (unsigned first = 0; first < n; first += 32) release(first, std::min(first + 32, n), InWarp);
    release(0, n, InBlock);
  }
}
#else
static void block(Launcher launcher, void **arguments) {
  for (threadIdx.z = 0; threadIdx.z < blockDim.z; ++threadIdx.z)
    for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y)
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x) launcher(arguments);
}
#endif
}

extern "C" void emulated_run(emulated::Launcher launcher, void **arguments, const unsigned grid[3], const unsigned threads[3]) {
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {threads[0], threads[1], threads[2]};
  for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) emulated::block(launcher, arguments);
}

#endif
