/* Operations on registers of numbers, one for each world: _D of DOUBLES numbers of double precision. With SINGLE also _S of twice
   as many of single precision, and _W of as many of double precision. A mask has a flag for each world. */
#include <math.h>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifdef __FAST_MATH__
#error "This code counts on the rounding that IEEE 754 asks for: compile without -ffast-math."
#endif
#define STAGE __attribute__((noinline, visibility("hidden"))) void
#define TABLE static const
#define INLINE static inline __attribute__((always_inline))
#define WORLDS (SINGLE ? 2 * DOUBLES : DOUBLES)

#if defined(__AVX512F__) && defined(__AVX512DQ__) && DOUBLES == 8

typedef __m512d d_t;
#define SPLAT_D(x) _mm512_set1_pd(x)
#define NEG_D(a) (-(a))
#define FMA_D _mm512_fmadd_pd
#define SQRT_D _mm512_sqrt_pd
#define ABS_D _mm512_abs_pd
#define MIN_D _mm512_min_pd
#define MAX_D _mm512_max_pd
#if SINGLE
typedef __m512 s_t;
typedef __mmask16 m_t;
#define SPLAT_S(x) _mm512_set1_ps(x)
#define NEG_S(a) (-(a))
#define FMA_S _mm512_fmadd_ps
#define SQRT_S _mm512_sqrt_ps
#define ABS_S _mm512_abs_ps
#define MIN_S _mm512_min_ps
#define MAX_S _mm512_max_ps
#define LT_S(a, b) _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)
#define SELECT_S(m, a, b) _mm512_mask_blend_ps(m, b, a)
#define LT_HALVES(a, b) ((m_t)(_mm512_cmp_pd_mask((a).low, (b).low, _CMP_LT_OQ) | _mm512_cmp_pd_mask((a).high, (b).high, _CMP_LT_OQ) << 8))
#define SELECT_LOW(m, a, b) _mm512_mask_blend_pd((__mmask8)(m), b, a)
#define SELECT_HIGH(m, a, b) _mm512_mask_blend_pd((__mmask8)((m) >> 8), b, a)
#define LOW(x) _mm512_cvtps_pd(_mm512_castps512_ps256(x))
#define HIGH(x) _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1))
#define JOINED(low, high) _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1)
#else
typedef __mmask8 m_t;
#define LT_D(a, b) _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ)
#define SELECT_D(m, a, b) _mm512_mask_blend_pd(m, b, a)
#endif
#define NONE ((m_t)0)
#define ALL ((m_t)~NONE)
#define AND(a, b) ((m_t)((a) & (b)))
#define OR(a, b) ((m_t)((a) | (b)))
#define NOT(a) ((m_t)~(a))
#define MERGE(m, a, b) OR(AND(m, a), AND(NOT(m), b))
#define ANY(a) ((a) != 0)

#elif defined(__AVX2__) && defined(__FMA__) && DOUBLES == 4

typedef __m256d d_t;
typedef __m256i m_t;
#define SPLAT_D(x) _mm256_set1_pd(x)
#define NEG_D(a) (-(a))
#define FMA_D _mm256_fmadd_pd
#define SQRT_D _mm256_sqrt_pd
#define ABS_D(a) _mm256_andnot_pd(_mm256_set1_pd(-0.0), a)
#define MIN_D _mm256_min_pd
#define MAX_D _mm256_max_pd
#if SINGLE
typedef __m256 s_t;
#define SPLAT_S(x) _mm256_set1_ps(x)
#define NEG_S(a) (-(a))
#define FMA_S _mm256_fmadd_ps
#define SQRT_S _mm256_sqrt_ps
#define ABS_S(a) _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a)
#define MIN_S _mm256_min_ps
#define MAX_S _mm256_max_ps
#define LT_S(a, b) _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ))
#define SELECT_S(m, a, b) _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m))
#define LT_HALF(a, b) _mm256_castpd_ps(_mm256_cmp_pd(a, b, _CMP_LT_OQ))
/* Every second word of both, in their order. */
#define LT_HALVES(a, b) _mm256_permute4x64_epi64(_mm256_castps_si256(_mm256_shuffle_ps( \
  LT_HALF((a).low, (b).low), LT_HALF((a).high, (b).high), 0x88)), 0xd8)
#define HALF(m, k) _mm256_castsi256_pd(_mm256_cvtepi32_epi64(_mm256_extracti128_si256(m, k)))
#define SELECT_LOW(m, a, b) _mm256_blendv_pd(b, a, HALF(m, 0))
#define SELECT_HIGH(m, a, b) _mm256_blendv_pd(b, a, HALF(m, 1))
#define LOW(x) _mm256_cvtps_pd(_mm256_castps256_ps128(x))
#define HIGH(x) _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))
#define JOINED(low, high) _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low))
#else
#define LT_D(a, b) _mm256_castpd_si256(_mm256_cmp_pd(a, b, _CMP_LT_OQ))
#define SELECT_D(m, a, b) _mm256_blendv_pd(b, a, _mm256_castsi256_pd(m))
#endif
#define NONE _mm256_setzero_si256()
#define ALL _mm256_set1_epi64x(-1)
#define AND(a, b) _mm256_and_si256(a, b)
#define OR(a, b) _mm256_or_si256(a, b)
#define NOT(a) _mm256_xor_si256(a, ALL)
#define MERGE(m, a, b) _mm256_blendv_epi8(b, a, m)
#define ANY(a) (!_mm256_testz_si256(a, a))

#else /* Any processor: the compiler finds the instructions. */

typedef double d_t __attribute__((vector_size(8 * DOUBLES)));
#define NUMBERS(T, N, body) ({ T r_; for (int i_ = 0; i_ < (N); ++i_) r_[i_] = (body); r_; })
#if SINGLE
typedef float s_t __attribute__((vector_size(8 * DOUBLES)));
typedef int m_t __attribute__((vector_size(8 * DOUBLES)));
typedef long long half_t __attribute__((vector_size(8 * DOUBLES)));
INLINE s_t NEG_S(s_t a) { return (s_t)((m_t)a ^ ~0x7fffffff); }
#define SPLAT_S(x) ((s_t){0} + (float)(x))
INLINE s_t FMA_S(s_t a, s_t b, s_t c) { return NUMBERS(s_t, WORLDS, __builtin_fmaf(a[i_], b[i_], c[i_])); }
INLINE s_t SQRT_S(s_t a) { return NUMBERS(s_t, WORLDS, __builtin_sqrtf(a[i_])); }
INLINE s_t ABS_S(s_t a) { return (s_t)((m_t)a & 0x7fffffff); }
INLINE m_t LT_S(s_t a, s_t b) { return a < b; }
INLINE s_t SELECT_S(m_t m, s_t a, s_t b) { return (s_t)((m & (m_t)a) | (~m & (m_t)b)); }
#define MIN_S(a, b) SELECT_S(LT_S(a, b), a, b)
#define MAX_S(a, b) SELECT_S(LT_S(b, a), a, b)
INLINE d_t SELECT_HALF(half_t m, d_t a, d_t b) { return (d_t)((m & (half_t)a) | (~m & (half_t)b)); }
#define HALF(m, from) NUMBERS(half_t, DOUBLES, (m)[(from) + i_])
#define SELECT_LOW(m, a, b) SELECT_HALF(HALF(m, 0), a, b)
#define SELECT_HIGH(m, a, b) SELECT_HALF(HALF(m, DOUBLES), a, b)
#define LT_HALVES(a, b) NUMBERS(m_t, WORLDS, i_ < DOUBLES ? -((a).low[i_ % DOUBLES] < (b).low[i_ % DOUBLES]) : -((a).high[i_ % DOUBLES] < (b).high[i_ % DOUBLES]))
#define LOW(x) NUMBERS(d_t, DOUBLES, (double)(x)[i_])
#define HIGH(x) NUMBERS(d_t, DOUBLES, (double)(x)[DOUBLES + i_])
#define JOINED(low, high) NUMBERS(s_t, WORLDS, (float)(i_ < DOUBLES ? (low)[i_ % DOUBLES] : (high)[i_ % DOUBLES]))
#else
typedef long long m_t __attribute__((vector_size(8 * DOUBLES)));
INLINE m_t LT_D(d_t a, d_t b) { return a < b; }
INLINE d_t SELECT_D(m_t m, d_t a, d_t b) { return (d_t)((m & (m_t)a) | (~m & (m_t)b)); }
#endif
typedef long long bits_t __attribute__((vector_size(8 * DOUBLES)));
/* See `negated`. */
INLINE d_t NEG_D(d_t a) { return (d_t)((bits_t)a ^ ~0x7fffffffffffffffll); }
#define SPLAT_D(x) ((d_t){0} + (x))
INLINE d_t FMA_D(d_t a, d_t b, d_t c) { return NUMBERS(d_t, DOUBLES, __builtin_fma(a[i_], b[i_], c[i_])); }
INLINE d_t SQRT_D(d_t a) { return NUMBERS(d_t, DOUBLES, __builtin_sqrt(a[i_])); }
INLINE d_t ABS_D(d_t a) { return NUMBERS(d_t, DOUBLES, __builtin_fabs(a[i_])); }
#define MIN_D(a, b) NUMBERS(d_t, DOUBLES, (a)[i_] < (b)[i_] ? (a)[i_] : (b)[i_])
#define MAX_D(a, b) NUMBERS(d_t, DOUBLES, (a)[i_] > (b)[i_] ? (a)[i_] : (b)[i_])
#define NONE ((m_t){0})
#define ALL (~NONE)
#define AND(a, b) ((a) & (b))
#define OR(a, b) ((a) | (b))
#define NOT(a) (~(a))
#define MERGE(m, a, b) OR(AND(m, a), AND(NOT(m), b))
INLINE int ANY(m_t a) { int any = 0; for (int i = 0; i < WORLDS; ++i) any |= a[i] != 0; return any; }

#endif

#define ADD_D(a, b) ((a) + (b))
#define SUB_D(a, b) ((a) - (b))
#define MUL_D(a, b) ((a) * (b))
#define DIV_D(a, b) ((a) / (b))
/* Number by number, in the mathematical library. */
#define LIBRARY(name, T, N, number, function) \
  static __attribute__((noinline)) T name(T x) \
  { \
    union { T all; number of[N]; } u = {x}; \
    for (int i = 0; i < (N); ++i) u.of[i] = function(u.of[i]); \
    return u.all; \
  }
#define LIBRARY_2(name, T, N, number, function) \
  static __attribute__((noinline)) T name(T y, T x) \
  { \
    union { T all; number of[N]; } u = {y}, v = {x}; \
    for (int i = 0; i < (N); ++i) u.of[i] = function(u.of[i], v.of[i]); \
    return u.all; \
  }
LIBRARY(SIN_D, d_t, DOUBLES, double, sin)
LIBRARY(COS_D, d_t, DOUBLES, double, cos)
LIBRARY(LN_D, d_t, DOUBLES, double, log)
LIBRARY_2(ATAN2_D, d_t, DOUBLES, double, atan2)
#if SINGLE
typedef struct { d_t low, high; } w_t;
#define ADD_S(a, b) ((a) + (b))
#define SUB_S(a, b) ((a) - (b))
#define MUL_S(a, b) ((a) * (b))
#define DIV_S(a, b) ((a) / (b))
LIBRARY(SIN_S, s_t, 2 * DOUBLES, float, sinf)
LIBRARY(COS_S, s_t, 2 * DOUBLES, float, cosf)
LIBRARY(LN_S, s_t, 2 * DOUBLES, float, logf)
LIBRARY_2(ATAN2_S, s_t, 2 * DOUBLES, float, atan2f)
#define WIDE_1(op) INLINE w_t op##_W(w_t a) { w_t r = {op##_D(a.low), op##_D(a.high)}; return r; }
#define WIDE_2(op) INLINE w_t op##_W(w_t a, w_t b) { w_t r = {op##_D(a.low, b.low), op##_D(a.high, b.high)}; return r; }
WIDE_1(NEG) WIDE_1(SQRT) WIDE_1(ABS) WIDE_1(SIN) WIDE_1(COS) WIDE_1(LN)
WIDE_2(ADD) WIDE_2(SUB) WIDE_2(MUL) WIDE_2(DIV) WIDE_2(MIN) WIDE_2(MAX) WIDE_2(ATAN2)
INLINE w_t FMA_W(w_t a, w_t b, w_t c) { w_t r = {FMA_D(a.low, b.low, c.low), FMA_D(a.high, b.high, c.high)}; return r; }
INLINE w_t SPLAT_W(double x) { w_t r = {SPLAT_D(x), SPLAT_D(x)}; return r; }
INLINE m_t LT_W(w_t a, w_t b) { return LT_HALVES(a, b); }
INLINE w_t SELECT_W(m_t m, w_t a, w_t b) { w_t r = {SELECT_LOW(m, a.low, b.low), SELECT_HIGH(m, a.high, b.high)}; return r; }
INLINE w_t WIDEN(s_t a) { w_t r = {LOW(a), HIGH(a)}; return r; }
INLINE s_t NARROW(w_t a) { return JOINED(a.low, a.high); }
#endif
