/* SPDX-License-Identifier: MIT */
#include "symbol/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/fs.h"
#include "base/kernel_id.h"
#include "base/system_clock.h"
#include "symbol/cache.h"
#include "symbol/jit.h"
#include "symbol/module.h"

enum { WORKER_FLUSH_BYTES = 64 * 1024, WORKER_FILES_FACTOR = 16, WORKER_MAX_FD = 65535 };

struct worker {
        const struct worker_orders *orders;
        const struct worker_job *job; /* at hand */
        struct symbol_cache *cache;   /* NULL: none */
        struct cache_entry *entry;    /* of the module at hand; NULL: not to be kept */
        int fd;
        bytes_buf out;
};

/* ---- the pipe -------------------------------------------------------------------------------- */

static void worker_flush(struct worker *w) {
        if (fs_write_all(w->fd, w->out.items, w->out.n) < 0)
                _exit(WORKER_EXIT_DEAF);
        vec_clear(&w->out);
}

static void put_text(bytes_buf *b, const char *text) {
        size_t n = strlen(text);

        buf_u32(b, (uint32_t)n);
        buf_bytes(b, text, n);
}

/* symbol->location is that of the trace. */
static void worker_say_located(void *ctx, const struct trace_symbol *s) {
        struct worker *w = ctx;

        buf_u8(&w->out, WORKER_SYMBOL);
        buf_u32(&w->out, s->location);
        buf_u32(&w->out, s->line);
        buf_u8(&w->out,
               (uint8_t)((s->inlined ? WORKER_INLINED : 0) | (s->guess ? WORKER_GUESS : 0)));
        put_text(&w->out, s->function);
        put_text(&w->out, s->file);
        if (w->out.n > WORKER_FLUSH_BYTES)
                worker_flush(w);
}

/* symbol->location is a number of the job's places. */
static void worker_say(void *ctx, const struct trace_symbol *s) {
        const struct worker *w = ctx;
        struct trace_symbol located = *s;

        located.location = w->job->places[s->location].location;
        worker_say_located(ctx, &located);
}

static void worker_say_and_keep(void *ctx, const struct trace_symbol *s) {
        struct worker *w = ctx;

        worker_say(w, s);
        if (w->entry)
                cache_entry_add(w->entry, s);
}

static void worker_say_result(struct worker *w, uint32_t job_idx, const struct symbol_origin *o,
                              bool cached) {
        buf_u8(&w->out, WORKER_RESULT);
        buf_u32(&w->out, job_idx);
        buf_u8(&w->out, (uint8_t)o->naming);
        buf_u8(&w->out, cached);
        put_text(&w->out, o->file);
        put_text(&w->out, o->text);
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* A place that the recorder made up: its name needs no rights. False: there are others. */
static bool worker_name_unsampled(struct worker *w, const struct trace_module *m,
                                  const uint64_t *addresses, size_t n, struct symbol_origin *ret) {
        if (strcmp(m->path, KERNEL_ID_PATH) != 0 || n != 1 ||
            addresses[0] != KERNEL_UNSAMPLED_ADDRESS)
                return false;
        worker_say(w, &(struct trace_symbol){.function = KERNEL_UNSAMPLED_NAME, .file = ""});
        *ret = (struct symbol_origin){.naming = TRACE_NAMING_SYMTAB};
        return true;
}

static void worker_look_up(struct worker *w, const struct trace_module *m,
                           const uint64_t *addresses, size_t n, struct symbol_origin *ret) {
        _cleanup_(symbol_module_freep) struct symbol_module *sm = NULL;

        if (worker_name_unsampled(w, m, addresses, n, ret) ||
            symbol_module_open(m, &w->orders->options->search, &sm, ret) < 0)
                return;
        symbol_module_name(sm, addresses, n, worker_say_and_keep, w);
        symbol_module_origin(sm, ret);
}

static void worker_do_jit(struct worker *w, uint32_t job_idx) {
        static struct symbol_origin origin;

        w->job = &w->orders->jobs[job_idx];
        jit_name(w->orders->reader, worker_say_located, w, &origin);
        worker_say_result(w, job_idx, &origin, false);
        worker_flush(w);
}

/* What a running kernel has is no file that could be seen to change. */
static struct symbol_cache *cache_for(const struct worker *w, const struct trace_module *m) {
        return strcmp(m->path, KERNEL_ID_PATH) == 0 ? NULL : w->cache;
}

static void worker_do_module(struct worker *w, uint32_t job_idx) {
        const struct worker_job *job = &w->orders->jobs[job_idx];
        const struct trace_module *m = &w->orders->view->modules[job->module];
        _cleanup_free_ uint64_t *addresses = calloc(job->n_places, sizeof(*addresses));
        struct symbol_cache *cache = cache_for(w, m);
        struct symbol_origin origin = {0};
        bool cached;

        if (!addresses)
                abort();
        for (size_t i = 0; i < job->n_places; i++)
                addresses[i] = job->places[i].address;
        w->job = job;
        cached = cache && cache_answer(cache, m, addresses, job->n_places, worker_say, w, &origin);
        if (!cached) {
                w->entry = cache ? cache_entry_new(cache, m, addresses, job->n_places) : NULL;
                worker_look_up(w, m, addresses, job->n_places, &origin);
        }
        /* Said before it is kept: what goes wrong there costs nothing. */
        worker_say_result(w, job_idx, &origin, cached);
        worker_flush(w);
        if (w->entry)
                cache_entry_store(w->entry, &origin);
        w->entry = cache_entry_free(w->entry);
}

/* ---- limits ---------------------------------------------------------------------------------- */

/* What the process has inherited does not count. */
static void current_bytes(uint64_t *ret_space, uint64_t *ret_data) {
        uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        unsigned long long space = 0, data = 0;
        char text[128];

        if (fs_read_text("/proc/self/statm", text, sizeof(text)) > 0)
                (void)!sscanf(text, "%llu %*u %*u %*u %*u %llu", &space, &data);
        *ret_space = space * page_bytes;
        *ret_data = data * page_bytes;
}

/* vec_grow and its like abort when memory is out, right after the call that failed; so do the libraries in
 * places. Anything else that aborts is a crash. */
static void on_abort(int signal_number) {
        if (errno == ENOMEM) /* NOLINT(bugprone-signal-handler): this thread's own, set before */
                _exit(WORKER_EXIT_MEMORY);
        signal(signal_number, SIG_DFL);
        raise(signal_number);
}

/* Debug files are mapped, not read: they are no memory that could run out, and may be larger than it. */
static void worker_limit(const struct symbol_limits *limits) {
        rlim_t seconds = limits->time_ns / 1000000000 + 1;
        uint64_t space, data;

        current_bytes(&space, &data);
        space += limits->memory_bytes * WORKER_FILES_FACTOR;
        data += limits->memory_bytes;
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds + 1});
        setrlimit(RLIMIT_AS, &(struct rlimit){space, space});
        setrlimit(RLIMIT_DATA, &(struct rlimit){data, data});
}

/* The parent's handlers are none of this process's business, and what the terminal sends is meant for the
 * parent: when it ends, this process does. */
static void worker_set_signals(void) {
        static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE};
        sigset_t none;

        for (int i = 1; i < SIGRTMIN; i++)
                signal(i, SIG_DFL);
        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                signal(ignored[i], SIG_IGN);
        signal(SIGABRT, on_abort);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* What the libraries print when they die would stand in the program's terminal. */
static void worker_be_quiet(void) {
        int fd = fs_open("/dev/null", O_RDWR, 0);

        if (fd >= 0)
                dup2(fd, STDERR_FILENO);
}

/* Where memory is short the kernel takes this process first. */
static void worker_stand_back(void) {
        int fd = fs_open("/proc/self/oom_score_adj", O_WRONLY, 0);

        if (fd < 0)
                return;
        (void)!write(fd, "1000", 4);
        close(fd);
}

static void close_between(int first, int last) {
        if (first > last)
                return;
#ifdef SYS_close_range
        if (syscall(SYS_close_range, (unsigned)first, (unsigned)last, 0) == 0)
                return;
#endif
        for (int fd = first; fd <= MIN(last, WORKER_MAX_FD); fd++)
                close(fd);
}

/* The parent's sockets, and above all the trace with its lock, must not outlive it in a child. */
static void worker_close_others(int one, int other) {
        int low = MIN(one, other), high = MAX(one, other);

        close_between(STDERR_FILENO + 1, low - 1);
        close_between(MAX(low, STDERR_FILENO) + 1, high - 1);
        close_between(MAX(high, STDERR_FILENO) + 1, INT32_MAX);
}

static void leave_at_once(int status, void *ctx) __attribute__((noreturn));

/* libdw may leave through exit(), which would write out once more what the parent's streams hold. */
static void leave_at_once(int status, void *ctx) {
        (void)ctx;
        _exit(status);
}

void worker_main(const struct worker_orders *orders, unsigned seat, int fd) {
        struct worker w = {.orders = orders, .fd = fd};
        uint32_t job_idx;

        on_exit(leave_at_once, NULL);
        worker_set_signals();
        worker_close_others(fd, trace_reader_fd(orders->reader));
        worker_be_quiet();
        worker_stand_back();
        if (!orders->options->no_cache)
                w.cache = symbol_cache_open(&orders->options->search);
        while ((job_idx = atomic_fetch_add_explicit(&orders->board->next_job, 1,
                                                    memory_order_relaxed)) < orders->n_jobs) {
                atomic_store_explicit(&orders->board->seats[seat].since_ns, clock_now_ns(),
                                      memory_order_relaxed);
                atomic_store_explicit(&orders->board->seats[seat].job_plus_1, job_idx + 1,
                                      memory_order_relaxed);
                if (w.job == NULL)
                        worker_limit(&orders->options->limits);
                if (orders->jobs[job_idx].module == WORKER_NO_MODULE)
                        worker_do_jit(&w, job_idx);
                else
                        worker_do_module(&w, job_idx);
        }
        symbol_cache_close(w.cache);
        buf_u8(&w.out, WORKER_END);
        worker_flush(&w);
        _exit(0);
}
