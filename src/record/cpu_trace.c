/* SPDX-License-Identifier: MIT */
#include "record/cpu_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/arena.h"
#include "base/kernel_id.h"
#include "base/map.h"
#include "base/vec.h"
#include "ledger/trace_maker.h"
#include "record/proc.h"
#include "trace/writer.h"

struct cpu_process {
        pid_t pid;
        uint32_t n_threads;
        bool is_over;
        uint64_t peak_bytes;
        uint64_t cpu_begin_ns,
                cpu_ns;  /* as the kernel counted, when it began and when it was last asked */
        uint32_t n_args; /* as it began with; a child has its parent's */
        const char *const *args;
        const char *exe;
};

struct cpu_trace {
        struct trace_writer *w;
        struct trace_maker *maker;
        struct arena *arena; /* commands */
        uint64_t start_ns;
        pid_t target;
        const char *const *target_args;
        uint32_t n_target_args;
        VEC(struct cpu_process) processes; /* by the trace's number */
        VEC(uint32_t) thread_process;      /* the process of each thread */
        uint64_t n_execs;                  /* of each of which one thread is told anew */
        struct map images;                 /* pid → how many */
        struct map modules;                /* number of a file → module */
        uint32_t kernel_module;            /* UINT32_MAX: not yet needed */
        VEC(uint32_t) living;              /* of them, those that are not over */
        /* of the target */
        bool has_status;
        int wait_status;
        uint64_t max_rss_bytes;
        uint32_t ended_process; /* its end waits for its status; TRACE_NO_PROCESS: none does */
        uint64_t ended_ns;
};

int cpu_trace_new(struct trace_writer *w, uint64_t start_ns, pid_t target, const char *const *args,
                  uint32_t n_args, struct cpu_trace **ret) {
        struct cpu_trace *c = calloc(1, sizeof(*c));
        int r;

        if (!c)
                return -ENOMEM;
        *c = (struct cpu_trace){.w = w,
                                .start_ns = start_ns,
                                .target = target,
                                .target_args = args,
                                .n_target_args = n_args,
                                .arena = arena_new(),
                                .kernel_module = UINT32_MAX,
                                .ended_process = TRACE_NO_PROCESS};
        r = trace_maker_new(w, 0, &c->maker);
        if (r < 0)
                return r;
        *ret = c;
        return 0;
}

static uint64_t cpu_time(const struct cpu_trace *c, uint64_t clock_ns) {
        return clock_ns > c->start_ns ? clock_ns - c->start_ns : 0;
}

/* ---- processes and threads ------------------------------------------------------------------------- */

static void cpu_write_end(struct cpu_trace *c, uint32_t process, uint64_t time_ns, uint32_t ended,
                          int status) {
        struct cpu_process *p = &c->processes.items[process];

        trace_maker_end_process(c->maker,
                                &(struct trace_process_end){.process = process,
                                                            .ended = ended,
                                                            .status = status,
                                                            .end_ns = time_ns,
                                                            .peak_rss_bytes = p->peak_bytes,
                                                            .n_threads = p->n_threads});
        p->is_over = true;
        for (size_t i = 0; i < c->living.n; i++)
                if (c->living.items[i] == process) {
                        c->living.items[i] = c->living.items[--c->living.n];
                        break;
                }
}

static void cpu_end_with_status(struct cpu_trace *c, uint32_t process, uint64_t time_ns,
                                int wait_status) {
        if (wait_status < 0)
                cpu_write_end(c, process, time_ns, TRACE_ENDED_EXIT, -1);
        else if (WIFSIGNALED(wait_status))
                cpu_write_end(c, process, time_ns, TRACE_ENDED_SIGNAL, WTERMSIG(wait_status));
        else
                cpu_write_end(c, process, time_ns, TRACE_ENDED_EXIT, WEXITSTATUS(wait_status));
}

/* Most are asked too late, if they are short: they are gone, or another program already. Then a child has its parent's command, and
 * a new program its name. */
static void cpu_read_command(struct cpu_trace *c, const struct ticker_process *begin,
                             const struct cpu_process *before, struct cpu_process *ret) {
        bool is_first = begin->pid == c->target && c->n_target_args && c->processes.n == 0;
        bool is_still = !is_first && proc_is_called(begin->pid, begin->name);

        ret->exe = is_first || is_still ? proc_exe(c->arena, begin->pid) : "";
        if (is_still)
                ret->args = proc_args(c->arena, begin->pid, &ret->n_args);
        if (!ret->exe[0] && before && !begin->is_exec)
                ret->exe = before->exe;
        if (ret->n_args)
                return;
        if (is_first) {
                ret->args = c->target_args;
                ret->n_args = c->n_target_args;
        } else if (before && !begin->is_exec) {
                ret->args = before->args;
                ret->n_args = before->n_args;
        } else {
                const char **args = arena_alloc(c->arena, sizeof(*args));

                args[0] = arena_strdup(c->arena, begin->name);
                ret->args = args;
                ret->n_args = 1;
        }
}

static uint32_t cpu_on_process(void *ctx, const struct ticker_process *begin) {
        struct cpu_trace *c = ctx;
        struct cpu_process new = {.pid = begin->pid};
        const struct cpu_process *before =
                begin->parent < c->processes.n ? &c->processes.items[begin->parent] : NULL;
        struct trace_process p = {.pid = (uint32_t)begin->pid,
                                  .parent = before ? begin->parent : TRACE_NO_PROCESS,
                                  .start_ns = cpu_time(c, begin->time_ns)};
        uint32_t id;

        c->n_execs += begin->is_exec;
        if (begin->is_exec && before && !before->is_over)
                cpu_write_end(c, begin->parent, p.start_ns, TRACE_ENDED_EXEC, -1);
        cpu_read_command(c, begin, before, &new);
        if (begin->is_exec && before)
                new.cpu_begin_ns = before->cpu_ns;
        else if (begin->was_there)
                new.cpu_begin_ns = proc_cpu_ns(begin->pid);
        new.cpu_ns = new.cpu_begin_ns;
        p.image = (uint32_t)++ * map_put(&c->images, (uint64_t)begin->pid, 0, NULL);
        p.args = new.args;
        p.n_args = new.n_args;
        p.exe = new.exe;
        if (trace_maker_begin_process(c->maker, &p, false, &id) < 0)
                return UINT32_MAX;
        vec_push(&c->processes, new);
        vec_push(&c->living, id);
        return id;
}

static void cpu_on_process_end(void *ctx, uint32_t process, uint64_t time_ns) {
        struct cpu_trace *c = ctx;
        int status = -1;

        if (process >= c->processes.n || c->processes.items[process].is_over)
                return;
        time_ns = cpu_time(c, time_ns);
        if (c->processes.items[process].pid != c->target) {
                if (!proc_end_status(c->processes.items[process].pid, &status))
                        status = -1;
                cpu_end_with_status(c, process, time_ns, status);
        } else if (c->has_status) {
                c->processes.items[process].peak_bytes =
                        MAX(c->processes.items[process].peak_bytes, c->max_rss_bytes);
                cpu_end_with_status(c, process, time_ns, c->wait_status);
        } else {
                c->ended_process = process;
                c->ended_ns = time_ns;
        }
}

void cpu_trace_target_ended(struct cpu_trace *c, int wait_status, uint64_t max_rss_bytes) {
        uint32_t process = c->ended_process;

        c->has_status = true;
        c->wait_status = wait_status;
        /* what wait() tells is the most that it or any child it waited for had */
        c->max_rss_bytes = c->processes.n == 1 ? max_rss_bytes : 0;
        c->ended_process = TRACE_NO_PROCESS;
        if (process != TRACE_NO_PROCESS)
                cpu_on_process_end(c, process, c->ended_ns + c->start_ns);
}

static uint32_t cpu_on_thread(void *ctx, uint32_t process, pid_t tid, uint64_t time_ns) {
        struct cpu_trace *c = ctx;
        uint32_t id;

        if (process >= c->processes.n ||
            trace_maker_add_thread(c->maker,
                                   &(struct trace_thread){.process = process,
                                                          .tid = (uint32_t)tid,
                                                          .start_ns = cpu_time(c, time_ns)},
                                   "", &id) < 0)
                return TRACE_NO_THREAD;
        c->processes.items[process].n_threads++;
        vec_push(&c->thread_process, process);
        return id;
}

static void cpu_on_thread_name(void *ctx, uint32_t thread, const char *name) {
        struct cpu_trace *c = ctx;

        if (thread != TRACE_NO_THREAD)
                trace_name_thread(c->w, thread, name);
}

/* ---- ticks ----------------------------------------------------------------------------------------- */

static uint32_t cpu_module(struct cpu_trace *c, const struct remote_module *m) {
        struct trace_module fill = {.path = m->path,
                                    .build_id_len = MIN(m->build_id_len, 32u),
                                    .size_bytes = m->size_bytes};
        bool is_new;
        uint64_t *id = map_put(&c->modules, m->id, 0, &is_new);

        if (!is_new)
                return (uint32_t)*id;
        memcpy(fill.build_id, m->build_id, fill.build_id_len);
        *id = trace_maker_add_module(c->maker, &fill);
        return (uint32_t)*id;
}

static uint32_t cpu_kernel_module(struct cpu_trace *c) {
        struct trace_module m = {.path = KERNEL_ID_PATH};

        if (c->kernel_module == UINT32_MAX) {
                m.build_id_len = kernel_id_read(m.build_id);
                c->kernel_module = trace_maker_add_module(c->maker, &m);
        }
        return c->kernel_module;
}

static uint32_t cpu_push(struct cpu_trace *c, uint32_t stack, uint32_t module, uint64_t offset) {
        struct trace_location l = {.module = module, .offset = offset};
        uint32_t location, id;

        if (trace_maker_add_location(c->maker, &l, &location) < 0 ||
            trace_maker_add_stack(c->maker, stack, location, &id) < 0)
                return stack;
        return id;
}

/* From the outermost frame on. */
static uint32_t cpu_stack(struct cpu_trace *c, const struct ticker_tick *t) {
        uint32_t stack = 0;

        for (size_t i = t->path.n_pcs; i-- > 0;) {
                uint64_t offset = t->path.pcs[i];
                const struct remote_module *m =
                        remote_space_locate(t->space, t->path.pcs[i], &offset);

                stack = m ? cpu_push(c, stack, cpu_module(c, m), offset)
                          : cpu_push(c, stack, UINT32_MAX, t->path.pcs[i]);
        }
        for (size_t i = t->path.n_kernel; i-- > 0;)
                stack = cpu_push(c, stack, cpu_kernel_module(c), t->path.kernel_pcs[i]);
        return stack;
}

static void cpu_on_tick(void *ctx, const struct ticker_tick *t) {
        static const uint8_t states[TICKER_N_STATES] = {[TICKER_RUNS] = TRACE_ON_CPU,
                                                        [TICKER_BLOCKED] = TRACE_BLOCKED,
                                                        [TICKER_READY] = TRACE_READY};
        struct cpu_trace *c = ctx;

        if (t->thread == TRACE_NO_THREAD)
                return;
        trace_put_tick(c->w, &(struct trace_tick){.time_ns = cpu_time(c, t->time_ns),
                                                  .weight_ns = t->weight_ns,
                                                  .thread = t->thread,
                                                  .stack = cpu_stack(c, t),
                                                  .n_samples = (uint32_t)MIN(t->n_samples,
                                                                             (uint64_t)UINT32_MAX),
                                                  .state = states[t->state]});
}

void cpu_trace_calls(struct cpu_trace *c, struct ticker_calls *ret) {
        *ret = (struct ticker_calls){.ctx = c,
                                     .on_process = cpu_on_process,
                                     .on_process_end = cpu_on_process_end,
                                     .on_thread = cpu_on_thread,
                                     .on_thread_name = cpu_on_thread_name,
                                     .on_tick = cpu_on_tick};
}

/* ---- beside them ----------------------------------------------------------------------------------- */

void cpu_trace_sample(struct cpu_trace *c, uint64_t now_ns) {
        struct proc_memory m;

        for (size_t i = 0; i < c->living.n; i++) {
                struct cpu_process *p = &c->processes.items[c->living.items[i]];

                if (!proc_memory(p->pid, &m))
                        continue;
                p->peak_bytes = MAX(p->peak_bytes, m.peak_bytes);
                p->cpu_ns = MAX(p->cpu_ns, m.cpu_ns);
                trace_maker_sample(c->maker, &(struct trace_sample){.process = c->living.items[i],
                                                                    .time_ns = cpu_time(c, now_ns),
                                                                    .anon_bytes = m.anon_bytes,
                                                                    .file_bytes = m.file_bytes,
                                                                    .shmem_bytes = m.shmem_bytes,
                                                                    .minor_faults = m.minor_faults,
                                                                    .major_faults = m.major_faults,
                                                                    .cpu_ns = m.cpu_ns});
        }
}

void cpu_trace_end_slice(struct cpu_trace *c, uint64_t now_ns) {
        trace_maker_end_slice(c->maker, cpu_time(c, now_ns));
}

void cpu_trace_note(struct cpu_trace *c, uint64_t now_ns, const char *text) {
        trace_maker_note(c->maker, cpu_time(c, now_ns), text);
}

void cpu_trace_finish(struct cpu_trace *c, uint64_t now_ns) {
        for (uint32_t i = (uint32_t)c->processes.n; i-- > 0;)
                if (!c->processes.items[i].is_over)
                        cpu_write_end(c, i, cpu_time(c, now_ns), TRACE_ENDED_STOPPED, -1);
        trace_maker_finish(c->maker, cpu_time(c, now_ns));
}

uint32_t cpu_trace_n_living(const struct cpu_trace *c) {
        return (uint32_t)c->living.n;
}

uint64_t cpu_trace_known_ns(const struct cpu_trace *c) {
        uint64_t sum = 0;

        for (size_t i = 0; i < c->processes.n; i++)
                sum += c->processes.items[i].cpu_ns - c->processes.items[i].cpu_begin_ns;
        return sum;
}

uint64_t cpu_trace_n_threads(const struct cpu_trace *c) {
        return c->thread_process.n - MIN(c->n_execs, c->thread_process.n);
}

uint32_t cpu_trace_n_processes(const struct cpu_trace *c) {
        return (uint32_t)c->processes.n;
}
