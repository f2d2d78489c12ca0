/* SPDX-License-Identifier: MIT */
#include "replay/replayer_look.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "replay/replayer_own.h"

enum {
        LOOK_AFTER_BYTES = 256 * 1024, /* asked for since the last look, */
        LOOK_AFTER_SHARE = 128,        /* or this part of what is resident */
        LOOK_BLOCK_BYTES =
                48, /* that a small block takes besides: header, rounding, its share of a page */
};

/* "size resident shared …" in pages. No libc function that might allocate. */
static uint64_t anonymous_bytes(const struct look *l) {
        uint64_t fields[3] = {0};
        char text[128];
        ssize_t n = pread(l->statm_fd, text, sizeof(text), 0);
        unsigned field = 0;

        for (ssize_t i = 0; i < n && field < 3; i++) {
                if (text[i] >= '0' && text[i] <= '9')
                        fields[field] = fields[field] * 10 + (uint64_t)(text[i] - '0');
                else
                        field++;
        }
        return fields[1] > fields[2] ? (fields[1] - fields[2]) * l->page_bytes : 0;
}

static uint64_t shared_bytes(void) {
        static const char key[] = "RssShmem:";
        char text[4096], *at;
        uint64_t kb = 0;
        int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

        if (fd >= 0)
                close(fd);
        text[n > 0 ? n : 0] = 0;
        at = strstr(text, key);
        if (!at)
                return 0;
        for (at += sizeof(key) - 1; *at == ' ' || *at == '\t' || (*at >= '0' && *at <= '9'); at++)
                if (*at >= '0')
                        kb = kb * 10 + (uint64_t)(*at - '0');
        return kb * 1024;
}

static size_t column_of(const struct look *l, uint64_t time_us) {
        if (!l->duration_us || time_us >= l->duration_us)
                return REPLAY_N_COLUMNS - 1;
        return (size_t)((unsigned __int128)time_us * REPLAY_N_COLUMNS / l->duration_us);
}

uint64_t look_column_end_us(const struct look *l, uint64_t time_us) {
        size_t next = column_of(l, time_us) + 1;
        uint64_t end = (uint64_t)((unsigned __int128)l->duration_us * next / REPLAY_N_COLUMNS);

        return end > time_us ? end : time_us + 1;
}

void look_now(struct look *l) {
        struct replay_result *r = l->result;
        struct replay_column *c = &r->columns[column_of(l, l->time_us)];
        uint64_t began_ns = own_now_ns();

        l->asked_bytes = 0;
        if (l->is_blind)
                return;
        l->now_bytes = anonymous_bytes(l);
        if (l->now_bytes > r->peak_bytes) {
                r->peak_bytes = l->now_bytes;
                r->peak_us = l->time_us;
        }
        c->n_looks++;
        c->last_bytes = l->now_bytes;
        if (l->now_bytes > c->max_bytes)
                c->max_bytes = l->now_bytes;
        if (r->live_bytes > c->max_live_bytes)
                c->max_live_bytes = r->live_bytes;
        r->n_looks++;
        r->look_ns += own_now_ns() - began_ns;
}

void look_asked(struct look *l, uint64_t size_bytes) {
        struct replay_column *c;

        l->asked_bytes += size_bytes + LOOK_BLOCK_BYTES;
        if (l->asked_bytes < LOOK_AFTER_BYTES || l->asked_bytes < l->now_bytes / LOOK_AFTER_SHARE)
                return;
        c = &l->result->columns[column_of(l, l->time_us)];
        if (l->result->live_bytes > c->max_live_bytes)
                c->max_live_bytes = l->result->live_bytes;
        look_now(l);
}

void look_time(struct look *l, uint64_t time_us) {
        bool is_new = column_of(l, time_us) != column_of(l, l->time_us);

        if (is_new)
                look_now(l); /* what the column ends with */
        l->time_us = time_us;
}

static uint64_t cpu_ns(const struct rusage *u) {
        return ((uint64_t)u->ru_utime.tv_sec + (uint64_t)u->ru_stime.tv_sec) * 1000000000 +
               ((uint64_t)u->ru_utime.tv_usec + (uint64_t)u->ru_stime.tv_usec) * 1000;
}

int look_begin(struct look *l, struct replay_result *result) {
        l->result = result;
        l->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
        l->statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
        return l->statm_fd < 0 ? -errno : 0;
}

void look_first(struct look *l) {
        struct rusage u = {0};

        getrusage(RUSAGE_SELF, &u);
        l->result->begin_bytes = l->now_bytes = anonymous_bytes(l);
        l->result->n_faults = (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt;
        l->result->cpu_ns = cpu_ns(&u);
        l->began_ns = own_now_ns();
}

void look_last(struct look *l) {
        struct replay_result *r = l->result;
        struct rusage u = {0};

        look_now(l);
        getrusage(RUSAGE_SELF, &u);
        r->end_bytes = anonymous_bytes(l);
        r->n_faults = (uint64_t)u.ru_minflt + (uint64_t)u.ru_majflt - r->n_faults;
        r->cpu_ns = cpu_ns(&u) - r->cpu_ns;
        r->wall_ns = own_now_ns() - l->began_ns;
        r->own_bytes = shared_bytes();
}
