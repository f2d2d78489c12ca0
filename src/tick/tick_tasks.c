/* SPDX-License-Identifier: MIT */
#include "tick/tick_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

void tick_tasks_init(struct tick_tasks *k, const struct ticker_calls *calls) {
        *k = (struct tick_tasks){.calls = calls};
}

static void process_drop(struct tick_process *p) {
        remote_space_free(p->space);
        free(p);
}

static void thread_drop(struct tick_thread *t) {
        free(t->wait.pcs);
        free(t);
}

void tick_tasks_done(struct tick_tasks *k) {
        for (size_t i = 0; i < k->living.n; i++) {
                struct tick_thread *t = k->living.items[i];

                if (--t->process->n_threads == 0)
                        process_drop(t->process);
                thread_drop(t);
        }
        vec_free(&k->living);
        map_done(&k->threads);
        map_done(&k->processes);
}

static void *find(const struct map *m, pid_t number) {
        uint64_t found;

        return map_get(m, (uint64_t)number, &found) ? (void *)(uintptr_t)found : NULL;
}

static void put(struct map *m, pid_t number, const void *what) {
        *map_put(m, (uint64_t)number, 0, NULL) = (uintptr_t)what;
}

struct tick_thread *tick_tasks_find(const struct tick_tasks *k, pid_t tid) {
        return find(&k->threads, tid);
}

static struct tick_process *find_process(const struct tick_tasks *k, pid_t pid) {
        return find(&k->processes, pid);
}

static void *new_zeroed(size_t n) {
        void *p = calloc(1, n);

        if (!p)
                abort(); /* as vec.h */
        return p;
}

static struct tick_process *process_add(struct tick_tasks *k, const struct ticker_process *begin,
                                        struct remote_space *space) {
        struct tick_process *p = new_zeroed(sizeof(*p));

        p->pid = begin->pid;
        p->space = space;
        p->tag = k->calls->on_process(k->calls->ctx, begin);
        put(&k->processes, p->pid, p);
        return p;
}

static struct tick_thread *thread_add(struct tick_tasks *k, struct tick_process *p, pid_t tid,
                                      const char *name, uint64_t time_ns) {
        struct tick_thread *t = new_zeroed(sizeof(*t));

        t->tid = tid;
        t->process = p;
        p->n_threads++;
        t->tag = k->calls->on_thread(k->calls->ctx, p->tag, tid, time_ns);
        snprintf(t->name, sizeof(t->name), "%s", name);
        if (name[0])
                k->calls->on_thread_name(k->calls->ctx, t->tag, name);
        put(&k->threads, tid, t);
        t->living_idx = k->living.n;
        vec_push(&k->living, t);
        return t;
}

/* What the kernel calls it now; "" where it is gone. */
static void read_name(pid_t pid, pid_t tid, char ret[TICK_NAME_BYTES]) {
        char path[64], text[64];

        snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
        if (fs_read_text(path, text, sizeof(text)) <= 0)
                text[0] = 0;
        text[strcspn(text, "\n")] = 0;
        snprintf(ret, TICK_NAME_BYTES, "%.15s", text);
}

/* A process that was there when looking began, or whose beginning nobody told of. */
static struct tick_process *see_process(struct tick_tasks *k, pid_t pid, uint64_t time_ns) {
        struct tick_process *p = find_process(k, pid);
        char name[TICK_NAME_BYTES];

        if (p)
                return p;
        read_name(pid, pid, name);
        return process_add(k,
                           &(struct ticker_process){.pid = pid,
                                                    .parent = UINT32_MAX,
                                                    .time_ns = time_ns,
                                                    .was_there = true,
                                                    .name = name},
                           remote_space_new(pid));
}

struct tick_thread *tick_tasks_get(struct tick_tasks *k, pid_t pid, pid_t tid, uint64_t time_ns) {
        struct tick_thread *t = tick_tasks_find(k, tid);
        char name[TICK_NAME_BYTES];

        if (t)
                return t;
        read_name(pid, tid, name);
        return thread_add(k, see_process(k, pid, time_ns), tid, name, time_ns);
}

void tick_tasks_fork(struct tick_tasks *k, const struct tick_birth *b) {
        struct tick_process *parent = find_process(k, b->parent_pid), *p = find_process(k, b->pid);
        const struct tick_thread *by = tick_tasks_find(k, b->parent_tid);
        const char *name = by ? by->name : "";

        if (tick_tasks_find(k, b->tid))
                return;
        if (!p && !parent) { /* the record of its own beginning was lost */
                tick_tasks_get(k, b->pid, b->tid, b->time_ns);
                return;
        }
        if (!p)
                p = process_add(k,
                                &(struct ticker_process){.pid = b->pid,
                                                         .parent = parent->tag,
                                                         .time_ns = b->time_ns,
                                                         .name = name},
                                remote_space_fork(parent->space, b->pid));
        thread_add(k, p, b->tid, name, b->time_ns);
}

static void forget(struct tick_tasks *k, struct tick_thread *t) {
        struct tick_thread *last = k->living.items[--k->living.n];

        put(&k->threads, t->tid, NULL);
        k->living.items[t->living_idx] = last;
        last->living_idx = t->living_idx;
        thread_drop(t);
}

void tick_tasks_exit(struct tick_tasks *k, pid_t tid, uint64_t time_ns) {
        struct tick_thread *t = tick_tasks_find(k, tid);
        struct tick_process *p;

        if (!t)
                return;
        p = t->process;
        forget(k, t);
        if (--p->n_threads)
                return;
        if (find_process(k, p->pid) == p)
                put(&k->processes, p->pid, NULL);
        k->calls->on_process_end(k->calls->ctx, p->tag, time_ns);
        process_drop(p);
}

void tick_tasks_exec(struct tick_tasks *k, pid_t pid, pid_t tid, const char *name,
                     uint64_t time_ns) {
        struct tick_process *old = find_process(k, pid);
        struct ticker_process begin = {.pid = pid,
                                       .parent = old ? old->tag : UINT32_MAX,
                                       .time_ns = time_ns,
                                       .is_exec = old != NULL,
                                       .name = name};
        pid_t root = 0;

        /* all other threads ended with it; whose end was not told is among them */
        for (size_t i = k->living.n; old && i-- > 0;)
                if (k->living.items[i]->process == old) {
                        struct tick_thread *t = k->living.items[i];

                        root = t->tid == tid ? t->root : root;
                        forget(k, t);
                }
        if (old)
                process_drop(old);
        thread_add(k, process_add(k, &begin, remote_space_new(pid)), tid, name, time_ns)->root =
                root;
}

void tick_tasks_name(struct tick_tasks *k, pid_t pid, pid_t tid, const char *name,
                     uint64_t time_ns) {
        struct tick_thread *t = tick_tasks_get(k, pid, tid, time_ns);

        snprintf(t->name, sizeof(t->name), "%s", name);
        k->calls->on_thread_name(k->calls->ctx, t->tag, name);
}
