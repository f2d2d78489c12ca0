/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_CFI_BYTES_H
#define SILT_UNWIND_CFI_BYTES_H

/* A cursor over bytes that are trusted in nothing. Reading past the end gives 0 and sets `bad`;
 * callers look at `bad` once, when they have read what they need. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cfi_bytes {
        const uint8_t *at, *end;
        bool bad;
};

static inline uint64_t cfi_bytes_left(const struct cfi_bytes *b) {
        return (uint64_t)(b->end - b->at);
}

static inline void cfi_bytes_spoil(struct cfi_bytes *b) {
        b->bad = true;
        b->at = b->end;
}

static inline void cfi_bytes_skip(struct cfi_bytes *b, uint64_t n_bytes) {
        if (n_bytes > cfi_bytes_left(b))
                cfi_bytes_spoil(b);
        else
                b->at += n_bytes;
}

#define CFI_BYTES_READ(type, name)                                                                 \
        static inline type cfi_bytes_##name(struct cfi_bytes *b) {                                 \
                type value;                                                                        \
                                                                                                   \
                if (cfi_bytes_left(b) < sizeof(value)) {                                           \
                        cfi_bytes_spoil(b);                                                        \
                        return 0;                                                                  \
                }                                                                                  \
                __builtin_memcpy(&value, b->at, sizeof(value));                                    \
                b->at += sizeof(value);                                                            \
                return value;                                                                      \
        }

CFI_BYTES_READ(uint8_t, u8)
CFI_BYTES_READ(uint16_t, u16)
CFI_BYTES_READ(uint32_t, u32)
CFI_BYTES_READ(uint64_t, u64)

/* Bits beyond 64 are dropped, as libgcc drops them. */
static inline uint64_t cfi_bytes_uleb(struct cfi_bytes *b) {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;

        do {
                byte = cfi_bytes_u8(b);
                if (shift < 64)
                        value |= (uint64_t)(byte & 0x7f) << shift;
                shift += 7;
        } while (byte & 0x80);
        return value;
}

static inline int64_t cfi_bytes_sleb(struct cfi_bytes *b) {
        uint64_t value = 0;
        unsigned shift = 0;
        uint8_t byte;

        do {
                byte = cfi_bytes_u8(b);
                if (shift < 64)
                        value |= (uint64_t)(byte & 0x7f) << shift;
                shift += 7;
        } while (byte & 0x80);
        if (shift < 64 && (byte & 0x40))
                value |= ~(uint64_t)0 << shift;
        return (int64_t)value;
}

/* DW_EH_PE_*: how pointers are written. */
enum {
        CFI_ENC_ABSPTR = 0x00,
        CFI_ENC_ULEB128 = 0x01,
        CFI_ENC_UDATA2 = 0x02,
        CFI_ENC_UDATA4 = 0x03,
        CFI_ENC_UDATA8 = 0x04,
        CFI_ENC_SLEB128 = 0x09,
        CFI_ENC_SDATA2 = 0x0a,
        CFI_ENC_SDATA4 = 0x0b,
        CFI_ENC_SDATA8 = 0x0c,
        CFI_ENC_FORMAT = 0x0f,
        CFI_ENC_PCREL = 0x10,
        CFI_ENC_DATAREL = 0x30,
        CFI_ENC_ALIGNED = 0x50,
        CFI_ENC_RELATION = 0x70,
        CFI_ENC_INDIRECT = 0x80,
        CFI_ENC_OMIT = 0xff,
};

/* The number as written, before it is related to anything. */
static inline uint64_t cfi_bytes_number(struct cfi_bytes *b, uint8_t enc) {
        switch (enc & CFI_ENC_FORMAT) {
        case CFI_ENC_ABSPTR:
        case CFI_ENC_UDATA8:
        case CFI_ENC_SDATA8: return cfi_bytes_u64(b);
        case CFI_ENC_ULEB128: return cfi_bytes_uleb(b);
        case CFI_ENC_UDATA2: return cfi_bytes_u16(b);
        case CFI_ENC_UDATA4: return cfi_bytes_u32(b);
        case CFI_ENC_SLEB128: return (uint64_t)cfi_bytes_sleb(b);
        case CFI_ENC_SDATA2: return (uint64_t)(int64_t)(int16_t)cfi_bytes_u16(b);
        case CFI_ENC_SDATA4: return (uint64_t)(int64_t)(int32_t)cfi_bytes_u32(b);
        default: cfi_bytes_spoil(b); return 0;
        }
}

/* An address. data_base: what CFI_ENC_DATAREL counts from, 0 where it is not allowed. */
static inline uint64_t cfi_bytes_pointer(struct cfi_bytes *b, uint8_t enc, uint64_t data_base) {
        uint64_t base = (uint64_t)b->at;
        uint64_t value = cfi_bytes_number(b, enc);

        switch (enc & (CFI_ENC_RELATION | CFI_ENC_INDIRECT)) {
        case CFI_ENC_ABSPTR: return value;
        case CFI_ENC_PCREL: return value + base;
        case CFI_ENC_DATAREL:
                if (data_base != 0)
                        return value + data_base;
                break;
        default: break;
        }
        cfi_bytes_spoil(b);
        return 0;
}

/* Steps over a pointer nobody wants. */
static inline void cfi_bytes_skip_pointer(struct cfi_bytes *b, uint8_t enc) {
        if (enc == CFI_ENC_OMIT)
                return;
        if (enc == CFI_ENC_ALIGNED)
                cfi_bytes_skip(b, -(uint64_t)b->at & 7);
        cfi_bytes_number(b, enc);
}

#endif
