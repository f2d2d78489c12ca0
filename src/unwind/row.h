/* SPDX-License-Identifier: MIT */
#ifndef SILT_UNWIND_ROW_H
#define SILT_UNWIND_ROW_H

/* A row: how to leave the frame a pc is in. One 64-bit word; 0 is no row at all.
 *
 *      63          47 46          30 29             8 7 6 5 4 3 2 1 0
 *     +--------------+--------------+----------------+-+-+-+-+---+-+-+
 *     | fp_off / 8   | ra_off / 8   | cfa_off / 8    |D|U|S|F|RA |B|V|
 *     +--------------+--------------+----------------+-+-+-+-+---+-+-+
 *       signed 17      signed 17      signed 22
 *
 *     V  always 1                               B  0: base = sp   1: base = fp
 *     RA 0 in memory  1 in the link register  2 undefined: this is the outermost frame  3 wide
 *     F  0: fp unchanged  1: saved             S  signal frame: registers are in the ucontext
 *     U  no usable CFI                          D  the CFA is itself in memory (x86 DRAP)
 *
 * What it means, with M[a] the word at a:
 *     CFA = base + cfa_off                     (D: M[fp + cfa_off])
 *     pc' = M[CFA + ra_off], or lr             sp' = CFA
 *     fp' = M[CFA + fp_off], or fp             (D: M[fp + fp_off])
 *
 * A wide row is that of a large frame: RA is 3, and the rest is laid out as
 *
 *      63          51 50          38 37                               8
 *     +-----------+-+-----------+-+------------------------------------+
 *     | fp slot   |b| ra slot   |b| cfa_off / 8, signed 30             |   F and B as above
 *     +-----------+-+-----------+-+------------------------------------+
 *
 * A slot is in words, signed 12, from the CFA or, where b is 1, from the base: compilers put saved
 * registers at the one end of a frame or the other.
 */

#include <stdbool.h>
#include <stdint.h>

typedef uint64_t row_t;

enum {
        ROW_VALID = 1 << 0,
        ROW_BASE_FP = 1 << 1,
        ROW_RA_LR = 1 << 2,
        ROW_RA_UNDEFINED = 2 << 2,
        ROW_WIDE = ROW_RA_LR | ROW_RA_UNDEFINED,
        ROW_FP_SAVED = 1 << 4,
        ROW_SIGNAL = 1 << 5,
        ROW_UNSUPPORTED = 1 << 6,
        ROW_DEREF = 1 << 7,

        /* none of these: the return address is in memory, and three sums and two loads do it */
        ROW_NOT_PLAIN = ROW_RA_LR | ROW_RA_UNDEFINED | ROW_SIGNAL | ROW_UNSUPPORTED | ROW_DEREF,
};

#define ROW_NO_CFI ((row_t)(ROW_VALID | ROW_UNSUPPORTED))
#define ROW_END ((row_t)(ROW_VALID | ROW_RA_UNDEFINED))
#define ROW_SIGNAL_FRAME ((row_t)(ROW_VALID | ROW_SIGNAL))

enum { ROW_CFA_BITS = 22, ROW_SLOT_BITS = 17, ROW_WIDE_CFA_BITS = 30, ROW_WIDE_SLOT_BITS = 12 };

/* Offsets in words of 8 bytes, and in bytes. */
static inline int64_t row_cfa_words(row_t row) {
        return (int64_t)(row << 34) >> 42;
}

static inline int64_t row_ra_words(row_t row) {
        return (int64_t)(row << 17) >> 47;
}

static inline int64_t row_fp_words(row_t row) {
        return (int64_t)row >> 47;
}

static inline int64_t row_cfa_off(row_t row) {
        return row_cfa_words(row) * 8;
}

static inline int64_t row_ra_off(row_t row) {
        return row_ra_words(row) * 8;
}

static inline int64_t row_fp_off(row_t row) {
        return row_fp_words(row) * 8;
}

static inline bool row_offset_fits(int64_t off, int bits) {
        int64_t max = (int64_t)1 << (bits + 2); /* of 8-byte units, one bit is the sign */

        return (off & 7) == 0 && off >= -max && off < max;
}

static inline bool row_is_wide(row_t row) {
        return (row & ROW_WIDE) == ROW_WIDE;
}

struct row_offsets {
        int64_t cfa;    /* from the base */
        int64_t ra, fp; /* from the CFA */
};

static inline int64_t row_wide_slot_off(uint64_t field, int64_t cfa_off) {
        int64_t off = (int64_t)(field << (63 - ROW_WIDE_SLOT_BITS)) >>
                      (64 - ROW_WIDE_SLOT_BITS); /* the lowest bit is b */

        return off * 8 - (field & 1 ? cfa_off : 0);
}

/* Of any row with a CFA, wide or not. */
static inline struct row_offsets row_offsets_of(row_t row) {
        struct row_offsets o = {row_cfa_off(row), row_ra_off(row), row_fp_off(row)};

        if (!row_is_wide(row))
                return o;
        o.cfa = ((int64_t)(row << 26) >> 34) * 8;
        o.ra = row_wide_slot_off(row >> 38, o.cfa);
        o.fp = row & ROW_FP_SAVED ? row_wide_slot_off(row >> 51, o.cfa) : 0;
        return o;
}

/* A slot of a wide row; -1: it is near neither end of the frame. */
static inline int64_t row_wide_slot(int64_t off, int64_t cfa_off) {
        const int64_t mask = (1 << (ROW_WIDE_SLOT_BITS + 1)) - 1;

        if (row_offset_fits(off, ROW_WIDE_SLOT_BITS))
                return off / 8 * 2 & mask;
        if (off >= INT32_MIN * INT64_C(16) && off <= INT32_MAX * INT64_C(16) &&
            row_offset_fits(off + cfa_off, ROW_WIDE_SLOT_BITS))
                return ((off + cfa_off) / 8 * 2 | 1) & mask;
        return -1;
}

static inline row_t row_make_wide(unsigned flags, int64_t cfa_off, int64_t ra_off, int64_t fp_off) {
        const int64_t cfa_mask = (INT64_C(1) << ROW_WIDE_CFA_BITS) - 1;
        int64_t ra, fp;

        if ((flags & ROW_NOT_PLAIN) || !row_offset_fits(cfa_off, ROW_WIDE_CFA_BITS))
                return ROW_NO_CFI;
        ra = row_wide_slot(ra_off, cfa_off);
        fp = row_wide_slot(fp_off, cfa_off);
        if (ra < 0 || fp < 0)
                return ROW_NO_CFI;
        return (row_t)fp << 51 | (row_t)ra << 38 | (row_t)(cfa_off / 8 & cfa_mask) << 8 | flags |
               ROW_WIDE | ROW_VALID;
}

/* Offsets that do not fit make a wide row, or one that says so. */
static inline row_t row_make(unsigned flags, int64_t cfa_off, int64_t ra_off, int64_t fp_off) {
        if (!row_offset_fits(cfa_off, ROW_CFA_BITS) || !row_offset_fits(ra_off, ROW_SLOT_BITS) ||
            !row_offset_fits(fp_off, ROW_SLOT_BITS))
                return row_make_wide(flags, cfa_off, ra_off, fp_off);
        return (row_t)(fp_off / 8) << 47 |
               ((row_t)(ra_off / 8) & ((1u << ROW_SLOT_BITS) - 1)) << 30 |
               ((row_t)(cfa_off / 8) & ((1u << ROW_CFA_BITS) - 1)) << 8 | flags | ROW_VALID;
}

/* ---- quick rows ---------------------------------------------------------------------------- */

/* A plain row as a walk wants it: offsets in words from the base, and everything about them checked
 * that does not depend on the frame. Bit 0 is 0, which tells it from a row.
 *
 *      63        48 47        32 31        16           4     1 0
 *     +------------+------------+------------+---------+-+---+-+-+
 *     | fp slot    | ra slot    | CFA        |         |F|   |B|0|
 *     +------------+------------+------------+---------+-+---+-+-+
 *
 * 0 <= slots < CFA, and the CFA is as aligned as the base. */
typedef uint64_t quick_t;

enum { QUICK_WORDS_MAX = 0x7fff };

static inline bool quick_is(uint64_t word) {
        return (word & ROW_VALID) == 0;
}

static inline uint64_t quick_cfa_off(quick_t q) {
        return (q >> 16 & QUICK_WORDS_MAX) * 8;
}

static inline uint64_t quick_ra_off(quick_t q) {
        return (q >> 32 & QUICK_WORDS_MAX) * 8;
}

static inline uint64_t quick_fp_off(quick_t q) {
        return (q >> 48) * 8;
}

/* The quick form of a row, or the row itself where there is none. align_bytes: of a stack. */
static inline uint64_t quick_from_row(row_t row, unsigned align_bytes) {
        int64_t cfa = row_cfa_words(row), ra = cfa + row_ra_words(row), fp = 0;

        if (row & ROW_FP_SAVED)
                fp = cfa + row_fp_words(row);
        if ((row & ROW_NOT_PLAIN) || cfa <= 0 || cfa > QUICK_WORDS_MAX ||
            (uint64_t)cfa * 8 % align_bytes != 0 || ra < 0 || ra >= cfa || fp < 0 || fp >= cfa)
                return row;
        return (uint64_t)fp << 48 | (uint64_t)ra << 32 | (uint64_t)cfa << 16 |
               (row & (ROW_BASE_FP | ROW_FP_SAVED));
}

/* The row a quick one was made of. */
static inline row_t quick_to_row(quick_t q) {
        int64_t cfa_off = (int64_t)quick_cfa_off(q);
        int64_t fp_off = q & ROW_FP_SAVED ? (int64_t)quick_fp_off(q) - cfa_off : 0;

        return row_make((unsigned)(q & (ROW_BASE_FP | ROW_FP_SAVED)), cfa_off,
                        (int64_t)quick_ra_off(q) - cfa_off, fp_off);
}

#endif
