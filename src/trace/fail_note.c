/* SPDX-License-Identifier: MIT */
#include "trace/fail_note.h"

#include <inttypes.h>
#include <stdio.h>

#define FAIL_FORMAT_OUT                                                                            \
        "pid %" PRIu32 ": silt made allocation %" PRIu64 " of %" PRIu64                            \
        " bytes fail, on call path %" PRIu32
#define FAIL_FORMAT_IN                                                                             \
        "pid %" SCNu32 ": silt made allocation %" SCNu64 " of %" SCNu64                            \
        " bytes fail, on call path %" SCNu32

#define FAILED_FORMAT_OUT                                                                          \
        "pid %" PRIu32 ": an allocation of %" PRIu64 " bytes failed, on call path %" PRIu32
#define FAILED_FORMAT_IN                                                                           \
        "pid %" SCNu32 ": an allocation of %" SCNu64 " bytes failed, on call path %" SCNu32

void trace_fail_write(const struct trace_fail *f, char ret[static TRACE_FAIL_CAP]) {
        if (f->number)
                snprintf(ret, TRACE_FAIL_CAP, FAIL_FORMAT_OUT, f->pid, f->number, f->size_bytes,
                         f->stack);
        else
                snprintf(ret, TRACE_FAIL_CAP, FAILED_FORMAT_OUT, f->pid, f->size_bytes, f->stack);
}

bool trace_fail_parse(const char *note, struct trace_fail *ret) {
        struct trace_fail f = {0};

        if (sscanf(note, FAILED_FORMAT_IN, &f.pid, &f.size_bytes, &f.stack) != 3 &&
            sscanf(note, FAIL_FORMAT_IN, &f.pid, &f.number, &f.size_bytes, &f.stack) != 4)
                return false;
        *ret = f;
        return true;
}
