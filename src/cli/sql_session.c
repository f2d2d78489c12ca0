/* SPDX-License-Identifier: MIT */
#include "cli/sql_session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/system_clock.h"
#include "cli/sql_dots.h"
#include "cli/sql_watch.h"
#include "sql/sql_advice.h"

struct answer_begun {
        struct sql_session *session;
        struct sql_watch watch;
        bool is_begun;
};

/* A blank line between two answers, where the second comes to one. */
static void before_output(void *ctx, FILE *to) {
        struct answer_begun *a = ctx;

        sql_watch_wipe(&a->watch, to);
        if (a->is_begun || to != a->session->out)
                return;
        a->is_begun = true;
        if (a->session->n_answers++)
                fputc('\n', to);
}

/* Whoever reads JSON reads one value. */
static int refuse_second(struct sql_session *s, const char *rest, struct err *reterr) {
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;

        if (s->form != SQL_FORM_JSON || s->is_shell ||
            (sql_prepare(s->sql, rest, &rows, NULL, NULL) == 0 && !rows))
                return 0;
        return err_set(reterr, -EINVAL,
                       "--json answers one statement, and there are several: give them "
                       "one by one, or leave out --json");
}

/* What has no value is NULL, and a question with NULL has another answer. */
static int refuse_parameter(const struct sql_rows *rows, struct err *reterr) {
        const char *name = sql_parameter(rows, 0);

        if (!name)
                return 0;
        return err_set(reterr, -EINVAL,
                       "the statement has a parameter%s%.100s without a value: write "
                       "the value in its place",
                       name[0] ? " :" : "", name);
}

static int prepare(struct sql_session *s, const char *text, struct sql_rows **ret,
                   const char **ret_rest, struct err *reterr) {
        int r = sql_prepare(s->sql, text, ret, ret_rest, reterr);

        if (r < 0) {
                sql_advise(s->sql, text, true, reterr);
                return r;
        }
        if (!*ret)
                return 0;
        r = refuse_second(s, *ret_rest, reterr);
        return r < 0 ? r : refuse_parameter(*ret, reterr);
}

static double seconds_since(uint64_t began_ns, clockid_t clock) {
        return (double)(clock_ns(clock) - began_ns) / 1e9;
}

/* Where the answer goes: .once names a file, for one. */
static int open_output(struct sql_session *s, FILE **ret, struct err *reterr) {
        _cleanup_free_ char *path = s->once_path;
        int fd;

        s->once_path = NULL;
        if (!path) {
                *ret = s->out;
                return 0;
        }
        fd = fs_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd == -EEXIST)
                return err_set(reterr, fd, ".once: '%.200s' is there already: name another file",
                               path);
        *ret = fd < 0 ? NULL : fdopen(fd, "w");
        return *ret ? 0 : err_set_errno(reterr, fd, ".once: cannot make '%.200s'", path);
}

static int close_output(struct sql_session *s, FILE *out, int r, struct err *reterr) {
        if (out == s->out)
                return fflush(out), r;
        return fclose(out) != 0 && r >= 0
                       ? err_set_errno(reterr, -errno, ".once: cannot write the file")
                       : r;
}

/* Watched from the start: to plan a statement, tables count their rows, and that may take a while. */
static int answer(struct sql_session *s, const char *text, const char **ret_rest,
                  struct err *reterr) {
        _cleanup_(sql_rows_freep) struct sql_rows *rows = NULL;
        struct answer_begun a = {.session = s};
        struct sql_print how = {.form = s->form,
                                .without_names = s->lacks_names,
                                .words = stderr,
                                .before_output = before_output,
                                .ctx = &a};
        uint64_t began_ns = clock_now_ns(), cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        int r;

        sql_watch_begin(&a.watch, s->sql, s->once_path ? stderr : s->out);
        r = prepare(s, text, &rows, ret_rest, reterr);
        if (r >= 0 && rows)
                r = open_output(s, &how.out, reterr);
        if (how.out)
                r = sql_print(s->sql, rows, &how, reterr);
        s->is_interrupted = sql_watch_end(&a.watch);
        if (how.out)
                r = close_output(s, how.out, r, reterr);
        if (s->is_timed && how.out)
                fprintf(stderr, "%.3f s, %.3f s of the processor\n",
                        seconds_since(began_ns, CLOCK_MONOTONIC),
                        seconds_since(cpu_ns, CLOCK_PROCESS_CPUTIME_ID));
        return r;
}

int sql_session_run(struct sql_session *s, const char *text, struct err *reterr) {
        int r = 0;

        while (r >= 0 && !s->is_over) {
                size_t n;

                text += strspn(text, " \t\r\n;");
                n = strcspn(text, "\n");
                if (!*text)
                        break;
                if (*text == '.') {
                        r = sql_dot_run(s, text, n, reterr);
                        text += n;
                } else {
                        r = answer(s, text, &text, reterr);
                }
        }
        return r;
}

void sql_session_done(struct sql_session *s) {
        free(s->once_path);
        s->once_path = NULL;
}
