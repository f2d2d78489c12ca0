/* SPDX-License-Identifier: MIT */
#include "record/unrecorded_threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "record/proc.h"
#include "resident/resident_bytes.h"
#include "resident/resident_take.h"
#include "tick/tick_look.h"
#include "trace/writer.h"

enum { MAX_FRAMES = 256, MAX_THREADS = 65536, SLICE_NS = 1000 };

struct threads_look {
        struct trace_writer *w;
        pid_t pid;
        uint32_t process;
        struct remote_space *space;
        struct map modules;   /* number of a file → module */
        struct map locations; /* hash of module and offset → location */
        struct map stacks;    /* caller's stack and location → stack */
        uint32_t n;
};

static uint32_t module_of(struct threads_look *l, const struct remote_module *m) {
        struct trace_module fill = {.path = m->path,
                                    .build_id_len = MIN(m->build_id_len, 32u),
                                    .size_bytes = m->size_bytes};
        bool is_new;
        uint64_t *id = map_put(&l->modules, m->id, 0, &is_new);

        if (is_new) {
                memcpy(fill.build_id, m->build_id, fill.build_id_len);
                *id = trace_add_module(l->w, &fill);
        }
        return (uint32_t)*id;
}

static uint32_t location_of(struct threads_look *l, uint64_t pc) {
        struct trace_location x = {.module = UINT32_MAX, .offset = pc};
        const struct remote_module *m = remote_space_locate(l->space, pc, &x.offset);
        bool is_new;
        uint64_t *id = map_put(&l->locations, pc, 0, &is_new);

        if (!is_new)
                return (uint32_t)*id;
        if (m)
                x.module = module_of(l, m);
        else
                x.offset = pc;
        *id = trace_add_location(l->w, &x);
        return (uint32_t)*id;
}

static uint32_t stack_of(struct threads_look *l, const uint64_t *pcs, size_t n) {
        uint32_t stack = 0;

        while (n-- > 0) {
                uint32_t location = location_of(l, pcs[n]);
                bool is_new;
                uint64_t *id = map_put(&l->stacks, (uint64_t)stack << 32 | location, 0, &is_new);

                if (is_new)
                        *id = trace_add_stack(l->w, stack, location);
                stack = (uint32_t)*id;
        }
        return stack;
}

static void look_at(struct threads_look *l, pid_t tid) {
        struct trace_tick tick = {.weight_ns = 1, .n_samples = 1, .state = TRACE_ON_CPU};
        uint64_t pcs[MAX_FRAMES];
        enum remote_end end;
        char name[17];

        if (!proc_comm(l->pid, tid, name))
                return; /* gone */
        l->n++;
        tick.thread = trace_add_thread(l->w, &(struct trace_thread){.process = l->process,
                                                                    .tid = (uint32_t)tid});
        trace_name_thread(l->w, tick.thread, name);
        if (tick_look_is_off(l->pid, tid)) {
                tick.state = TRACE_BLOCKED;
                tick.stack = stack_of(l, pcs,
                                      tick_look_walk(l->pid, tid, l->space, pcs, MAX_FRAMES, &end));
        }
        trace_put_tick(l->w, &tick);
}

static void put_bill(struct threads_look *l) {
        struct resident r;
        bytes_buf bytes = {0};
        struct err unsaid = {0};

        if (resident_take(&r, l->pid, &unsaid) < 0)
                return;
        resident_encode(&r, &bytes);
        trace_put_bill(l->w,
                       &(struct trace_bill){.process = l->process,
                                            .rss_bytes = r.rss_bytes,
                                            .n_bytes = bytes.n},
                       bytes.items);
        vec_free(&bytes);
        resident_done(&r);
}

bool unrecorded_threads_write(struct trace_writer *w, pid_t pid, uint32_t process) {
        struct threads_look l = {.w = w, .pid = pid, .process = process};
        char path[32];
        struct dirent *d;
        DIR *dir;

        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        dir = opendir(path);
        if (!dir)
                return false;
        l.space = remote_space_new(pid);
        put_bill(&l);
        while ((d = readdir(dir)) && l.n < MAX_THREADS) {
                pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

                if (tid > 0)
                        look_at(&l, tid);
        }
        closedir(dir);
        trace_end_slice(w, SLICE_NS, NULL, 0, NULL, 0);
        remote_space_free(l.space);
        map_done(&l.modules);
        map_done(&l.locations);
        map_done(&l.stacks);
        return l.n > 0;
}
