/* SPDX-License-Identifier: MIT */
/* Runs the workers, collects what they say, and puts it into the trace. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/arena.h"
#include "base/fs.h"
#include "base/map.h"
#include "symbol/worker.h"
#include "trace/writer.h"

enum { APPEND_MAX_FAILURES = 16, APPEND_MAX_TEXT_BYTES = 1 << 20 };

struct collector {
        struct arena *arena;
        struct map texts; /* hash of a string → its copy in the arena */
        VEC(struct trace_symbol) symbols;
        size_t n_sure;   /* symbols of modules that were looked up to their end */
        uint32_t module; /* being looked up; UINT32_MAX before the first */
        bool ended;
        bytes_buf in; /* bytes not yet understood */
        uint64_t deadline_ns, module_deadline_ns;
};

static uint64_t now_ns(void) {
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- what a worker says ---------------------------------------------------------------------- */

static const char *collect_text(struct collector *c, const uint8_t *text, size_t n) {
        uint64_t hash = 14695981039346656037ull, *copy;
        bool added;

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ text[i]) * 1099511628211ull;
        copy = map_put(&c->texts, hash, 0, &added);
        if (!added && strlen((const char *)(uintptr_t)*copy) == n &&
            memcmp((const char *)(uintptr_t)*copy, text, n) == 0)
                return (const char *)(uintptr_t)*copy;
        *copy = (uintptr_t)arena_strndup(c->arena, (const char *)text, n);
        return (const char *)(uintptr_t)*copy;
}

static const char *read_text(struct collector *c, struct bytes_reader *r) {
        uint32_t n = bytes_u32(r);
        const uint8_t *text = n <= APPEND_MAX_TEXT_BYTES ? bytes_take(r, n) : NULL;

        if (!text)
                return "";
        return collect_text(c, text, strnlen((const char *)text, n));
}

static void read_symbol(struct collector *c, struct bytes_reader *r) {
        struct trace_symbol s = {.location = bytes_u32(r), .line = bytes_u32(r)};
        uint8_t flags = bytes_u8(r);

        s.inlined = flags & WORKER_INLINED;
        s.guess = flags & WORKER_GUESS;
        s.function = read_text(c, r);
        s.file = read_text(c, r);
        if (!r->bad)
                vec_push(&c->symbols, s);
}

static void read_module(struct collector *c, struct bytes_reader *r) {
        uint32_t module = bytes_u32(r);
        uint64_t now = now_ns();

        if (r->bad)
                return;
        c->module = module;
        c->n_sure = c->symbols.n;
        /* One module may take half of what is left, so that a hang does not cost the others. */
        c->module_deadline_ns = now + (c->deadline_ns > now ? (c->deadline_ns - now) / 2 : 0);
}

/* Understands as many whole messages as have come; the rest waits for more. */
static void collect(struct collector *c) {
        struct bytes_reader r = bytes_reader_of(c->in.items, c->in.n);
        const uint8_t *done = r.pos;

        while (bytes_left(&r) > 0 && !c->ended) {
                switch (bytes_u8(&r)) {
                case WORKER_MODULE: read_module(c, &r); break;
                case WORKER_SYMBOL: read_symbol(c, &r); break;
                case WORKER_END:
                        c->ended = true;
                        c->n_sure = c->symbols.n;
                        break;
                default: r.bad = true; break;
                }
                if (r.bad)
                        break;
                done = r.pos;
        }
        c->in.n -= (size_t)(done - c->in.items);
        memmove(c->in.items, done, c->in.n);
}

/* ---- one worker ------------------------------------------------------------------------------ */

/* Until the worker closes its end or its time is up. */
static void listen_to(struct collector *c, int fd) {
        for (;;) {
                uint64_t now = now_ns(), end_ns = MIN(c->deadline_ns, c->module_deadline_ns);
                struct pollfd p = {.fd = fd, .events = POLLIN};
                ssize_t n;

                if (now >= end_ns)
                        return;
                if (poll(&p, 1, (int)MIN((end_ns - now) / 1000000 + 1, 1000)) <= 0)
                        continue;
                vec_reserve(&c->in, 65536);
                n = fs_read_some(fd, c->in.items + c->in.n, 65536);
                if (n <= 0)
                        return;
                c->in.n += (size_t)n;
                collect(c);
        }
}

static int run_worker(struct collector *c, const char *trace_path, uint32_t first_module,
                      const struct symbol_limits *limits) {
        int fds[2];
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid == 0) {
                close(fds[0]);
                worker_main(trace_path, first_module, limits, fds[1]);
        }
        close(fds[1]);
        if (pid > 0) {
                vec_clear(&c->in);
                c->module_deadline_ns = c->deadline_ns;
                listen_to(c, fds[0]);
                kill(pid, SIGKILL);
                while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                        ;
        }
        close(fds[0]);
        return pid < 0 ? -errno : 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct symbol_table *symbol_table_free(struct symbol_table *t) {
        if (!t)
                return NULL;
        free(t->symbols);
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
static void sort_symbols(struct trace_symbol *symbols, size_t n) {
        _cleanup_free_ struct sorted *s = calloc(n + 1, sizeof(*s));

        if (!s)
                abort();
        for (size_t i = 0; i < n; i++)
                s[i] = (struct sorted){symbols[i], i};
        qsort(s, n, sizeof(*s), sorted_compare);
        for (size_t i = 0; i < n; i++)
                symbols[i] = s[i].symbol;
}

int symbol_lookup(const char *trace_path, const struct symbol_limits *limits,
                  struct symbol_table **ret, struct err *reterr) {
        _cleanup_(symbol_table_freep) struct symbol_table *t = calloc(1, sizeof(*t));
        struct collector c = {.deadline_ns = now_ns() + limits->time_ns};
        uint32_t first_module = 0;
        int r = 0;

        if (!t)
                abort();
        c.arena = t->arena = arena_new();
        while (r >= 0 && !c.ended && t->n_failed_modules < APPEND_MAX_FAILURES &&
               now_ns() < c.deadline_ns) {
                c.module = UINT32_MAX;
                r = run_worker(&c, trace_path, first_module, limits);
                if (r < 0 || c.ended)
                        break;
                /* It did not come to its end: leave out the module it was at. */
                c.symbols.n = c.n_sure;
                t->n_failed_modules++;
                if (c.module == UINT32_MAX)
                        r = -EBADMSG; /* not even one begun: the trace itself cannot be read */
                first_module = c.module + 1;
        }
        map_done(&c.texts);
        vec_free(&c.in);
        t->symbols = c.symbols.items;
        t->n_symbols = c.symbols.n;
        if (r < 0)
                return err_set(reterr, r,
                               "'%s': cannot look up names: %s: its report shows addresses",
                               trace_path, strerror(-r));
        sort_symbols(t->symbols, t->n_symbols);
        *ret = TAKE_PTR(t);
        return 0;
}

int symbol_append(const char *trace_path, struct err *reterr) {
        _cleanup_(symbol_table_freep) struct symbol_table *t = NULL;
        int r;

        r = symbol_lookup(trace_path, &SYMBOL_LIMITS_DEFAULT, &t, reterr);
        if (r < 0)
                return r;
        if (t->n_symbols == 0)
                return 0;
        return trace_append_symbols(trace_path, t->symbols, t->n_symbols, reterr);
}
