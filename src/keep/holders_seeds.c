/* SPDX-License-Identifier: MIT */
/* What holders_fuzz begins with: graphs by chance, asked in every way; and a small one with one value out of bounds after the other. */
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "base/vec.h"
#include "keep/testing/graph_trace.h"

enum { N_DRAWN = 64, CHOICE_WHY = 2, CHOICE_LEAKS = 16, CHOICE_CONTRADICTS = 64 };

/* Two blocks, the first points into the second; a root to each (docs/trace-format.md, "GRPH"). One number a byte. */
enum { GRAPH_N_BYTES = 64, GRAPH_LEFT_OVER = 1 };
static const uint8_t graph[GRAPH_N_BYTES] = {
        2,  2,  1,  3,   9,   0, 1, /* 0: numbers, sequence numbers and heads, pause, unread, unsettled */
        64, 16,                     /* 7: blocks: distances, */
        32, 48,                     /* 9: sizes, */
        1,  0,                      /* 11: stacks, */
        2,  4,                      /* 13: sequence numbers */
        8,  5,  1,  'a',            /* 15: an owner: base, thread, name */
        0,  1,                      /* 19: roots: kinds, */
        0,  0,                      /* 21: owners, */
        16, 32,                     /* 23: addresses */
        1,  0,  1,  1,              /* 25: edges of each node */
        17, 0,  16,                 /* 29: the edges */
        1,                          /* 32: a type: */
        0,  8,  0,  1,   'T',       /* 33: kind, table, function, name */
        1,  0,                      /* 38: whose it is */
        1,                          /* 40: a container: */
        0,  2,  3,  8,              /* 41: block, kind, used, room */
        1,  0,                      /* 45: a head, none left out */
        1,                          /* 47: its block, */
        0,  1,  2,  3,   4,   5, 6, 7, /* 48: words */
        2,                             /* 56: places: */
        0,  1,                         /* 57: kinds, */
        8,  8,                         /* 59: addresses, */
        1,  0,                         /* 61: locations */
        0,                             /* 63: left over */
};

#define HUGE UINT64_MAX

/* What stands in place of one of its numbers. */
static const struct {
        uint8_t at;
        uint64_t value;
} wrong[] = {
        {6, HUGE},  {0, 200},   {1, HUGE},     {2, HUGE},  {3, 4},     {3, 1},     {7, HUGE},
        {9, HUGE},  {10, HUGE}, {11, 1 << 20}, {12, HUGE}, {16, HUGE}, {18, 0},    {17, 200},
        {19, 4},    {22, 1},    {25, HUGE},    {29, 16},   {29, 22},   {30, 7},    {32, 200},
        {33, 3},    {37, 0},    {38, 2},       {40, 3},    {41, 2},    {41, HUGE}, {42, 5},
        {43, 9},    {44, 0},    {45, 0},       {45, 3},    {46, HUGE}, {47, 2},    {47, HUGE},
        {56, HUGE}, {57, 4},    {60, HUGE},    {61, HUGE}, {62, HUGE}, {55, HUGE},
};

static void write_seed(const char *directory, unsigned number, bytes_buf *bytes, uint8_t choice) {
        char path[4096];
        FILE *f;

        buf_u8(bytes, choice);
        snprintf(path, sizeof(path), "%s/%u", directory, number);
        f = fopen(path, "w");
        if (!f || fwrite(bytes->items, 1, bytes->n, f) != bytes->n || fclose(f) != 0)
                exit(1);
        vec_free(bytes);
}

int main(int argc, char **argv) {
        unsigned n = 0;

        if (argc != 2)
                return 1;
        for (; n < N_DRAWN; n++) {
                struct draw d = draw_from(n);
                bytes_buf bytes = {0};

                graph_trace_draw(&d, &bytes);
                write_seed(argv[1], n, &bytes, (uint8_t)(n * 5 & ~CHOICE_CONTRADICTS));
        }
        for (size_t i = 0; i < ARRAY_SIZE(wrong); i++, n++) {
                bytes_buf bytes = {0};

                buf_bytes(&bytes, graph, wrong[i].at);
                buf_varint(&bytes, wrong[i].value);
                buf_bytes(&bytes, graph + wrong[i].at + 1,
                          sizeof(graph) - GRAPH_LEFT_OVER - wrong[i].at - 1);
                write_seed(argv[1], n, &bytes, i % 2 ? CHOICE_LEAKS : CHOICE_WHY);
        }
        /* with a byte too many; whole; and with one too few */
        for (size_t i = 0; i < 3; i++, n++) {
                bytes_buf bytes = {0};

                buf_bytes(&bytes, graph, sizeof(graph) - i);
                write_seed(argv[1], n, &bytes, i == 1 ? CHOICE_CONTRADICTS : CHOICE_WHY);
        }
        return 0;
}
