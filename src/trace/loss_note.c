/* SPDX-License-Identifier: MIT */
#include "trace/loss_note.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"

static const char *const class_names[] = {"reachable", "possible", "indirect", "definite"};

static bool take_number(const char **at, uint64_t *ret) {
        uint64_t v = 0;
        const char *s = *at;

        if (*s != ' ' || s[1] < '0' || s[1] > '9')
                return false;
        for (s++; *s >= '0' && *s <= '9'; s++)
                if (__builtin_mul_overflow(v, 10u, &v) ||
                    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
                        return false;
        *at = s;
        *ret = v;
        return true;
}

static bool take_word(const char **at, const char *word) {
        size_t n = strlen(word);

        if (strncmp(*at, word, n) != 0)
                return false;
        *at += n;
        return true;
}

bool trace_loss_parse(const char *note, struct trace_loss *ret) {
        struct trace_loss x = {0};
        uint64_t stack = 0;

        if (!take_word(&note, "loss "))
                return false;
        x.is_sum = take_word(&note, "sum ");
        while (x.class < ARRAY_SIZE(class_names) && !take_word(&note, class_names[x.class]))
                x.class ++;
        if (x.class == ARRAY_SIZE(class_names) || !take_number(&note, &x.bytes) ||
            !take_number(&note, &x.blocks))
                return false;
        if (!x.is_sum && (!take_number(&note, &x.indirect_bytes) || !take_number(&note, &stack) ||
                          stack > UINT32_MAX))
                return false;
        if (*note != ':')
                return false;
        x.stack = (uint32_t)stack;
        *ret = x;
        return true;
}

void trace_loss_write(const struct trace_loss *l, char *ret, size_t cap) {
        if (l->is_sum)
                snprintf(ret, cap, "loss sum %s %llu %llu: by memcheck", class_names[l->class],
                         (unsigned long long)l->bytes, (unsigned long long)l->blocks);
        else
                snprintf(ret, cap, "loss %s %llu %llu %llu %u: by memcheck", class_names[l->class],
                         (unsigned long long)l->bytes, (unsigned long long)l->blocks,
                         (unsigned long long)l->indirect_bytes, l->stack);
}
