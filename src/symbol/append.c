/* SPDX-License-Identifier: MIT */
/* Makes jobs of a trace's modules, runs workers over them, collects what they say, and puts it into the
 * trace. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/system_clock.h"
#include "symbol/kept_names.h"
#include "symbol/worker.h"
#include "symbol/worker_reply.h"
#include "trace/writer.h"

enum {
        APPEND_MAX_BARREN = 3, /* workers in a row that died before they took a job */
        APPEND_DEFAULT_WORKERS = 2,
};

struct seat {
        pid_t pid; /* 0: nobody sits here */
        int fd;
        struct worker_reply reply;
        bool is_late;
};

struct crew {
        struct worker_orders orders;
        struct worker_replies heard;
        struct arena *arena;
        struct seat seats[WORKER_MAX];
        unsigned n_seats, n_barren;
        uint64_t deadline_ns;
};

/* ---- workers come and go --------------------------------------------------------------------- */

static bool has_jobs(const struct crew *c) {
        return atomic_load_explicit(&c->orders.board->next_job, memory_order_relaxed) <
               c->orders.n_jobs;
}

static void seat_fill(struct crew *c, unsigned i) {
        struct seat *s = &c->seats[i];
        int fds[2];

        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        atomic_store_explicit(&c->orders.board->seats[i].job_plus_1, 0, memory_order_relaxed);
        atomic_store_explicit(&c->orders.board->seats[i].since_ns, clock_now_ns(),
                              memory_order_relaxed);
        s->pid = fork();
        if (s->pid == 0) {
                close(fds[0]);
                worker_main(&c->orders, i, fds[1]);
        }
        close(fds[1]);
        s->fd = fds[0];
        s->is_late = false;
        worker_reply_restart(&s->reply);
        if (s->pid < 0) {
                s->pid = 0;
                close(s->fd);
        }
}

static enum trace_naming naming_of_death(const struct seat *s, int status) {
        if (s->reply.is_mad)
                return TRACE_NAMING_CRASHED;
        if (s->is_late || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU))
                return TRACE_NAMING_TIMED_OUT;
        if (WIFEXITED(status) && WEXITSTATUS(status) == WORKER_EXIT_MEMORY)
                return TRACE_NAMING_OVER_MEMORY;
        /* not by this process: the kernel, for want of memory */
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
                return TRACE_NAMING_OVER_MEMORY;
        return TRACE_NAMING_CRASHED;
}

/* The module it was at stays unnamed. */
static void seat_clear(struct crew *c, unsigned i) {
        struct seat *s = &c->seats[i];
        uint32_t job =
                atomic_load_explicit(&c->orders.board->seats[i].job_plus_1, memory_order_relaxed);
        int status = 0;

        if (s->is_late || s->reply.is_mad)
                kill(s->pid, SIGKILL);
        close(s->fd);
        while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
                ;
        s->pid = 0;
        if (s->reply.has_ended)
                return;
        if (job > 0 && job <= c->orders.n_jobs && !c->heard.outcomes[job - 1].is_done)
                c->heard.outcomes[job - 1] =
                        (struct worker_reply_outcome){.naming = naming_of_death(s, status),
                                                      .is_done = true};
        else
                c->n_barren++;
}

/* One module may take half of what is left, so that a hang does not cost the others. */
static uint64_t seat_deadline_ns(const struct crew *c, unsigned i) {
        uint64_t since =
                atomic_load_explicit(&c->orders.board->seats[i].since_ns, memory_order_relaxed);

        if (since >= c->deadline_ns)
                return c->deadline_ns;
        return since + (c->deadline_ns - since) / 2;
}

static bool crew_man(struct crew *c) {
        bool any = false;

        for (unsigned i = 0; i < c->n_seats; i++) {
                if (c->seats[i].pid == 0 && has_jobs(c) && c->n_barren < APPEND_MAX_BARREN &&
                    clock_now_ns() < c->deadline_ns)
                        seat_fill(c, i);
                any |= c->seats[i].pid != 0;
        }
        return any;
}

static void seat_hear(struct crew *c, unsigned i) {
        struct seat *s = &c->seats[i];
        struct worker_reply *h = &s->reply;
        uint64_t n_results = c->heard.n_results;
        ssize_t n;

        vec_reserve(&h->in, 65536);
        n = fs_read_some(s->fd, h->in.items + h->in.n, 65536);
        if (n > 0) {
                h->in.n += (size_t)n;
                worker_reply_understand(&c->heard, h);
        }
        if (c->heard.n_results != n_results)
                c->n_barren = 0;
        if (n <= 0 || h->has_ended || h->is_mad)
                seat_clear(c, i);
}

static void crew_run(struct crew *c) {
        while (crew_man(c)) {
                struct pollfd p[WORKER_MAX];
                uint64_t now = clock_now_ns(), until = c->deadline_ns;

                for (unsigned i = 0; i < c->n_seats; i++) {
                        p[i] = (struct pollfd){.fd = c->seats[i].pid ? c->seats[i].fd : -1,
                                               .events = POLLIN};
                        if (c->seats[i].pid)
                                until = MIN(until, seat_deadline_ns(c, i));
                }
                if (poll(p, c->n_seats,
                         until > now ? (int)MIN((until - now) / 1000000 + 1, 1000) : 0) < 0)
                        continue;
                now = clock_now_ns();
                for (unsigned i = 0; i < c->n_seats; i++) {
                        if (c->seats[i].pid && p[i].revents)
                                seat_hear(c, i);
                        if (c->seats[i].pid && now >= seat_deadline_ns(c, i)) {
                                c->seats[i].is_late = true;
                                seat_clear(c, i);
                        }
                }
        }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static int place_compare(const void *a, const void *b) {
        const struct worker_place *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        return x->location < y->location ? -1 : x->location > y->location;
}

/* Large ones first: what is left at the end is short, and the workers end together. */
static int job_compare(const void *a, const void *b) {
        const struct worker_job *x = a, *y = b;

        if (x->n_places != y->n_places)
                return x->n_places > y->n_places ? -1 : 1;
        return x->module < y->module ? -1 : x->module > y->module;
}

/* Only places that occur are looked up. Arrays live in the arena. */
static void make_jobs(struct crew *c, const struct trace_view *v) {
        struct worker_job *jobs = arena_alloc(c->arena, (v->n_modules + 1) * sizeof(*jobs));
        struct worker_place *places = arena_alloc(c->arena, (v->n_locations + 1) * sizeof(*places));
        size_t *next = arena_alloc(c->arena, (v->n_modules + 1) * sizeof(*next)), n = 0;

        for (size_t i = 0; i < v->n_locations; i++)
                if (v->locations[i].module < v->n_modules && v->locations[i].offset > 0)
                        jobs[v->locations[i].module].n_places++;
        for (uint32_t m = 0; m < v->n_modules; m++) {
                jobs[m].module = m;
                jobs[m].places = places + n;
                next[m] = n;
                n += jobs[m].n_places;
        }
        for (uint32_t i = 0; i < v->n_locations; i++) {
                const struct trace_location *l = &v->locations[i];

                if (l->module < v->n_modules && l->offset > 0)
                        places[next[l->module]++] = (struct worker_place){l->offset - 1, i};
        }
        for (size_t m = 0; m < v->n_modules; m++)
                if (jobs[m].n_places)
                        qsort(places + (jobs[m].places - places), jobs[m].n_places, sizeof(*places),
                              place_compare);
        qsort(jobs, v->n_modules, sizeof(*jobs), job_compare);
        c->orders.jobs = jobs;
        while (c->orders.n_jobs < v->n_modules && jobs[c->orders.n_jobs].n_places)
                c->orders.n_jobs++;
        /* Last: a map is most complete when its process has ended for long. */
        n = 0;
        for (size_t i = 0; i < v->n_locations; i++)
                n += v->locations[i].module == WORKER_NO_MODULE;
        if (n)
                jobs[c->orders.n_jobs++] =
                        (struct worker_job){.module = WORKER_NO_MODULE, .n_places = n};
}

static unsigned choose_workers(const struct crew *c) {
        unsigned wanted = c->orders.options->n_workers;
        cpu_set_t cpus;

        if (wanted == 0) {
                wanted = APPEND_DEFAULT_WORKERS;
                if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
                        wanted = MIN(wanted, (unsigned)CPU_COUNT(&cpus));
        }
        return MIN(MIN(wanted, (unsigned)WORKER_MAX), c->orders.n_jobs);
}

/* ---- the table ------------------------------------------------------------------------------- */

struct symbol_table *symbol_table_free(struct symbol_table *t) {
        if (!t)
                return NULL;
        free(t->symbols);
        free(t->modules);
        arena_free(t->arena);
        free(t);
        return NULL;
}

struct sorted {
        struct trace_symbol symbol;
        size_t number;
};

static int sorted_compare(const void *a, const void *b) {
        const struct sorted *x = a, *y = b;

        if (x->symbol.location != y->symbol.location)
                return x->symbol.location < y->symbol.location ? -1 : 1;
        return x->number < y->number ? -1 : x->number > y->number;
}

/* By location; chains keep their order. */
static void table_fill_symbols(struct symbol_table *t, const struct crew *c) {
        VEC(struct sorted) all = {0};

        for (unsigned i = 0; i < c->n_seats; i++)
                for (size_t k = 0; k < c->seats[i].reply.n_sure; k++)
                        vec_push(&all, (struct sorted){c->seats[i].reply.symbols.items[k], all.n});
        if (all.n)
                qsort(all.items, all.n, sizeof(all.items[0]), sorted_compare);
        t->n_symbols = all.n;
        t->symbols = calloc(all.n + 1, sizeof(*t->symbols));
        if (!t->symbols)
                abort();
        for (size_t i = 0; i < all.n; i++)
                t->symbols[i] = all.items[i].symbol;
        vec_free(&all);
}

static const char *text_of_death(enum trace_naming naming) {
        switch (naming) {
        case TRACE_NAMING_CRASHED:
                return "name lookup crashed: its debug information is damaged: rebuild it, or install the matching debug file";
        case TRACE_NAMING_TIMED_OUT:
                return "name lookup took too long: try again with 'silt symbolize'";
        case TRACE_NAMING_OVER_MEMORY:
                return "name lookup took too much memory: try again with 'silt symbolize' on a larger machine";
        default: return "";
        }
}

static int module_names_compare(const void *a, const void *b) {
        const struct trace_module_names *x = a, *y = b;

        return x->module < y->module ? -1 : x->module > y->module;
}

static void table_fill_modules(struct symbol_table *t, const struct crew *c) {
        t->modules = calloc(c->orders.n_jobs + 1, sizeof(*t->modules));
        if (!t->modules)
                abort();
        for (uint32_t i = 0; i < c->orders.n_jobs; i++) {
                struct worker_reply_outcome o = c->heard.outcomes[i];

                if (!o.is_done) /* never begun */
                        o.naming = c->n_barren >= APPEND_MAX_BARREN ? TRACE_NAMING_OVER_MEMORY
                                                                    : TRACE_NAMING_TIMED_OUT;
                t->n_failed_modules += o.naming == TRACE_NAMING_CRASHED ||
                                       o.naming == TRACE_NAMING_TIMED_OUT ||
                                       o.naming == TRACE_NAMING_OVER_MEMORY;
                t->n_cached_modules += o.is_cached;
                if (c->orders.jobs[i].module == WORKER_NO_MODULE)
                        continue;
                t->modules[t->n_modules++] =
                        (struct trace_module_names){.module = c->orders.jobs[i].module,
                                                    .naming = o.naming,
                                                    .file = o.file ? o.file : "",
                                                    .text = o.text ? o.text
                                                                   : text_of_death(o.naming)};
        }
        qsort(t->modules, t->n_modules, sizeof(*t->modules), module_names_compare);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int crew_look_up(struct crew *c, struct trace_reader *reader) {
        const struct trace_view *v = trace_view(reader);
        void *board = mmap(NULL, sizeof(struct worker_board), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (board == MAP_FAILED)
                return -errno;
        c->orders.reader = reader;
        c->orders.view = v;
        c->orders.board = board;
        make_jobs(c, v);
        c->heard = (struct worker_replies){
                .arena = c->arena,
                .n_locations = v->n_locations,
                .n_jobs = c->orders.n_jobs,
                .outcomes =
                        arena_alloc(c->arena, (c->orders.n_jobs + 1) * sizeof(*c->heard.outcomes))};
        c->n_seats = choose_workers(c);
        crew_run(c);
        munmap(board, sizeof(struct worker_board));
        return 0;
}

int symbol_lookup(const char *trace_path, const struct symbol_options *options,
                  struct symbol_table **ret, struct err *reterr) {
        _cleanup_(symbol_table_freep) struct symbol_table *t = calloc(1, sizeof(*t));
        _cleanup_(trace_reader_freep) struct trace_reader *reader = NULL;
        struct crew c = {.orders.options = options,
                         .deadline_ns = clock_now_ns() + options->limits.time_ns};
        int r;

        if (!t)
                abort();
        r = trace_reader_open(trace_path, &reader, reterr);
        if (r < 0)
                return r;
        c.arena = t->arena = arena_new();
        r = crew_look_up(&c, reader);
        if (r >= 0) {
                table_fill_symbols(t, &c);
                table_fill_modules(t, &c);
                t->n_kept_modules = kept_names_put_back(t, trace_view(reader));
        }
        for (unsigned i = 0; i < WORKER_MAX; i++)
                worker_reply_done(&c.seats[i].reply);
        map_done(&c.heard.texts);
        if (r < 0)
                return err_set(reterr, r,
                               "'%s': cannot look up names: %s: reports will show addresses",
                               trace_path, strerror(-r));
        *ret = TAKE_PTR(t);
        return 0;
}

/* fd: from trace_open_for_names. */
static int symbol_table_write(const struct symbol_table *t, int fd, const char *trace_path,
                              struct err *reterr) {
        return trace_put_names_to(fd, trace_path,
                                  &(struct trace_names){.symbols = t->symbols,
                                                        .n_symbols = t->n_symbols,
                                                        .modules = t->modules,
                                                        .n_modules = t->n_modules},
                                  reterr);
}

int symbol_append_with(const char *trace_path, const struct symbol_options *options,
                       struct err *reterr) {
        _cleanup_(symbol_table_freep) struct symbol_table *t = NULL;
        _cleanup_close_ int fd = -1;
        int r;

        /* Before the work: whether its result can be kept, and that nobody else does the same. */
        fd = trace_open_for_names(trace_path, reterr);
        if (fd < 0)
                return fd;
        r = symbol_lookup(trace_path, options, &t, reterr);
        if (r < 0)
                return r;
        r = symbol_table_write(t, fd, trace_path, reterr);
        return r < 0 ? r : (int)t->n_kept_modules;
}

int symbol_append(const char *trace_path, struct err *reterr) {
        int r = symbol_append_with(trace_path, &SYMBOL_OPTIONS_DEFAULT, reterr);

        return MIN(r, 0);
}
