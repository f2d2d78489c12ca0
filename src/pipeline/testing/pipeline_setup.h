/* SPDX-License-Identifier: MIT */
/* What the pipeline's tests begin with: a recording in memory, one process, two threads. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/testing/fake_target.h"
#include "pipeline/testing/fake_writer.h"

struct setup {
        struct trace_writer *w;
        struct fake_target t;
        struct fake_thread a, b; /* two threads of the first process */
        uint32_t idx;
};

static inline int setup(void **state) {
        struct setup *s = test_calloc(1, sizeof(*s));

        s->w = fake_writer_new(false);
        fake_target_init(&s->t, s->w, NULL);
        s->t.now = 1000000;
        s->idx = fake_add_image(&s->t, s->w);
        fake_add_thread(&s->t, &s->a, s->idx, 101);
        fake_add_thread(&s->t, &s->b, s->idx, 102);
        *state = s;
        return 0;
}

static inline int teardown(void **state) {
        struct setup *s = *state;

        fake_target_done(&s->t);
        fake_writer_free(s->w);
        test_free(s);
        return 0;
}

static inline struct trace_counts counts_of(struct setup *s, uint32_t process) {
        struct pipeline_totals t;

        assert_true(pipeline_get_totals(s->t.pipeline, process, &t));
        return t.counts;
}

static inline struct trace_counts counts_now(struct setup *s) {
        fake_settle(&s->t);
        return counts_of(s, 0);
}

/* The row of (process, site number) in the latest slice. */
static inline const struct trace_site *row_of(struct setup *s, uint32_t process, uint64_t site) {
        const struct fake_slice *slice = &s->w->slices.items[s->w->slices.n - 1];

        for (size_t i = 0; i < slice->sites.n; i++) {
                const struct trace_site *row = &slice->sites.items[i];
                uint32_t location = s->w->stacks.items[row->stack].location;

                if (row->process == process &&
                    s->w->locations.items[location].offset == 0x10000 + site)
                        return row;
        }
        return NULL;
}

static inline size_t count_others(struct setup *s, enum trace_other other) {
        size_t n = 0;

        for (size_t i = 0; i < s->w->events.n; i++)
                n += s->w->events.items[i].op == TRACE_OTHER &&
                     s->w->events.items[i].other == other;
        return n;
}
