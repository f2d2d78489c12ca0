/* SPDX-License-Identifier: MIT */
/* Constants of docs/trace-format.md, and nothing else: src/verify/ shares this file with the
 * reader, but no code. */
#pragma once

#include <stdint.h>

#define TRACE_KIND(a, b, c, d)                                                                     \
        ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

#define TRACE_CHUNK_MAGIC TRACE_KIND(0xf5, 's', 'l', 't')
#define TRACE_TRAILER_MAGIC TRACE_KIND(0xf5, 's', 'l', 'e')

#define TRACE_META TRACE_KIND('M', 'E', 'T', 'A')
#define TRACE_MODS TRACE_KIND('M', 'O', 'D', 'S')
#define TRACE_LOCS TRACE_KIND('L', 'O', 'C', 'S')
#define TRACE_STKS TRACE_KIND('S', 'T', 'K', 'S')
#define TRACE_PROC TRACE_KIND('P', 'R', 'O', 'C')
#define TRACE_PEND TRACE_KIND('P', 'E', 'N', 'D')
#define TRACE_TITL TRACE_KIND('T', 'I', 'T', 'L')
#define TRACE_THRD TRACE_KIND('T', 'H', 'R', 'D')
#define TRACE_TNAM TRACE_KIND('T', 'N', 'A', 'M')
#define TRACE_NOTE TRACE_KIND('N', 'O', 'T', 'E')
#define TRACE_COST TRACE_KIND('C', 'O', 'S', 'T')
#define TRACE_ALOC TRACE_KIND('A', 'L', 'O', 'C')
#define TRACE_PRIO TRACE_KIND('P', 'R', 'I', 'O')
#define TRACE_ROOM TRACE_KIND('R', 'O', 'O', 'M')
#define TRACE_TALY TRACE_KIND('T', 'A', 'L', 'Y')
#define TRACE_SMPL TRACE_KIND('S', 'M', 'P', 'L')
#define TRACE_RESI TRACE_KIND('R', 'E', 'S', 'I')
#define TRACE_MAPS TRACE_KIND('M', 'A', 'P', 'S')
#define TRACE_GRPH TRACE_KIND('G', 'R', 'P', 'H')
#define TRACE_BILL TRACE_KIND('B', 'I', 'L', 'L')
#define TRACE_TICK TRACE_KIND('T', 'I', 'C', 'K')
#define TRACE_SITE TRACE_KIND('S', 'I', 'T', 'E')
#define TRACE_MOVE TRACE_KIND('M', 'O', 'V', 'E')
#define TRACE_EVTS TRACE_KIND('E', 'V', 'T', 'S')
#define TRACE_SLIC TRACE_KIND('S', 'L', 'I', 'C')
#define TRACE_CKPT TRACE_KIND('C', 'K', 'P', 'T')
#define TRACE_SYMS TRACE_KIND('S', 'Y', 'M', 'S')
#define TRACE_NSRC TRACE_KIND('N', 'S', 'R', 'C')
#define TRACE_INDX TRACE_KIND('I', 'N', 'D', 'X')
#define TRACE_SKIP TRACE_KIND('S', 'K', 'I', 'P')

enum {
        TRACE_FORMAT_VERSION = 1,
        TRACE_KIND_VERSION = 1, /* of every kind but … */
        TRACE_SLIC_VERSION = 2, /* … a slice whose detail was dropped, */
        TRACE_ROWS_VERSION = 2, /* … SITE and CKPT with rows of other processes than the first */
        TRACE_EVTS_VERSION = 2, /* … EVTS of a sampled recording, */
        TRACE_MAPS_VERSION = 2, /* … MAPS with changes of protection, */
        TRACE_GRPH_VERSION = 2, /* … GRPH with the heads of tasks, */
        TRACE_VERSION_OFF = 8,  /* in a chunk's header */

        TRACE_HEADER_BYTES = 32,
        TRACE_MAX_HEAD_BYTES = 64,
        TRACE_TRAILER_BYTES = 32,
        TRACE_MAX_RATIO = 32, /* raw_bytes <= 32 * stored_bytes */

        TRACE_FLAG_ZSTD = 1,
        TRACE_FLAG_REQUIRED = 2,

        TRACE_DEFS_HEAD_BYTES = 8,
        TRACE_GRPH_HEAD_BYTES = 32,
        TRACE_GRPH_PART_BYTES = 4 << 20, /* of a graph, at most in one chunk */
        TRACE_BILL_HEAD_BYTES = 32,
        TRACE_BILL_MAX_BYTES = 4 << 20,
        TRACE_MAX_KEPT_BILLS = 16, /* of a bounded file */
        TRACE_TICK_HEAD_BYTES = 24,
        TRACE_TICK_MERGED = 1, /* a flag: times within the span were given up */
        TRACE_SITE_HEAD_BYTES = 8,
        TRACE_MOVE_HEAD_BYTES = 8,
        TRACE_EVTS_HEAD_BYTES = 32,
        TRACE_SLIC_HEAD_BYTES = 64,
        TRACE_CKPT_HEAD_BYTES = 16,
        TRACE_INDX_HEAD_BYTES = 16,

        TRACE_INDEX_ENTRY_BYTES = 24, /* before the head */
        TRACE_INDX_REBUILT = 1,
        TRACE_SLIC_UNWRITTEN = 1,
        TRACE_SLIC_DROPPED = 2, /* version 2 */

        TRACE_N_COUNT_FIELDS = 18,
        TRACE_N_MOVE_FIELDS = 7,
        TRACE_MOVE_THREADS = 65536, /* threads equal modulo this count as one */
        TRACE_TALY_ROW_BYTES = 72,
        TRACE_MAX_BUILD_ID_BYTES = 32,
        TRACE_SYMBOL_INLINED = 1,
        TRACE_SYMBOL_GUESS = 2,
};

/* Columns of an EVTS chunk, in file order. */
enum trace_column {
        TRACE_COL_OPS,
        TRACE_COL_THREAD_IDS,
        TRACE_COL_RUN_THREADS,
        TRACE_COL_RUN_LENGTHS,
        TRACE_COL_TIMES,
        TRACE_COL_STACK_IDS,
        TRACE_COL_STACKS,
        TRACE_COL_SIZES,
        TRACE_COL_RELEASES,
        TRACE_COL_OLD_SEQS,
        TRACE_COL_OLD_STACKS,
        TRACE_COL_OLD_SIZES,
        TRACE_COL_OTHERS,
        TRACE_COL_VALUES,
        TRACE_COL_ADDRESSES,
        TRACE_COL_FREE_STACKS,
        TRACE_N_EXACT_COLUMNS,
        TRACE_COL_WEIGHTS = TRACE_N_EXACT_COLUMNS, /* TRACE_EVTS_VERSION */
        TRACE_COL_OLD_WEIGHTS,
        TRACE_N_COLUMNS,
};

/* Flags of a row of sites: each is the shift of a field of two bits (inherited: one, both). */
enum trace_site_shift {
        TRACE_SITE_ALLOCS = 0,
        TRACE_SITE_FREES = 2,
        TRACE_SITE_TEMPORARY = 4,
        TRACE_SITE_REALLOCS = 6,
        TRACE_SITE_INHERITED = 8,
        TRACE_SITE_PEAK = 9,
        TRACE_SITE_ALL_PEAK = 11,
        TRACE_SITE_LIFE = 13,
        TRACE_SITE_INHERITED_FREES = 15, /* TRACE_ROWS_VERSION */
};
