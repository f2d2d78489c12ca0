/* SPDX-License-Identifier: MIT */
#include "symbol/function_extent.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/macros.h"

enum {
        HEAD_BYTES =
                12, /* version, encodings of three fields, address of the tables, number of rows */
        ROW_BYTES = 8, /* begin of a function, address of its table; from the head on */
        MAX_ROWS = 1 << 24,
        /* encodings (DW_EH_PE): 4 bytes; signed, from the place itself or from the head */
        UDATA4 = 0x03,
        PCREL_SDATA4 = 0x1b,
        DATAREL_SDATA4 = 0x3b,
};

static bool read_row(const struct code_file *o, uint64_t no, uint64_t *ret_begin,
                     uint64_t *ret_table) {
        uint8_t row[ROW_BYTES];

        if (code_file_read_any(o, o->frames_addr + HEAD_BYTES + no * ROW_BYTES, row, sizeof(row)) !=
            sizeof(row))
                return false;
        *ret_begin = o->frames_addr + (uint64_t)(int32_t)bytes_le32(row);
        *ret_table = o->frames_addr + (uint64_t)(int32_t)bytes_le32(row + 4);
        return true;
}

/* 0: there are none that can be read. */
static uint64_t count_rows(const struct code_file *o) {
        uint8_t head[HEAD_BYTES];

        if (!o->frames_addr ||
            code_file_read_any(o, o->frames_addr, head, sizeof(head)) != sizeof(head) ||
            head[0] != 1 || head[1] != PCREL_SDATA4 || head[2] != UDATA4 ||
            head[3] != DATAREL_SDATA4)
                return 0;
        return MIN(bytes_le32(head + 8), (uint32_t)MAX_ROWS);
}

/* Bytes of the function, as its table has it: length, number of the common part, begin, bytes. 0: it cannot be told. */
static uint64_t read_bytes(const struct code_file *o, uint64_t table, uint64_t begin) {
        uint8_t words[16];

        if (code_file_read_any(o, table, words, sizeof(words)) != sizeof(words) ||
            table + 8 + (uint64_t)(int32_t)bytes_le32(words + 8) != begin)
                return 0;
        return bytes_le32(words + 12);
}

int function_extent_find(const struct code_file *o, uint64_t addr, struct function_extent *ret) {
        uint64_t low = 0, high = count_rows(o), n = high, begin, table, n_bytes;

        /* the last row that begins at addr or before */
        while (low < high) {
                uint64_t middle = (low + high) / 2;

                if (!read_row(o, middle, &begin, &table))
                        return -ENOENT;
                if (begin <= addr)
                        low = middle + 1;
                else
                        high = middle;
        }
        if (low == 0 || !read_row(o, low - 1, &ret->begin, &table))
                return -ENOENT;
        if (low == n || !read_row(o, low, &ret->next, &begin))
                ret->next = 0;
        n_bytes = read_bytes(o, table, ret->begin);
        ret->end = n_bytes ? ret->begin + n_bytes : MAX(ret->next, ret->begin);
        return 0;
}
