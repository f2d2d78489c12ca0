/* SPDX-License-Identifier: MIT */
#include "export/one_process.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

void export_note(struct export_job *job, const char *fmt, ...) {
        char *note = job->told->note;
        size_t n = strlen(note), cap = sizeof(job->told->note);
        va_list args;

        if (n && n + 3 < cap)
                n += (size_t)snprintf(note + n, cap - n, "; ");
        va_start(args, fmt);
        vsnprintf(note + n, cap - n, fmt, args);
        va_end(args);
}

void export_note_held(struct export_job *job, uint64_t n_held, const char *reader) {
        struct unit_text n;

        if (n_held)
                export_note(
                        job,
                        "%s blocks are from before: %s counts them as allocated at the beginning",
                        unit_count(&n, n_held), reader);
}

static uint32_t largest_process(const struct query_answer *a, uint32_t main) {
        uint32_t best = main;

        for (uint32_t p = 0; p < a->n_processes; p++)
                if (query_own_peak_bytes(a, p) > query_own_peak_bytes(a, best))
                        best = p;
        return best;
}

int export_choose_process(struct export_job *job, struct err *reterr) {
        struct query_scope whole = job->scope;
        struct query_answer *a = NULL;
        struct str name = {0};
        int r;

        if (job->scope.process != QUERY_ALL)
                return 0;
        job->scope.process = query_main_process(job->q);
        if (job->view->n_processes <= 1)
                return 0;
        whole.filter = NULL;
        r = query_ask(job->q, &whole, &a, reterr);
        if (r < 0)
                return r;
        job->scope.process = largest_process(a, job->scope.process);
        query_add_process_name(job->q, job->scope.process, &name);
        str_add(&name, " (");
        query_add_process_word(job->q, job->scope.process, &name);
        str_add(&name, ")");
        export_note(job,
                    "the format knows one process, and this is the one that held most, %s: choose "
                    "another with --process",
                    str_text(&name));
        err_make_one_line(job->told->note);
        str_done(&name);
        query_answer_free(a);
        return 0;
}

void export_add_command(const struct export_job *job, struct str *to) {
        const struct trace_view *v = job->view;
        uint32_t p = job->scope.process;
        const char *const *args = p < v->n_processes ? v->processes[p].start.args : v->meta.args;
        uint32_t n = p < v->n_processes ? v->processes[p].start.n_args : v->meta.n_args;

        for (uint32_t i = 0; i < n; i++) {
                if (i)
                        str_add(to, " ");
                str_add_shell(to, args[i]);
        }
        for (size_t i = 0; i < to->n; i++)
                if ((unsigned char)to->bytes[i] < ' ')
                        to->bytes[i] = ' ';
}
