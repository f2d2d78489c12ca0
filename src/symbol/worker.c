/* SPDX-License-Identifier: MIT */
#include "symbol/worker.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/fs.h"
#include "symbol/module.h"

enum { WORKER_FLUSH_BYTES = 64 * 1024 };

struct worker {
        int fd;
        bytes_buf out;
        const struct trace_view *view;
        VEC(struct place) places; /* of the module at hand, by address */
};

struct place {
        uint64_t address;
        uint32_t location;
};

static void worker_flush(struct worker *w) {
        if (fs_write_all(w->fd, w->out.items, w->out.n) < 0)
                _exit(1); /* nobody listens */
        vec_clear(&w->out);
}

static void put_text(bytes_buf *b, const char *text) {
        size_t n = strlen(text);

        buf_u32(b, (uint32_t)n);
        buf_bytes(b, text, n);
}

static void worker_symbol(void *ctx, const struct trace_symbol *s) {
        struct worker *w = ctx;

        buf_u8(&w->out, WORKER_SYMBOL);
        buf_u32(&w->out, w->places.items[s->location].location);
        buf_u32(&w->out, s->line);
        buf_u8(&w->out,
               (uint8_t)((s->inlined ? WORKER_INLINED : 0) | (s->guess ? WORKER_GUESS : 0)));
        put_text(&w->out, s->function);
        put_text(&w->out, s->file);
        if (w->out.n > WORKER_FLUSH_BYTES)
                worker_flush(w);
}

static int place_compare(const void *a, const void *b) {
        const struct place *x = a, *y = b;

        if (x->address != y->address)
                return x->address < y->address ? -1 : 1;
        return x->location < y->location ? -1 : x->location > y->location;
}

/* Return addresses point behind the call: the byte before them is inside it. */
static void worker_collect(struct worker *w, uint32_t module) {
        vec_clear(&w->places);
        for (uint32_t i = 0; i < w->view->n_locations; i++) {
                const struct trace_location *l = &w->view->locations[i];

                if (l->module == module && l->offset > 0)
                        vec_push(&w->places, (struct place){l->offset - 1, i});
        }
        if (w->places.n)
                qsort(w->places.items, w->places.n, sizeof(w->places.items[0]), place_compare);
}

static void worker_module(struct worker *w, uint32_t module) {
        _cleanup_(symbol_module_freep) struct symbol_module *m = NULL;
        _cleanup_free_ uint64_t *addresses = NULL;
        struct symbol_origin origin;

        worker_collect(w, module);
        if (w->places.n == 0)
                return;
        buf_u8(&w->out, WORKER_MODULE);
        buf_u32(&w->out, module);
        worker_flush(w);
        if (symbol_module_open(&w->view->modules[module], NULL, &m, &origin) < 0)
                return;
        addresses = calloc(w->places.n, sizeof(*addresses));
        if (!addresses)
                abort();
        for (size_t i = 0; i < w->places.n; i++)
                addresses[i] = w->places.items[i].address;
        symbol_module_name(m, addresses, w->places.n, worker_symbol, w);
}

/* RLIMIT_AS counts what the process has inherited too. */
static uint64_t address_space_bytes(void) {
        unsigned long long n_pages = 0;
        char text[64];

        if (fs_read_text("/proc/self/statm", text, sizeof(text)) <= 0 ||
            sscanf(text, "%llu", &n_pages) != 1)
                return 0;
        return n_pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void worker_limit(const struct symbol_limits *limits) {
        rlim_t seconds = limits->time_ns / 1000000000 + 1;
        rlim_t space = address_space_bytes() + limits->memory_bytes;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
        setrlimit(RLIMIT_AS, &(struct rlimit){space, space});
}

void worker_main(const char *trace_path, uint32_t first_module, const struct symbol_limits *limits,
                 int fd) {
        struct worker w = {.fd = fd};
        struct trace_reader *t;
        struct err e = {0};

        worker_limit(limits);
        if (trace_reader_open(trace_path, &t, &e) < 0)
                _exit(1);
        w.view = trace_view(t);
        for (uint32_t m = first_module; m < w.view->n_modules; m++)
                worker_module(&w, m);
        buf_u8(&w.out, WORKER_END);
        worker_flush(&w);
        _exit(0);
}
