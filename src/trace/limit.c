/* SPDX-License-Identifier: MIT */
#include "trace/limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const limit_names[LIMIT_N_KINDS] = {
        "unhooked", "unseen", "lost",      "damaged",  "not-followed", "unpaired",
        "unread",   "stacks", "uncounted", "imported", "other",
};

const char *trace_limit_name(enum trace_limit_kind kind) {
        return limit_names[kind];
}

static bool take_number(const char **at, uint64_t *ret) {
        char *end;

        if (**at != ' ' || (*at)[1] < '0' || (*at)[1] > '9')
                return false;
        errno = 0;
        *ret = strtoull(*at + 1, &end, 10);
        *at = end;
        return errno == 0;
}

/* "60,604 records …" */
static uint64_t leading_number(const char *note) {
        uint64_t n = 0;

        for (; (*note >= '0' && *note <= '9') || (n && *note == ','); note++)
                if (*note != ',' && n < UINT64_MAX / 10 - 1)
                        n = n * 10 + (uint64_t)(*note - '0');
        return n;
}

/* As they were written before limits had a form, and still are where there is no figure. */
static bool parse_plain(const char *note, struct trace_limit *ret) {
        static const struct {
                const char *words;
                enum trace_limit_kind kind;
        } plain[] = {
                {"not followed: ", LIMIT_NOT_FOLLOWED},
                {"not seen: ", LIMIT_NOT_FOLLOWED},
                {"that was not followed", LIMIT_NOT_FOLLOWED},
                {"more programs not followed", LIMIT_NOT_FOLLOWED},
                {"could not be hooked", LIMIT_UNHOOKED},
                {"not looked at for allocators", LIMIT_UNREAD},
                {"its ring was damaged", LIMIT_LOST},
                {"of the lost events may be of any process", LIMIT_LOST},
                {"mappings are missing", LIMIT_LOST},
                {"samples of time are missing", LIMIT_LOST},
                {"times the kernel paused the samples", LIMIT_LOST},
                {"the kernel does not let silt sample", LIMIT_NOT_FOLLOWED},
                {"that the kernel counted have samples", LIMIT_LOST},
                {"of waits have no call path", LIMIT_UNCOUNTED},
                {"waits by call path are estimates", LIMIT_UNCOUNTED},
                {"KiB of stack lie between", LIMIT_UNCOUNTED},
                {"in the kernel by its own count", LIMIT_UNCOUNTED},
                {"a recording of samples", LIMIT_UNCOUNTED},
                {"lost: the recorder was late", LIMIT_LOST}, /* samples of time */
                {"call path whose outermost frames are missing", LIMIT_UNCOUNTED},
                {"time in the kernel is not in the samples", LIMIT_UNCOUNTED},
                {"where threads wait is known only", LIMIT_UNCOUNTED},
                {"of CPU time have no call path", LIMIT_UNCOUNTED},
        };
        unsigned pid = 0;

        if (!strncmp(note, "mark ", 5) || !strncmp(note, "snapshot: ", 10))
                return false; /* words of the program or its user */
        for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
                if (!strstr(note, plain[i].words))
                        continue;
                (void)sscanf(note, "pid %9u", &pid);
                *ret = (struct trace_limit){.kind = plain[i].kind, .pid = pid, .text = note};
                if (ret->kind == LIMIT_LOST)
                        ret->count = leading_number(note);
                ret->is_summed = !strncmp(note, "not seen: ", strlen("not seen: "));
                return true;
        }
        return false;
}

bool trace_limit_parse(const char *note, struct trace_limit *ret) {
        struct trace_limit l = {.kind = LIMIT_OTHER};
        const char *at, *kind;
        uint64_t pid;

        if (strncmp(note, "limit ", strlen("limit ")) != 0)
                return parse_plain(note, ret);
        kind = note + strlen("limit ");
        at = kind + strcspn(kind, " ");
        for (int i = 0; i < LIMIT_N_KINDS; i++)
                if ((size_t)(at - kind) == strlen(limit_names[i]) &&
                    !strncmp(kind, limit_names[i], (size_t)(at - kind)))
                        l.kind = (enum trace_limit_kind)i;
        if (!take_number(&at, &pid) || pid > UINT32_MAX || !take_number(&at, &l.bytes) ||
            !take_number(&at, &l.count) || strncmp(at, ": ", 2) != 0)
                return false;
        l.pid = (uint32_t)pid;
        l.text = at + 2;
        *ret = l;
        return true;
}

void trace_limit_write(const struct trace_limit *l, char *ret, size_t cap) {
        snprintf(ret, cap, "limit %s %u %llu %llu: %s", trace_limit_name(l->kind), l->pid,
                 (unsigned long long)l->bytes, (unsigned long long)l->count, l->text);
}
