/* SPDX-License-Identifier: MIT */
#include "cli/fail_words.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/macros.h"
#include "base/str.h"
#include "base/units.h"
#include "record/supervisor.h"
#include "show/opened.h"
#include "show/stack_text.h"
#include "show/style.h"
#include "trace/fail_note.h"
#include "trace/reader.h"

enum { FAIL_WORDS_MAX = 3, FAIL_WORDS_WIDTH = 400 };

void fail_words_ended(void *ctx, int wait_status, uint64_t max_rss_bytes) {
        struct fail_words *w = ctx;

        (void)max_rss_bytes;
        w->has_ended = true;
        w->wait_status = wait_status;
}

/* "exited with status 1": what the program did, as its parent sees it. */
static void add_end(int status, struct str *to) {
        if (WIFSIGNALED(status))
                str_addf(to, "signal %d (%s) ended it", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
        else
                str_addf(to, "it exited with status %d", WEXITSTATUS(status));
}

static void say_one(const struct opened *t, const struct style *s, const struct trace_fail *f) {
        const struct frame_names names = {.q = t->q, .names = t->names};
        struct unit_text number, size;
        struct str text = {0};

        if (f->stack && f->stack < query_view(t->q)->n_stacks)
                stack_add_short(s, &names, f->stack, &text, FAIL_WORDS_WIDTH);
        fprintf(stderr, "silt: made to fail: allocation %s, %s%s%s\n",
                unit_count(&number, f->number), unit_bytes(&size, f->size_bytes),
                text.n ? ", in " : "", str_text(&text));
        str_done(&text);
}

/* Allocations of the main process after the last failure; UINT64_MAX: unknown. */
static uint64_t count_after(const struct opened *t, uint64_t time_ns) {
        struct query_scope scope = query_whole(t->q);
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err e;

        scope.from_ns = time_ns;
        return query_ask(t->q, &scope, &a, &e) == 0 && !a->is_moved ? a->totals.n_allocs
                                                                    : UINT64_MAX;
}

static void say_next(const struct fail_words *w, const struct opened *t, uint64_t time_ns) {
        uint64_t n_after = count_after(t, time_ns);
        struct unit_text n;
        struct str text = {0};

        if (n_after == UINT64_MAX)
                str_add(&text, "after that ");
        else
                str_addf(&text, "after that it made %s%s allocation%s, and ",
                         n_after ? unit_count(&n, n_after) : "no", n_after ? " more" : "",
                         n_after == 1 ? "" : "s");
        add_end(w->wait_status, &text);
        fprintf(stderr, "silt: %s\n", str_text(&text));
        str_done(&text);
}

static void say_all(const struct fail_words *w, const struct opened *t) {
        const struct trace_view *v = query_view(t->q);
        uint64_t last_ns = 0;
        struct trace_fail f;
        struct unit_text count;
        struct style s;
        size_t n = 0;

        style_init(&s, stderr);
        for (size_t i = 0; i < v->n_notes; i++) {
                if (!trace_fail_parse(v->notes[i].text, &f) || !f.number)
                        continue;
                last_ns = v->notes[i].time_ns;
                if (n++ < FAIL_WORDS_MAX)
                        say_one(t, &s, &f);
        }
        if (n > FAIL_WORDS_MAX)
                fprintf(stderr, "silt: made to fail: %s more, see the notes of the report\n",
                        unit_count(&count, n - FAIL_WORDS_MAX));
        if (n)
                say_next(w, t, last_ns);
        else
                fputs("silt: no allocation was made to fail: the program made none that was chosen through malloc or new\n",
                      stderr);
}

void fail_words_say(void *ctx, const char *trace_path) {
        const struct fail_words *w = ctx;
        const struct name_sources rules = {0};
        struct err e = {0};
        struct opened t;

        if (w->options->quiet || !w->has_ended)
                return;
        if (opened_init(&t, trace_path, &rules, &e) == 0)
                say_all(w, &t);
        opened_done(&t);
}
