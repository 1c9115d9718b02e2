// AVX-512 by SIMDe, where the processor has AVX2 only: .ci/avx512 compiles the kernels of that level with this before
// them. SIMDe takes over the names of types and intrinsics; what its version 0.7.4 has not, or has wrongly, is here.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

namespace broadphase::emulated {

inline simde__mmask32 none_in_common(simde__m512i a, simde__m512i b) { return ~simde_mm512_test_epi16_mask(a, b); }
inline simde__mmask32 below(simde__mmask32 mask, simde__m512i a, simde__m512i b) {
  return mask & ~simde_mm512_cmple_epi16_mask(b, a);
}
inline void store(simde__mmask32* to, simde__mmask32 mask) { *to = mask; }

}  // namespace broadphase::emulated

#define __m512 simde__m512
#define __m512d simde__m512d
#define __m512i simde__m512i

#undef _kand_mask16
#undef _mm512_mask_cmple_epi16_mask
#define _cvtmask8_u32(a) static_cast<std::uint32_t>(a)
#define _cvtmask16_u32(a) static_cast<std::uint32_t>(a)
#define _kand_mask8(a, b) static_cast<__mmask8>((a) & (b))
#define _kand_mask16(a, b) static_cast<__mmask16>((a) & (b))
#define _kortestz_mask32_u8(a, b) (((a) | (b)) == 0)
#define _store_mask32 broadphase::emulated::store
#define _mm512_mask_cmple_epi16_mask simde_mm512_mask_cmple_epi16_mask
#define _mm512_mask_cmplt_epi16_mask broadphase::emulated::below
#define _mm512_testn_epi16_mask broadphase::emulated::none_in_common
