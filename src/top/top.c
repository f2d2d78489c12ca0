/* SPDX-License-Identifier: MIT */
#include "top/top.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "base/system_clock.h"
#include "query/trace_origin.h"
#include "top/frame_text.h"
#include "top/session.h"

enum { IDLE_SHARE = 9 }; /* times what a frame took */

static volatile sig_atomic_t is_to_end;

bool session_is_to_end(void) {
        return is_to_end;
}

static void want_end(int number) {
        (void)number;
        is_to_end = 1;
}

/* Ended in order, silt leaves a process that it attached to. The signals come while it waits for the next frame; without SA_RESTART
 * that wait is over then. */
static void catch_signals(void) {
        const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        struct sigaction action = {.sa_handler = want_end};

        sigemptyset(&action.sa_mask);
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
                sigaction(numbers[i], &action, NULL);
        signal(SIGPIPE, SIG_IGN);
}

/* ---- what is followed ----------------------------------------------------------------------------- */

int session_close(struct session *s, struct err *reterr) {
        int r = 0;

        model_done(&s->model);
        s->follower = follower_free(s->follower);
        s->kept[0] = 0;
        if (s->keeps)
                r = live_subject_keep(s->subject, s->kept, sizeof(s->kept), reterr);
        if (r < 0)
                s->kept[0] = 0;
        s->keeps = false;
        s->subject = live_subject_free(s->subject); /* last: it removes the file */
        return r;
}

/* Of a recording of many processes that was there before, the one that was named; its first one stands for all. */
static int choose_process(struct session *s, struct err *reterr) {
        struct query *q = follower_query(s->follower);
        pid_t pid = live_subject_pid(s->subject);
        char word[16];

        if (!pid || live_subject_is_attached(s->subject) || s->o->follow.process ||
            (uint32_t)pid == query_view(q)->processes[query_main_process(q)].start.pid)
                return 0;
        snprintf(word, sizeof(word), "%d", (int)pid);
        return follower_look_at(s->follower, word, s->o->follow.window_ns, reterr);
}

int session_open(struct session *s, const char *const *attach_options, struct err *reterr) {
        struct live_subject_options who = {.who = s->o->who, .attach_options = attach_options};
        struct follower_options follow = s->o->follow;
        int r = live_subject_open(&who, &s->subject, reterr);

        if (r < 0)
                return r;
        follow.path = live_subject_path(s->subject);
        follow.names_later = !s->o->is_batch && !s->o->is_json; /* a screen is there at once */
        r = follower_open(&follow, &s->follower, reterr);
        return r < 0 ? r : choose_process(s, reterr);
}

/* ---- frames one after the other ------------------------------------------------------------------- */

static int write_frame(struct session *s, FILE *out, struct err *reterr) {
        int r = model_fill(&s->model, s->follower, &s->o->ask, reterr);

        if (r < 0)
                return r;
        if (s->o->is_json)
                frame_json_write(out, &s->model);
        else
                frame_text_write(out, &s->model);
        return fflush(out) == 0 ? 0 : -1;
}

uint64_t session_earliest_ms(uint64_t begin_ms, uint64_t end_ms) {
        return end_ms + (end_ms - begin_ms) * IDLE_SHARE;
}

/* Until the recording is over, somebody ends silt, or nobody reads it any more. */
static int run_batch(struct session *s, FILE *out, struct err *reterr) {
        uint64_t every_ms = s->o->every_ns / 1000000, begin_ms = clock_now_ms(), wait_ms, now_ms;
        int r = 0;

        for (uint64_t n = 1; r >= 0; n++) {
                r = write_frame(s, out, reterr);
                if (r < 0)
                        return ferror(out) ? 0 : r;
                if (follower_now(s->follower)->is_over || n == s->o->n_frames || is_to_end)
                        return 0;
                now_ms = clock_now_ms();
                wait_ms = MAX(every_ms, session_earliest_ms(begin_ms, now_ms) - now_ms);
                (void)poll(NULL, 0, (int)MIN(wait_ms, (uint64_t)INT_MAX));
                if (is_to_end)
                        return 0;
                begin_ms = clock_now_ms();
                r = follower_step(s->follower, reterr);
        }
        return r;
}

int top_run(FILE *out, const struct top_options *o, struct err *reterr) {
        struct session *s = calloc(1, sizeof(*s));
        int r, closed;

        if (!s)
                abort();
        s->o = o;
        catch_signals();
        r = session_open(s, NULL, reterr);
        if (r >= 0 && o->ask.of_mappings &&
            origin_is_import(&query_view(follower_query(s->follower))->meta))
                r = err_set(
                        reterr, -ENOTSUP,
                        "--mapped: this recording was imported: what the program mapped itself is unknown: leave it out");
        if (r >= 0)
                r = o->is_batch || o->is_json ? run_batch(s, out, reterr) : session_show(s, reterr);
        closed = session_close(s, r < 0 ? NULL : reterr);
        if (s->kept[0])
                fprintf(stderr, "silt: trace: %s\n", s->kept);
        free(s);
        return r < 0 ? r : closed;
}
