/* SPDX-License-Identifier: MIT */
#include "import/python_lines.h"

#include <stdbool.h>

#include "base/macros.h"

struct line_table {
        const uint8_t *at, *end;
};

static uint64_t table_varint(struct line_table *t) {
        uint64_t v = 0;
        unsigned shift = 0;
        uint8_t byte;

        do {
                if (t->at >= t->end)
                        return v;
                byte = *t->at++;
                v |= (uint64_t)(byte & 63) << shift;
                shift += 6;
        } while (byte & 64 && shift < 60);
        return v;
}

static int64_t table_signed(struct line_table *t) {
        uint64_t v = table_varint(t);

        return v & 1 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Since 3.11: entries of a byte with a form and a length in units of code, and columns, which are passed over. */
static int64_t line_311(const struct python_table *c, uint64_t offset) {
        struct line_table t = {c->bytes, c->bytes + c->n};
        uint64_t wanted = offset / 2, unit = 0;
        int64_t line = c->first_line;

        while (t.at < t.end) {
                uint8_t first = *t.at++, form = first >> 3 & 15;

                unit += (first & 7u) + 1;
                if (form == 14) {
                        line += table_signed(&t);
                        for (int i = 0; i < 3; i++)
                                (void)table_varint(&t);
                } else if (form == 13)
                        line += table_signed(&t);
                else if (form >= 10 && form <= 12) {
                        line += form - 10;
                        t.at += MIN(t.end - t.at, 2);
                } else if (form < 10)
                        t.at += t.at < t.end;
                if (unit > wanted)
                        return line;
        }
        return 0;
}

/* 3.10 and before: pairs of bytes, how far in the code and how far in lines. */
static int64_t line_old(const struct python_table *c, uint64_t offset, bool is_310) {
        uint64_t at = 0, wanted = is_310 ? offset << 1 : offset;
        int64_t line = c->first_line;

        for (size_t i = 0; i + 1 < c->n; i += 2) {
                int8_t step = (int8_t)c->bytes[i + 1];

                at += c->bytes[i];
                if (is_310)
                        line += step == -128 ? 0 : step;
                if (at > wanted)
                        break;
                if (!is_310)
                        line += step;
        }
        return line;
}

uint32_t python_line(uint32_t python_version, const struct python_table *c, int64_t offset) {
        int64_t line;

        if (offset < 0)
                return 0;
        line = python_version >= 0x030b0000
                       ? line_311(c, (uint64_t)offset)
                       : line_old(c, (uint64_t)offset, python_version >= 0x030a0000);
        return line < 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
}
