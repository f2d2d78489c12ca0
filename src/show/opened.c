/* SPDX-License-Identifier: MIT */
#include "show/opened.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "request/request.h"
#include "show/style.h"

enum { PROGRESS_WIDTH = 40 };

static const struct opened_namer *namer; /* NULL: names are those of the trace */

void opened_set_namer(const struct opened_namer *n) {
        namer = n;
}

/* " --debug-path DIR", as far as there is any. */
static void add_options(struct str *to) {
        if (namer)
                namer->add_options(to);
}

void opened_add_step(const struct request_step *s, const char *path, struct str *to) {
        struct str more = {0};

        if (!s)
                return;
        add_options(&more);
        request_add_command(s, path, str_text(&more), to);
        str_done(&more);
}

void opened_progress_begin(struct opened_progress *p) {
        *p = (struct opened_progress){.began_ns = clock_now_ns(),
                                      .is_terminal =
                                              isatty(STDERR_FILENO) == 1 && !style_is_dumb()};
}

void opened_progress_end(struct opened_progress *p) {
        if (p->drawn_ns)
                fprintf(stderr, "\r\033[K");
        p->drawn_ns = 0;
}

bool opened_progress_draw(void *progress, uint64_t done, uint64_t total) {
        struct opened_progress *p = progress;
        uint64_t now = clock_now_ns();
        int n;

        if (!p->is_terminal || now - p->began_ns < 1000000000 || now - p->drawn_ns < 100000000)
                return true;
        p->drawn_ns = now;
        n = total ? (int)(MIN(done, total) * PROGRESS_WIDTH / total) : 0;
        fprintf(stderr, "\rsilt: reading [%.*s%*s] %3d %%", n,
                "########################################", PROGRESS_WIDTH - n, "",
                n * 100 / PROGRESS_WIDTH);
        fflush(stderr);
        return true;
}

/* Says what to do about rules that cannot be had; reterr has what is wrong with them. */
static int refuse_rules(int error, struct err *reterr) {
        struct err why = *reterr;
        const char *advice = "correct the rule, or leave out the file";

        if (error == -ENOENT || error == -ENOTDIR)
                advice = "check the path";
        else if (error == -EISDIR || error == -EFBIG || error == -ESPIPE)
                advice = "name a file of rules";
        else if (error != -EINVAL)
                advice = "choose a readable file";
        return err_set(reterr, error, "%s: %s", why.text, advice);
}

static int open_trace(struct opened *t, const char *path, struct names *names,
                      const struct opened_namer *by, struct err *reterr) {
        int r;

        *t = (struct opened){.names = names};
        opened_progress_begin(&t->progress);
        r = query_open(path, &t->q, reterr);
        if (r < 0)
                return r;
        if (by)
                t->looked_up = by->look_up(path, t->q);
        query_set_names(t->q, t->names);
        query_learn_wrappers(t->q, NULL); /* nobody stops it: progress is told from here on */
        query_set_progress(t->q, opened_progress_draw, &t->progress);
        return 0;
}

static int open_by(struct opened *t, const char *path, const struct name_sources *rules,
                   const struct opened_namer *by, struct err *reterr) {
        struct names *names = NULL;
        int r = names_load(rules, &names, reterr);

        if (r < 0) {
                *t = (struct opened){0};
                return refuse_rules(r, reterr);
        }
        r = open_trace(t, path, names, by, reterr);
        t->owns_names = true;
        return r;
}

int opened_init(struct opened *t, const char *path, const struct name_sources *rules,
                struct err *reterr) {
        return open_by(t, path, rules, namer, reterr);
}

int opened_init_unnamed(struct opened *t, const char *path, const struct name_sources *rules,
                        struct err *reterr) {
        return open_by(t, path, rules, NULL, reterr);
}

int opened_init_beside(struct opened *t, const char *path, struct names *names,
                       struct err *reterr) {
        return open_trace(t, path, names, namer, reterr);
}

void opened_end_progress(struct opened *t) {
        if (!t)
                return;
        opened_progress_end(&t->progress);
        if (t->q)
                query_set_progress(t->q, NULL, NULL);
}

void opened_done(struct opened *t) {
        opened_end_progress(t);
        t->q = query_free(t->q);
        if (t->looked_up)
                namer->done(t->looked_up);
        t->looked_up = NULL;
        t->names = t->owns_names ? names_free(t->names) : NULL;
}

void opened_say_damage(const struct opened *t, const char *path) {
        if (query_damage(t->q)[0])
                fprintf(stderr, "silt: '%s' is incomplete, and so is this answer: %s\n", path,
                        query_damage(t->q));
}
