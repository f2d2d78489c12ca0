/* SPDX-License-Identifier: MIT */
#include "import/import_ticks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/units.h"
#include "base/vec.h"
#include "import/import_hash.h"
#include "ledger/trace_maker.h"

enum { TICKS_MAX_PARENTS = 16 };

struct tick_process {
        uint32_t pid, parent_pid;
        uint32_t id; /* of the trace; TRACE_NO_PROCESS: it has no samples yet, or has ended */
        uint32_t n_images, n_threads;
        uint64_t start_ns;
        bool has_parent, has_start, has_samples;
};

struct tick_thread {
        uint32_t id;      /* of the trace; TRACE_NO_THREAD */
        uint32_t process; /* of the trace: that it is of */
        const char *name;
};

struct import_ticks {
        struct import_trace *t;
        struct trace_maker *maker;
        struct arena *arena; /* names */
        VEC(struct tick_process) processes;
        VEC(struct tick_thread) threads;
        uint64_t idle_ns;
        struct map by_pid, by_task, names; /* names: hash of the text → it */
};

static struct tick_process *process_of(struct import_ticks *k, uint32_t pid) {
        bool is_new;
        uint64_t *idx = map_put(&k->by_pid, pid, k->processes.n, &is_new);

        if (is_new)
                vec_push(&k->processes, (struct tick_process){.pid = pid, .id = TRACE_NO_PROCESS});
        return &k->processes.items[*idx];
}

static struct tick_thread *thread_of(struct import_ticks *k, struct import_task task) {
        bool is_new;
        uint64_t *idx =
                map_put(&k->by_task, (uint64_t)task.pid << 32 | task.tid, k->threads.n, &is_new);

        if (is_new)
                vec_push(&k->threads, (struct tick_thread){TRACE_NO_THREAD, TRACE_NO_PROCESS, ""});
        return &k->threads.items[*idx];
}

struct import_ticks *import_ticks_new(struct import_trace *t, uint32_t pid) {
        struct import_ticks *k = calloc(1, sizeof(*k));
        struct tick_process *p;
        struct tick_thread *first;

        if (!k)
                abort();
        k->t = t;
        k->maker = import_trace_maker(t);
        k->arena = arena_new();
        p = process_of(k, pid);
        p->id = 0;
        p->n_images = p->n_threads = 1;
        first = thread_of(k, (struct import_task){pid, pid});
        first->id = first->process = 0;
        return k;
}

struct import_ticks *import_ticks_free(struct import_ticks *k) {
        if (!k)
                return NULL;
        vec_free(&k->processes);
        vec_free(&k->threads);
        map_done(&k->by_pid);
        map_done(&k->by_task);
        map_done(&k->names);
        arena_free(k->arena);
        free(k);
        return NULL;
}

/* ---- what is told of them ------------------------------------------------------------------------ */

/* Many threads have few names. */
static const char *keep_name(struct import_ticks *k, const char *name) {
        bool is_new;
        uint64_t *kept = map_put(&k->names, hash_text(1, name), 0, &is_new);

        if (is_new)
                *kept = (uint64_t)(uintptr_t)arena_strdup(k->arena, name);
        return strcmp((const char *)(uintptr_t)*kept, name) == 0 ? (const char *)(uintptr_t)*kept
                                                                 : arena_strdup(k->arena, name);
}

void import_ticks_name(struct import_ticks *k, struct import_task task, const char *name) {
        struct tick_thread *thread = thread_of(k, task);

        if (strcmp(thread->name, name) == 0)
                return;
        thread->name = keep_name(k, name);
        if (thread->id != TRACE_NO_THREAD && thread->process == process_of(k, task.pid)->id)
                trace_maker_name_thread(k->maker, thread->id, thread->name);
}

void import_ticks_fork(struct import_ticks *k, struct import_task child, struct import_task parent,
                       uint64_t time_ns) {
        const char *name = thread_of(k, parent)->name;
        struct tick_process *p = process_of(k, child.pid);

        if (child.pid != parent.pid && p->id == TRACE_NO_PROCESS) {
                p->has_parent = true;
                p->parent_pid = parent.pid;
                p->start_ns = time_ns;
                p->has_start = true;
        }
        if (name[0])
                import_ticks_name(k, child, name);
}

static void end_process(struct import_ticks *k, struct tick_process *p, uint64_t time_ns,
                        enum trace_ended ended) {
        const struct trace_process_end end = {.process = p->id,
                                              .ended = ended,
                                              .status = -1,
                                              .end_ns = time_ns,
                                              .n_threads = p->n_threads};

        if (p->id != TRACE_NO_PROCESS)
                trace_maker_end_process(k->maker, &end);
        p->id = TRACE_NO_PROCESS;
        p->start_ns = time_ns;
        p->has_start = true;
        p->n_threads = 0;
        p->has_samples = false;
}

void import_ticks_exec(struct import_ticks *k, uint32_t pid, uint64_t time_ns) {
        struct tick_process *p = process_of(k, pid);

        if (p->has_samples ||
            p->id == TRACE_NO_PROCESS) /* else the trace was begun with what it is now */
                end_process(k, p, time_ns, TRACE_ENDED_EXEC);
}

void import_ticks_exit(struct import_ticks *k, uint32_t pid, uint64_t time_ns) {
        end_process(k, process_of(k, pid), time_ns, TRACE_ENDED_EXIT);
}

/* ---- in the trace -------------------------------------------------------------------------------- */

/* The nearest that has samples. */
static uint32_t find_parent(const struct import_ticks *k, const struct tick_process *p) {
        uint64_t idx;

        for (size_t i = 0; i < TICKS_MAX_PARENTS && p->has_parent; i++) {
                if (!map_get(&k->by_pid, p->parent_pid, &idx))
                        break;
                p = &k->processes.items[idx];
                if (p->id != TRACE_NO_PROCESS)
                        return p->id;
        }
        return TRACE_NO_PROCESS;
}

static int place_process(struct import_ticks *k, const struct import_tick *tick, uint32_t *ret) {
        uint32_t pid = tick->task.pid;
        struct tick_process *p = process_of(k, pid);
        const char *name = thread_of(k, (struct import_task){pid, pid})->name;
        struct trace_process process = {.pid = pid};
        int r = 0;

        if (p->id == TRACE_NO_PROCESS) {
                if (!name[0])
                        name = thread_of(k, tick->task)->name;
                if (!p->has_start) /* then as late as can be */
                        p->start_ns = tick->time_ns - MIN(tick->time_ns, tick->weight_ns);
                process.start_ns = p->start_ns;
                process.parent = find_parent(k, p);
                process.image = ++p->n_images;
                process.n_args = name[0] != '\0';
                process.args = &name;
                process.exe = name;
                r = trace_maker_begin_process(k->maker, &process, false, &p->id);
        }
        p->has_samples = true;
        *ret = p->id;
        return r;
}

static int place_thread(struct import_ticks *k, const struct import_tick *tick, uint32_t process,
                        uint32_t *ret) {
        struct tick_thread *thread = thread_of(k, tick->task);
        struct tick_process *p = process_of(k, tick->task.pid);
        int r = 0;

        if (thread->id == TRACE_NO_THREAD || thread->process != process) {
                thread->process = process;
                p->n_threads++;
                r = trace_maker_add_thread(k->maker,
                                           &(struct trace_thread){process, tick->task.tid,
                                                                  tick->task.tid == tick->task.pid
                                                                          ? p->start_ns
                                                                          : tick->time_ns},
                                           thread->name, &thread->id);
        }
        *ret = thread->id;
        return r;
}

int import_ticks_put(struct import_ticks *k, const struct import_tick *tick, struct err *reterr) {
        struct trace_tick placed = {.time_ns = tick->time_ns,
                                    .weight_ns = MIN(tick->weight_ns, TRACE_TICK_MAX_NS),
                                    .stack = tick->stack,
                                    .n_samples = 1,
                                    .state = (uint8_t)tick->state};
        uint32_t process;
        int r = place_process(k, tick, &process);

        if (r >= 0)
                r = place_thread(k, tick, process, &placed.thread);
        if (r >= 0)
                r = trace_maker_tick(k->maker, &placed);
        if (r < 0)
                return err_set_errno(reterr, r, "cannot keep a sample");
        import_trace_count_tick(k->t, tick->time_ns, tick->stack);
        k->idle_ns += tick->task.tid == 0 ? placed.weight_ns : 0;
        return 0;
}

void import_ticks_tell(const struct import_ticks *k) {
        struct unit_text t;
        char text[120];

        if (!k->idle_ns)
                return;
        snprintf(text, sizeof(text), "%s of the CPU time is that of idle CPUs (swapper)",
                 unit_duration(&t, k->idle_ns));
        import_trace_limit(k->t, text);
}
