/* SPDX-License-Identifier: MIT */
/* Requests in every rhythm, with and without a record of each that nobody releases.
 *
 *   chance, bursts, days, stall, stop   when requests come; in `stop` the whole program is stopped for a while
 *   is_leaky=1                          some requests leave a record behind; else records are kept in a cache with a bound */
#include <signal.h>
#include <sys/wait.h>

#include "shape.h"

enum { MAX_REQUESTS = 4000, MAX_CACHED = 400 };

static double at[MAX_REQUESTS]; /* parts of the time */
static long n_requests, kept_pct, size;
static int is_leaky;

static double part(void) {
        return (double)chance(1000000) / 1e6;
}

static int by_value(const void *a, const void *b) {
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

static double hole_begin, hole_end;

static void draw_requests(void) {
        long n_bursts = 8 + (long)chance(20), n_days = 3 + (long)chance(5);
        double bursts[32];

        hole_begin = 0.1 + part() * 0.4;
        hole_end = hole_begin + 0.1 + part() * 0.35;
        for (long k = 0; k < n_bursts; k++)
                bursts[k] = part() * 0.99;
        for (long i = 0; i < n_requests; i++) {
                do
                        at[i] = shape_is("bursts")
                                        ? bursts[chance((unsigned long)n_bursts)] + part() * 0.005
                                        : part();
                while ((shape_is("days") &&
                        at[i] * n_days - (double)(long)(at[i] * n_days) > 0.5) ||
                       ((shape_is("stall") || shape_is("stop")) && at[i] > hole_begin &&
                        at[i] < hole_end));
        }
        qsort(at, (size_t)n_requests, sizeof(at[0]), by_value);
}

static void *cached[MAX_CACHED];

/* A record of each request: in a cache, which is full soon; or, one in so many, for ever. */
NAMED static void *make_record(void) {
        return malloc((size_t)size / 2 + chance((unsigned long)size));
}

static void remember(long i) {
        void *record = make_record();
        long slot = i % (n_requests / 10 < MAX_CACHED ? n_requests / 10 : MAX_CACHED);

        MUST(record);
        if (is_leaky && chance(100) < (unsigned long)kept_pct)
                return;
        free(cached[slot]);
        cached[slot] = record;
}

NAMED static void parse(void) {
        char *words[3];

        for (int k = 0; k < 3; k++)
                MUST(words[k] = (char *)malloc(20 + chance(200)));
        for (int k = 0; k < 3; k++)
                free(words[k]);
}

NAMED static void handle_request(long i) {
        parse();
        remember(i);
}

static void sleep_to(double moment) {
        sleep_until(shape_begin_ns + (uint64_t)(moment * (double)shape_span_ns));
}

/* Another process continues this one, which has stopped itself. */
static void stop(void) {
        pid_t self = getpid(), child = fork();

        MUST(child >= 0);
        if (child == 0) {
                sleep_to(hole_end);
                kill(self, SIGCONT);
                _exit(0);
        }
        kill(self, SIGSTOP);
        MUST(waitpid(child, NULL, 0) == child);
}

int main(int argc, char **argv) {
        int has_stopped = 0;

        shape_start(argc, argv);
        n_requests = param("requests");
        kept_pct = param("kept_pct");
        size = param("size");
        is_leaky = param("is_leaky") != 0;
        MUST(n_requests <= MAX_REQUESTS);
        draw_requests();
        for (long i = 0; i < n_requests; i++) {
                if (shape_is("stop") && !has_stopped && at[i] > hole_begin) {
                        has_stopped = 1;
                        stop();
                }
                sleep_to(at[i]);
                handle_request(i);
        }
        tell_text("culprit", "make_record");
        shape_end();
        return 0;
}
