/* SPDX-License-Identifier: MIT */
/* Processes as people tell them apart: a pid with all the programs it was, called by what it became; and which one a word
 * of the command line means. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "query/query_internal.h"
#include "query/trace_origin.h"

enum { WHO_MAX_LISTED = 6, WHO_MAX_NAME = 40 };

/* ---- images ---------------------------------------------------------------------------------- */

/* A pid that is used again is another process; it can be so only when the one before has ended. */
static bool is_exec(const struct trace_view *v, uint32_t process) {
        return !v->processes[process].has_end ||
               v->processes[process].end.ended == TRACE_ENDED_EXEC;
}

void process_names_link_images(struct query *q) {
        const struct trace_view *v = q->view;
        struct map last_by_pid = {0};

        q->next_image = malloc((v->n_processes + 1) * sizeof(q->next_image[0]));
        if (!q->next_image)
                abort();
        for (uint32_t i = 0; i < v->n_processes; i++) {
                bool added;
                uint64_t *last = map_put(&last_by_pid, v->processes[i].start.pid, i, &added);

                q->next_image[i] = TRACE_NO_PROCESS;
                if (!added && is_exec(v, (uint32_t)*last))
                        q->next_image[*last] = i;
                else
                        q->n_pids++;
                *last = i;
        }
        map_done(&last_by_pid);
}

uint32_t query_next_image(const struct query *q, uint32_t process) {
        return process < q->view->n_processes ? q->next_image[process] : TRACE_NO_PROCESS;
}

size_t query_n_pids(const struct query *q) {
        return q->n_pids;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *base_of(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

/* Of a title: its first word may be a path; what follows may have paths in it too. */
static const char *title_base(const char *title) {
        size_t n = strcspn(title, " "), begin = n;

        if (title[0] != '/')
                return title;
        while (begin > 0 && title[begin - 1] != '/')
                begin--;
        return begin < n ? title + begin : title;
}

static const char *program_of(const struct trace_process *p) {
        if (p->n_args && p->args[0][0])
                return base_of(p->args[0]);
        return base_of(p->exe);
}

/* A title that begins with the program's own name goes on with its arguments: the first tells what it is
 * ("chromium --type=renderer"). Others are told whole. */
static char *name_from_title(const struct trace_process_info *p) {
        const char *title = title_base(p->title), *program = base_of(p->start.exe);
        size_t n = strcspn(title, " ");

        if (strlen(program) != n || strncmp(title, program, n) != 0)
                n = strlen(title);
        else if (title[n])
                n += 1 + strcspn(title + n + 1, " ");
        return strndup(title, n);
}

void process_names_read_titles(struct query *q) {
        const struct trace_view *v = q->view;

        q->n_titles = v->n_processes;
        q->titles = calloc(v->n_processes + 1, sizeof(q->titles[0]));
        if (!q->titles)
                abort();
        for (size_t i = 0; i < v->n_processes; i++)
                if (v->processes[i].title && !(q->titles[i] = name_from_title(&v->processes[i])))
                        abort();
}

void process_names_done(struct query *q) {
        for (size_t i = 0; q->titles && i < q->n_titles; i++)
                free(q->titles[i]);
        free(q->titles);
        free(q->next_image);
        q->titles = NULL;
        q->next_image = NULL;
        q->n_pids = 0;
}

const char *query_process_name(const struct query *q, uint32_t process) {
        return q->titles[process] ? q->titles[process]
                                  : program_of(&q->view->processes[process].start);
}

static void add_bounded(struct str *to, const char *text) {
        size_t n = strlen(text);

        if (n > WHO_MAX_NAME) {
                n = WHO_MAX_NAME;
                while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) /* whole characters */
                        n--;
        }
        str_addn(to, text, n);
        str_add(to, text[n] ? ".." : "");
}

void query_add_process_name(const struct query *q, uint32_t process, struct str *to) {
        const char *name = query_process_name(q, process);

        add_bounded(to, name[0] ? name : "the program");
}

static bool is_plain_pid(const struct query *q, uint32_t process) {
        uint32_t last;

        return query_find_process(q, q->view->processes[process].start.pid, &last, NULL) >= 0 &&
               last == process;
}

void query_add_process_word(const struct query *q, uint32_t process, struct str *to) {
        const struct trace_process *p = &q->view->processes[process].start;

        if (!origin_knows_pids(
                    &q->view->meta)) { /* imported from what tells no pid: there is one process */
                str_add(to, "main");
                return;
        }
        str_addf(to, "%u", p->pid);
        if (!is_plain_pid(q, process))
                str_addf(to, ".%u", p->image);
}

/* ---- choosing -------------------------------------------------------------------------------- */

struct listed {
        uint32_t process;
        uint64_t bytes;
};

struct listing {
        VEC(struct listed) of;
};

static int larger_first(const void *a, const void *b) {
        const struct listed *x = a, *y = b;

        if (x->bytes != y->bytes)
                return x->bytes > y->bytes ? -1 : 1;
        return x->process < y->process ? -1 : x->process > y->process;
}

enum who_match { WHO_EXACT, WHO_WITHIN, WHO_EARLIER, WHO_N_MATCHES };

static bool is_called(const struct query *q, uint32_t process, const char *name) {
        const struct trace_process *p = &q->view->processes[process].start;

        return strcmp(query_process_name(q, process), name) == 0 ||
               strcmp(program_of(p), name) == 0 || strcmp(base_of(p->exe), name) == 0;
}

/* "worker" for "nginx: worker process", "app.py" for "python3 app.py". */
static bool is_within(const struct query *q, uint32_t process, const char *name) {
        const struct trace_process_info *p = &q->view->processes[process];

        if (p->title && strstr(p->title, name))
                return true;
        for (uint32_t i = 0; i < p->start.n_args; i++)
                if (strstr(p->start.args[i], name))
                        return true;
        return false;
}

/* A process is called by what it became; what it was before counts only where nothing else is called so. */
static void match(const struct query *q, const char *name, enum who_match how, struct listing *l) {
        for (uint32_t i = 0; i < q->view->n_processes; i++) {
                bool is_last = query_next_image(q, i) == TRACE_NO_PROCESS;

                if (is_last == (how != WHO_EARLIER) &&
                    (how == WHO_WITHIN ? is_within(q, i, name) : is_called(q, i, name)))
                        vec_push(&l->of, (struct listed){.process = i});
        }
}

static void list_all(const struct query *q, struct listing *l) {
        for (uint32_t i = 0; i < q->view->n_processes; i++)
                if (query_next_image(q, i) == TRACE_NO_PROCESS)
                        vec_push(&l->of, (struct listed){.process = i});
}

/* "812 python3 (145.0 MiB of its own at most), 700 sh (91.5 KiB)", largest first: without what they inherited. */
static void add_listing(struct query *q, struct listing *l, struct str *to) {
        const struct query_scope all = {.process = QUERY_ALL, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        size_t n = MIN(l->of.n, (size_t)WHO_MAX_LISTED);
        struct unit_text t;

        if (query_ask(q, &all, &a, NULL) >= 0)
                for (size_t i = 0; i < l->of.n; i++)
                        l->of.items[i].bytes = query_own_peak_bytes(a, l->of.items[i].process);
        qsort(l->of.items, l->of.n, sizeof(l->of.items[0]), larger_first);
        for (size_t i = 0; i < n; i++) {
                str_add(to, i ? ", " : "");
                query_add_process_word(q, l->of.items[i].process, to);
                str_add(to, " ");
                query_add_process_name(q, l->of.items[i].process, to);
                str_addf(to, " (%s%s)", unit_bytes(&t, l->of.items[i].bytes),
                         i ? "" : " of its own at most");
        }
        if (l->of.n > n)
                str_addf(to, " and %s more", unit_count(&t, l->of.n - n));
}

static int refuse(struct query *q, const char *who, struct listing *l, struct err *reterr) {
        struct str list = {0}, word = {0};
        size_t n_found = l->of.n;
        int r;

        if (!reterr)
                return n_found ? -EINVAL : -ESRCH;
        if (!n_found)
                list_all(q, l);
        add_listing(q, l, &list);
        add_bounded(&word, who);
        if (n_found)
                r = err_set(reterr, -EINVAL,
                            "'%s': %zu processes have this name: give the pid of one: %s",
                            str_text(&word), n_found, str_text(&list));
        else
                r = err_set(reterr, -ESRCH, "'%s': no such process: use all, main, or one of %s",
                            str_text(&word), str_text(&list));
        str_done(&list);
        str_done(&word);
        return err_about(reterr, "process", r);
}

/* PID, or PID.IMAGE for what it was before it became another program. */
static bool find_number(const struct query *q, const char *who, uint32_t *ret) {
        unsigned long long pid, image = 0;
        char *end;

        if (who[strspn(who, "0123456789.")] != '\0' || who[0] < '0' || who[0] > '9')
                return false;
        pid = strtoull(who, &end, 10);
        if (*end == '.' && end[1] >= '0' && end[1] <= '9')
                image = strtoull(end + 1, &end, 10);
        if (*end || pid > UINT32_MAX || image > UINT32_MAX)
                return false;
        if (!image)
                return query_find_process(q, (uint32_t)pid, ret, NULL) >= 0;
        for (uint32_t i = (uint32_t)q->view->n_processes; i-- > 0;)
                if (q->view->processes[i].start.pid == pid &&
                    q->view->processes[i].start.image == image) {
                        *ret = i;
                        return true;
                }
        return false;
}

int query_choose_process(struct query *q, const char *who, uint32_t *ret_process,
                         struct err *reterr) {
        struct listing l = {0};
        int r = 0;

        if (!who)
                *ret_process = q->view->n_processes > 1 ? QUERY_ALL : query_main_process(q);
        else if (strcmp(who, "all") == 0)
                *ret_process = QUERY_ALL;
        else if (strcmp(who, "main") == 0)
                *ret_process = query_main_process(q);
        else if (!find_number(q, who, ret_process)) {
                /* the number of no process is not a part of a name */
                int n_ways = who[strspn(who, "0123456789")] ? WHO_N_MATCHES : WHO_EXACT + 1;

                for (int how = 0; how < n_ways && l.of.n == 0 && who[0]; how++)
                        match(q, who, (enum who_match)how, &l);
                if (l.of.n == 1)
                        *ret_process = l.of.items[0].process;
                else
                        r = refuse(q, who, &l, reterr);
                vec_free(&l.of);
        }
        return r;
}
