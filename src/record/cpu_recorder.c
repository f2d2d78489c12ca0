/* SPDX-License-Identifier: MIT */
#include "record/cpu_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system_clock.h"
#include "record/control.h"
#include "record/cpu_trace.h"
#include "record/recorder_begin.h"
#include "record/tick_notes.h"
#include "trace/limit.h"
#include "trace/writer.h"

#define MS 1000000ull

enum {
        SLICE_NS = 250 * MS,
        NAP_MIN_NS = 20 * MS, /* rings wake it earlier when they fill */
        NAP_MAX_NS = 250 * MS,
        SAMPLE_MIN_NS = 5 * MS,
        SAMPLE_MAX_NS = 100 * MS,
};

struct cpu_recorder {
        const struct recorder_config *config;
        struct trace_writer *writer;
        int trace_fd;
        struct cpu_trace *trace;
        struct ticker *ticker; /* NULL: all is told, and this is what it counted: */
        struct ticker_stats stats;
        struct tick_notes notes;
        uint64_t start_ns, next_slice_ns, next_sample_ns, nap_ns;
        uint64_t seen_ns; /* somebody was there to be recorded; 0: not yet */
        uint64_t end_ns;  /* of the recording, since its start; 0 while it goes on */
        bool target_has_ended, target_is_written, supervisor_is_gone, is_stopped;
        char trouble[240];
        uint32_t n_limits; /* of what it saw, for the closing words */
        char limits[CONTROL_MAX_LIMITS][sizeof(((struct control_message *)NULL)->limits[0])];
};

static volatile sig_atomic_t cpu_recorder_got_term;

static void cpu_on_term(int signo) {
        (void)signo;
        cpu_recorder_got_term = 1;
}

static void cpu_fail(struct cpu_recorder *r, const char *why) __attribute__((noreturn));

static void cpu_fail(struct cpu_recorder *r, const char *why) {
        struct control_message m = {.kind = 0};

        snprintf(m.trouble, sizeof(m.trouble), "%s", why);
        (void)!send(r->config->control_fd, &m, sizeof(m), MSG_NOSIGNAL);
        _exit(1);
}

static void cpu_tell(struct cpu_recorder *r, enum control_kind kind) {
        struct control_message m = {.kind = kind};
        struct ticker_stats stats = r->stats;
        struct stat st;

        if (r->ticker)
                ticker_get_stats(r->ticker, &stats);
        m.n_samples = stats.n_ticks[TICKER_RUNS];
        m.n_waits = stats.n_ticks[TICKER_BLOCKED];
        m.n_lost_samples =
                stats.n_lost + stats.n_broken + trace_writer_n_unwritten_ticks(r->writer);
        m.n_threads_seen = cpu_trace_n_threads(r->trace);
        m.cpu_ns = stats.ns[TICKER_RUNS];
        m.waited_ns = stats.ns[TICKER_BLOCKED];
        m.n_unwritten = trace_writer_n_unwritten(r->writer);
        m.file_bytes = fstat(r->trace_fd, &st) == 0 ? (uint64_t)st.st_size : 0;
        m.duration_ns = r->end_ns ? r->end_ns : clock_now_ns() - r->start_ns;
        m.n_images = cpu_trace_n_processes(r->trace);
        m.n_living = cpu_trace_n_living(r->trace);
        m.recorder_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        memcpy(m.trouble, r->trouble, sizeof(m.trouble));
        m.n_limits = r->n_limits;
        memcpy(m.limits, r->limits, sizeof(m.limits));
        (void)!send(r->config->control_fd, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the end --------------------------------------------------------------------------------------- */

static void cpu_say(void *ctx, const char *text) {
        struct cpu_recorder *r = ctx;
        struct trace_limit l;

        if (trace_limit_parse(text, &l) && r->n_limits < CONTROL_MAX_LIMITS)
                snprintf(r->limits[r->n_limits++], sizeof(r->limits[0]), "%s", l.text);
        cpu_trace_note(r->trace, r->end_ns ? r->start_ns + r->end_ns : clock_now_ns(), text);
}

static void cpu_end_slice(struct cpu_recorder *r, uint64_t now_ns) {
        struct ticker_stats stats;

        ticker_get_stats(r->ticker, &stats);
        tick_notes_go_on(&r->notes, &stats,
                         &(struct tick_beside){.off_cpu = r->config->options->off_cpu}, cpu_say, r);
        cpu_trace_end_slice(r->trace, now_ns);
}

static void cpu_put_cost(struct cpu_recorder *r, uint64_t now_ns) {
        struct trace_cost c = {.time_ns = now_ns - r->start_ns};
        struct rusage usage;

        if (getrusage(RUSAGE_SELF, &usage) < 0)
                return;
        c.recorder_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
        c.recorder_cpu_ns =
                (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000u +
                (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000u;
        trace_put_cost(r->writer, &c);
}

static void cpu_finish(struct cpu_recorder *r) __attribute__((noreturn));

static void cpu_finish(struct cpu_recorder *r) {
        uint64_t now_ns = clock_now_ns();

        ticker_end(r->ticker);
        ticker_get_stats(r->ticker, &r->stats);
        r->ticker = ticker_free(r->ticker); /* names need its memory more */
        now_ns = MAX(now_ns, clock_now_ns());
        r->end_ns = now_ns - r->start_ns;
        tick_notes_end(&r->notes, &r->stats,
                       &(struct tick_beside){.known_cpu_ns = cpu_trace_known_ns(r->trace),
                                             .off_cpu = r->config->options->off_cpu},
                       cpu_say, r);
        cpu_put_cost(r, now_ns);
        cpu_trace_finish(r->trace, now_ns);
        recorder_close_writer(r->config, r->writer, r->trace_fd, r->trouble, sizeof(r->trouble));
        cpu_tell(r, CONTROL_FINISHED);
        _exit(0);
}

/* ---- the loop -------------------------------------------------------------------------------------- */

static void cpu_take_control(struct cpu_recorder *r) {
        struct control_message m;
        ssize_t n = recv(r->config->control_fd, &m, sizeof(m), MSG_DONTWAIT);

        if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_TARGET_ENDED) {
                r->target_has_ended = true;
                ticker_drain(r->ticker);
                cpu_trace_target_ended(r->trace, m.wait_status, m.max_rss_bytes);
        } else if (n == (ssize_t)sizeof(m) && m.kind == CONTROL_STOP) {
                r->is_stopped = true;
        } else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                r->supervisor_is_gone = true;
                r->is_stopped |= r->config->options->attached != 0;
                if (!r->target_has_ended) {
                        r->target_has_ended = true;
                        cpu_trace_target_ended(r->trace, -1, 0);
                }
        }
}

static void cpu_rest(struct cpu_recorder *r, size_t n_taken) {
        struct pollfd fds[] = {{.fd = ticker_poll_fd(r->ticker), .events = POLLIN},
                               {.fd = r->config->control_fd, .events = POLLIN}};
        const struct run_options *o = r->config->options;
        uint64_t now_ns = clock_now_ns(), until_ns;

        r->nap_ns = n_taken ? NAP_MIN_NS : MIN(r->nap_ns * 2, (uint64_t)NAP_MAX_NS);
        until_ns = MIN(now_ns + r->nap_ns, MIN(r->next_slice_ns, r->next_sample_ns));
        if (o->duration_ns && r->seen_ns)
                until_ns = MIN(until_ns, r->seen_ns + o->duration_ns);
        if (until_ns <= now_ns)
                return;
        poll(fds, r->supervisor_is_gone ? 1 : 2, (int)((until_ns - now_ns + MS - 1) / MS));
}

/* Everybody is gone, or was asked to be left. */
static bool cpu_is_done(struct cpu_recorder *r, uint64_t now_ns) {
        const struct run_options *o = r->config->options;

        if (r->is_stopped || cpu_recorder_got_term ||
            (o->duration_ns && r->seen_ns && now_ns - r->seen_ns >= o->duration_ns))
                return true;
        if (!r->target_has_ended && !o->attached)
                return false;
        if (ticker_n_threads(r->ticker) && !ticker_is_over(r->ticker)) {
                if (r->target_has_ended && !r->target_is_written) {
                        cpu_end_slice(r, now_ns);
                        r->target_is_written = true;
                        cpu_tell(r, CONTROL_WRITTEN);
                }
                return false;
        }
        return true;
}

static void cpu_observe(struct cpu_recorder *r, uint64_t now_ns) {
        if (now_ns >= r->next_sample_ns) {
                uint64_t every_ns = MAX((uint64_t)SAMPLE_MIN_NS,
                                        MIN((now_ns - r->start_ns) / 20, (uint64_t)SAMPLE_MAX_NS));

                cpu_trace_sample(r->trace, now_ns);
                r->next_sample_ns = now_ns + every_ns * (1 + cpu_trace_n_living(r->trace) / 32);
        }
        if (now_ns >= r->next_slice_ns) {
                cpu_end_slice(r, now_ns);
                r->next_slice_ns = now_ns + SLICE_NS;
        }
}

static void cpu_loop(struct cpu_recorder *r) __attribute__((noreturn));

static void cpu_loop(struct cpu_recorder *r) {
        for (;;) {
                size_t n_taken = ticker_drain(r->ticker);
                uint64_t now_ns = clock_now_ns();

                if (!r->supervisor_is_gone)
                        cpu_take_control(r);
                cpu_observe(r, now_ns);
                if (!r->seen_ns && cpu_trace_n_processes(r->trace))
                        r->seen_ns = now_ns;
                if (cpu_is_done(r, now_ns))
                        cpu_finish(r);
                cpu_rest(r, n_taken);
        }
}

void cpu_recorder_main(const struct recorder_config *config) {
        struct cpu_recorder *r = calloc(1, sizeof(*r));
        const struct run_options *o = config->options;
        const struct ticker_options ticks = {.rate_hz = o->cpu_rate_hz,
                                             .off_cpu = o->off_cpu,
                                             .children = !o->no_children};
        struct ticker_calls calls;
        struct err e = {0};
        uint32_t n_args = 0;
        int code;

        if (!r)
                _exit(1);
        r->config = config;
        recorder_leave_terminal("silt-cpu");
        signal(SIGTERM, cpu_on_term);
        while (o->argv[n_args])
                n_args++;
        code = recorder_open_writer_for(config, &r->writer, &r->trace_fd, &e);
        if (code < 0)
                cpu_fail(r, e.text);
        r->start_ns = clock_now_ns();
        r->nap_ns = NAP_MIN_NS;
        r->next_slice_ns = r->start_ns + SLICE_NS;
        r->next_sample_ns = r->start_ns + SAMPLE_MIN_NS;
        if (cpu_trace_new(r->writer, r->start_ns, config->target, (const char *const *)o->argv,
                          n_args, &r->trace) < 0)
                cpu_fail(r, "no memory for the recorder");
        cpu_trace_calls(r->trace, &calls);
        if (ticker_new(&ticks, &calls, &r->ticker, &e) < 0 ||
            (o->attached ? ticker_follow_process(r->ticker, config->target, &e)
                         : ticker_follow_child(r->ticker, config->target, &e)) < 0)
                cpu_fail(r, e.text);
        cpu_tell(r, CONTROL_READY);
        cpu_loop(r);
}
