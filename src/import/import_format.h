/* SPDX-License-Identifier: MIT */
/* What a format of another tool is to import.c. Inside import/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "import/import_input.h"
#include "import/import_trace.h"

struct import_format {
        const char *name;  /* "heaptrack" */
        const char *title; /* "a heaptrack recording" */
        /* What files of it do not know, to follow "it has ": "no threads, no sizes of blocks"; "" nothing is missing. */
        const char *lacks;
        bool is_dump;        /* one moment: several files make a timeline */
        bool has_types;      /* counts several things, of which import_trace_sample_type is read */
        bool ends_with_line; /* every whole file ends with the end of a line */
        /* By the first bytes, unpacked: at most IMPORT_HEAD_BYTES, all of the file where it is shorter. */
        bool (*matches)(const uint8_t *head, size_t n);
        /* Reads one file to its end. 0, or -errno with a sentence (import_input_refuse). */
        int (*read)(struct import_input *in, struct import_trace *t, struct err *reterr);
};

extern const struct import_format import_cpu_profile;
extern const struct import_format import_bytehound;
extern const struct import_format import_dhat;
extern const struct import_format import_folded;
extern const struct import_format import_go_heap;
extern const struct import_format import_gperftools_heap;
extern const struct import_format import_heap_v2;
extern const struct import_format import_heaptrack;
extern const struct import_format import_instruments;
extern const struct import_format import_ltrace;
extern const struct import_format import_massif;
extern const struct import_format import_memcheck_text;
extern const struct import_format import_memcheck_xml;
extern const struct import_format import_memray;
extern const struct import_format import_mtrace;
extern const struct import_format import_perf_data;
extern const struct import_format import_perf_script;
extern const struct import_format import_pprof;
extern const struct import_format import_raw_profile;
extern const struct import_format import_xtree;
