/* SPDX-License-Identifier: MIT */
#include "record/prior_message.h"

#include <stdio.h>
#include <sys/socket.h>

#include "base/macros.h"
#include "base/system_clock.h"
#include "record/proc.h"

void prior_ask_kernel(pid_t pid, struct control_prior *ret) {
        double started_s = proc_started_s(pid), age_s;
        struct proc_memory memory;

        *ret = (struct control_prior){0};
        age_s = (double)clock_ns(CLOCK_BOOTTIME) / 1e9 - started_s;
        if (started_s >= 0 && age_s > 0)
                ret->age_ns = (uint64_t)(age_s * 1e9);
        if (proc_memory(pid, &memory))
                ret->anon_bytes = memory.anon_bytes;
}

static void send_prior(int control_fd, const struct control_prior *x) {
        const struct control_message m = {.kind = CONTROL_PRIOR, .prior = *x};

        (void)!send(control_fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void tell_arenas(int control_fd, const struct control_prior *kernel,
                        const struct arenas_found *a) {
        struct control_prior x = *kernel;

        snprintf(x.allocator, sizeof(x.allocator), "glibc");
        x.flags = TRACE_PRIOR_HELD | (a->is_whole ? TRACE_PRIOR_WHOLE : 0) |
                  (a->has_mmapped ? TRACE_PRIOR_MAPPED : 0);
        x.held_bytes = a->held_bytes;
        x.free_bytes = a->free_bytes;
        x.mapped_bytes = a->mmapped_bytes;
        x.n_mapped = a->n_mmapped;
        x.n_arenas = a->n_arenas;
        send_prior(control_fd, &x);
}

/* All of it was read. n_arenas: 0 where there are none. */
static void tell_whole(int control_fd, const struct control_prior *kernel, const char *allocator,
                       uint64_t held_bytes, uint64_t used_bytes, uint32_t n_arenas) {
        struct control_prior x = *kernel;

        snprintf(x.allocator, sizeof(x.allocator), "%s", allocator);
        x.flags = TRACE_PRIOR_HELD | TRACE_PRIOR_WHOLE;
        x.held_bytes = held_bytes;
        x.free_bytes = held_bytes - used_bytes;
        x.n_arenas = n_arenas;
        send_prior(control_fd, &x);
}

/* The C library's malloc is there always; where another one does all, it has nothing. */
void prior_tell(int control_fd, const struct control_prior *kernel, const struct prior *seen) {
        bool has_other = seen->has_jemalloc || seen->has_mimalloc;
        bool has_arenas = seen->has_arenas &&
                          (!has_other || seen->arenas.held_bytes || seen->arenas.n_mmapped);

        if (has_arenas)
                tell_arenas(control_fd, kernel, &seen->arenas);
        if (seen->has_jemalloc)
                tell_whole(control_fd, kernel, "jemalloc", seen->jemalloc.held_bytes,
                           seen->jemalloc.used_bytes, seen->jemalloc.n_arenas);
        if (seen->has_mimalloc)
                tell_whole(control_fd, kernel, "mimalloc", seen->mimalloc.held_bytes,
                           seen->mimalloc.used_bytes, 0);
        if (!has_arenas && !has_other)
                send_prior(control_fd, kernel);
}

static void prior_write(struct trace_writer *w, uint32_t trace_process,
                        const struct control_prior *x) {
        char name[sizeof(x->allocator)];

        snprintf(name, sizeof(name), "%s", x->allocator);
        trace_put_prior(w, &(struct trace_prior){.process = trace_process,
                                                 .flags = x->flags,
                                                 .age_ns = x->age_ns,
                                                 .anon_bytes = x->anon_bytes,
                                                 .held_bytes = x->held_bytes,
                                                 .free_bytes = x->free_bytes,
                                                 .mapped_bytes = x->mapped_bytes,
                                                 .n_mapped = x->n_mapped,
                                                 .n_arenas = x->n_arenas,
                                                 .allocator = name});
}

void priors_keep(struct priors *p, const struct control_prior *x) {
        if (p->n < PRIORS_MAX)
                p->items[p->n++] = *x;
}

void priors_write(struct priors *p, struct trace_writer *w, uint32_t trace_process) {
        for (size_t i = 0; i < p->n; i++)
                prior_write(w, trace_process, &p->items[i]);
        p->n = 0;
}
