/* SPDX-License-Identifier: MIT */
/* For tests/cases/fleet.py and bench/fleet.py: many hosts over many days, made up, through the spool and the sender that silt push uses.
 *
 *   fleet_maker URL SPOOL HOSTS DAYS EVERY_S SITES UNTIL [TWICE]
 *
 * Host h runs service h % 3: "api", "cache", "worker". Processes restart every ten days; after two thirds of the days "api" does with
 * another build, which keeps LEAK bytes more an hour in call path 7. One host of "worker" holds OUTLIER times as much in path 3. What
 * every site holds is a formula of host, site and time: the truth on stdout, as "name value" lines, are plain sums of it. TWICE: every
 * batch is put into the spool a second time when it was sent. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "fleet/batch.h"
#include "fleet/sender.h"
#include "fleet/server_url.h"
#include "fleet/spool.h"

enum {
        N_SERVICES = 3,
        RUN_DAYS = 10,
        DAY_S = 86400,
        LEAK_SITE = 7,
        LEAK_BYTES = 48 << 10, /* an hour */
        OUTLIER_SITE = 3,
        OUTLIER = 40,
        MAX_WAITING = 64, /* batches in the spool before it waits */
};

static const char *const services[N_SERVICES] = {"api", "cache", "worker"};

struct fleet {
        uint64_t n_hosts, n_days, every_s, n_sites, until_s;
        uint64_t begin_s, release_s; /* when the first snapshots are, and the new build comes */
        struct spool *spool;
        struct sender *sender;
        /* the truth */
        uint64_t n_batches, n_snapshots, n_rows, n_bytes;
        int64_t live_sum;
        uint64_t alloc_sum;
};

static _Noreturn void fail(const char *what, const struct err *err) {
        fprintf(stderr, "fleet_maker: %s: %s\n", what, err ? err->text : "");
        exit(1);
}

/* ---- what is held ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x) {
        x ^= x >> 33;
        x *= 0xff51afd7ed558ccdull;
        x ^= x >> 33;
        x *= 0xc4ceb9fe1a85ec53ull;
        return x ^ (x >> 33);
}

static bool is_outlier(const struct fleet *f, uint64_t host) {
        return host == 3 * (f->n_hosts / 6) + 2;
}

static bool is_new(const struct fleet *f, uint64_t host, uint64_t t) {
        return host % N_SERVICES == 0 && t >= f->release_s;
}

/* When the process that runs at t started. */
static uint64_t run_begin(const struct fleet *f, uint64_t host, uint64_t t) {
        uint64_t begin = f->begin_s + (t - f->begin_s) / (RUN_DAYS * DAY_S) * (RUN_DAYS * DAY_S);

        return is_new(f, host, t) && begin < f->release_s ? f->release_s : begin;
}

static int64_t live(const struct fleet *f, uint64_t host, uint64_t site, uint64_t t) {
        uint64_t base = 4096 + mix(site * N_SERVICES + host % N_SERVICES) % (1 << 20);
        uint64_t noise = mix(host * 1000003 + site * 7919 + t) % (base / 8 + 1);
        uint64_t bytes = base + noise;

        if (site == OUTLIER_SITE && is_outlier(f, host))
                bytes = (base + (1 << 20)) * OUTLIER;
        if (site == LEAK_SITE && is_new(f, host, t))
                bytes += (t - run_begin(f, host, t)) / 3600 * LEAK_BYTES;
        return (int64_t)bytes;
}

static int64_t live_of_host(const struct fleet *f, uint64_t host, uint64_t t) {
        int64_t sum = 0;

        for (uint64_t site = 0; site < f->n_sites; site++)
                sum += live(f, host, site, t);
        return sum;
}

/* ---- batches ---------------------------------------------------------------------------------------- */

static uint32_t path_of(struct fleet_batch *b, uint64_t host, uint64_t site) {
        const char *service = services[host % N_SERVICES];
        char leaf[64], middle[64], outer[64];
        const char *frames[] = {leaf, middle, outer, "main"};

        snprintf(leaf, sizeof(leaf), "%s::allocate_%" PRIu64, service, site);
        snprintf(middle, sizeof(middle), "%s::handle_%" PRIu64, service, site / 4);
        snprintf(outer, sizeof(outer), "%s::serve", service);
        return fleet_batch_path(b, frames, ARRAY_SIZE(frames));
}

static void add_snapshot(struct fleet *f, struct fleet_batch *b, uint64_t host, uint64_t t) {
        uint64_t begin = run_begin(f, host, t);
        struct fleet_snapshot *s = fleet_batch_add_snapshot(b);
        int64_t sum = live_of_host(f, host, t);

        s->recording_ms = (t - begin + f->every_s) * 1000;
        s->unix_ms = t * 1000;
        s->period_ms = f->every_s * 1000;
        s->live_bytes = sum;
        s->live_blocks = (int64_t)f->n_sites * 10;
        s->peak_bytes = (uint64_t)sum;
        s->alloc_bytes = f->n_sites * 1000;
        s->n_allocs = f->n_sites * 10;
        s->sample_bytes = 512 << 10;
        s->error_bytes = 1000;
        for (uint64_t site = 0; site < f->n_sites; site++) {
                /* as much by chance as in real ones: they are to take as much room */
                uint64_t chance = mix(host * 7919 + site * 104729 + t);
                struct fleet_site x = {.path_idx = path_of(b, host, site),
                                       .live_bytes = live(f, host, site, t),
                                       .live_blocks = 10 + (int64_t)(chance % 100),
                                       .alloc_bytes = 1000 + (chance >> 8) % 100000,
                                       .n_allocs = 10 + (chance >> 32) % 1000,
                                       .error_bytes = 100 + (double)(chance >> 12) / 1e12};

                fleet_batch_add_site(b, &x);
                f->alloc_sum += x.alloc_bytes;
        }
        f->live_sum += sum;
        f->n_rows += f->n_sites;
        f->n_snapshots++;
}

static void put(struct fleet *f, struct fleet_batch *b) {
        struct err err = {0};

        if (b->snapshots.n == 0)
                return;
        /* as machines would that have days for it: a spool that is full would lose the oldest */
        while (spool_state(f->spool).n_files > MAX_WAITING)
                poll(NULL, 0, 20);
        if (spool_add(f->spool, b, &err) < 0)
                fail("spool", &err);
        f->n_batches++;
        sender_wake(f->sender);
}

static struct fleet_batch *new_batch(const struct fleet *f, uint64_t host, uint64_t t) {
        char host_name[32];
        const char *service = services[host % N_SERVICES];
        struct fleet_run run = {.service = service,
                                .host = host_name,
                                .program = service,
                                .pid = 100};

        snprintf(host_name, sizeof(host_name), "host-%04" PRIu64, host);
        run.build = is_new(f, host, t) ? "bbbbbbbbbbbbbbbb" : "aaaaaaaaaaaaaaaa";
        run.id = fleet_run_id(host_name, run_begin(f, host, t) * 1000000000, run.pid);
        return fleet_batch_new(&run);
}

/* One host's day: a batch, or two where a process restarts in it. */
static void make_day(struct fleet *f, uint64_t host, uint64_t day, bool is_again) {
        uint64_t begin = f->begin_s + day * DAY_S, run = 0;
        struct fleet_batch *b = NULL;
        struct fleet copy = *f;

        for (uint64_t t = begin; t < begin + DAY_S && t <= f->until_s; t += f->every_s) {
                if (b && run_begin(f, host, t) != run) {
                        put(f, b);
                        b = fleet_batch_free(b);
                }
                if (!b) {
                        b = new_batch(f, host, t);
                        run = run_begin(f, host, t);
                }
                add_snapshot(f, b, host, t);
        }
        if (b)
                put(f, b);
        fleet_batch_free(b);
        if (is_again) { /* the same rows count once */
                copy.n_batches = f->n_batches;
                *f = copy;
        }
}

/* ---- the truth -------------------------------------------------------------------------------------- */

static void tell_now(const struct fleet *f, const char *name, uint64_t t) {
        for (uint64_t s = 0; s < N_SERVICES; s++) {
                int64_t sum = 0, leak = 0;

                for (uint64_t host = s; host < f->n_hosts; host += N_SERVICES) {
                        sum += live_of_host(f, host, t);
                        leak += live(f, host, LEAK_SITE, t);
                }
                printf("%s_%s %" PRId64 "\n%s_%s_leak_site %" PRId64 "\n", name, services[s], sum,
                       name, services[s], leak);
        }
}

/* The age that a process of a build reached; those of all hosts are alike. */
static uint64_t oldest(const struct fleet *f, bool new_build) {
        uint64_t age = 0;

        for (uint64_t t = f->begin_s; t <= f->until_s; t += f->every_s)
                if (is_new(f, 0, t) == new_build)
                        age = MAX(age, t - run_begin(f, 0, t) + f->every_s);
        return age;
}

/* Of a build: live bytes of its processes, as the mean of their snapshots up to an age, and of those the mean. */
static void tell_build(const struct fleet *f, const char *name, bool new_build, uint64_t age_s) {
        double sum = 0, leak = 0;
        uint64_t n = 0;

        for (uint64_t host = 0; host < f->n_hosts; host += N_SERVICES)
                for (uint64_t run = f->begin_s; run <= f->until_s; run += f->every_s) {
                        double own = 0, own_leak = 0;
                        uint64_t k = 0;

                        if (run_begin(f, host, run) != run || is_new(f, host, run) != new_build)
                                continue;
                        for (uint64_t t = run;
                             t <= f->until_s && t - run < age_s && run_begin(f, host, t) == run;
                             t += f->every_s, k++) {
                                own += (double)live_of_host(f, host, t);
                                own_leak += (double)live(f, host, LEAK_SITE, t);
                        }
                        sum += own / (double)k;
                        leak += own_leak / (double)k;
                        n++;
                }
        printf("%s_processes %" PRIu64 "\n%s_mean %.3f\n%s_leak_mean %.3f\n", name, n, name,
               sum / (double)n, name, leak / (double)n);
}

static void say_line(void *ctx, const char *line) {
        fprintf(stderr, "fleet_maker: %s\n", line);
}

static void make_all(struct fleet *f, bool is_again) {
        for (uint64_t day = 0; day < f->n_days; day++)
                for (uint64_t host = 0; host < f->n_hosts; host++)
                        make_day(f, host, day, is_again);
}

static void tell(const struct fleet *f) {
        uint64_t last = f->begin_s + (f->n_days * DAY_S / f->every_s - 1) * f->every_s;
        uint64_t age = MIN(oldest(f, false), oldest(f, true));

        printf("batches %" PRIu64 "\nsnapshots %" PRIu64 "\nrows %" PRIu64 "\nlive_sum %" PRId64
               "\nalloc_sum %" PRIu64 "\nlast %" PRIu64 "\n",
               f->n_batches, f->n_snapshots, f->n_rows, f->live_sum, f->alloc_sum, last);
        tell_now(f, "now", last);
        tell_now(f, "before", last - DAY_S);
        tell_build(f, "old", false, age);
        tell_build(f, "new", true, age);
        printf("outlier host-%04" PRIu64 "\n", 3 * (f->n_hosts / 6) + 2);
}

int main(int argc, char **argv) {
        struct fleet f = {0};
        struct server_url url;
        struct sender_state end;
        struct err err = {0};
        struct sender_options o = {.url = &url, .say = say_line};

        if (argc < 8)
                fail("usage: URL SPOOL HOSTS DAYS EVERY_S SITES UNTIL [TWICE]", NULL);
        f.n_hosts = strtoull(argv[3], NULL, 10);
        f.n_days = strtoull(argv[4], NULL, 10);
        f.every_s = strtoull(argv[5], NULL, 10);
        f.n_sites = strtoull(argv[6], NULL, 10);
        f.until_s = strtoull(argv[7], NULL, 10);
        f.begin_s = f.until_s - f.n_days * DAY_S + f.every_s;
        f.release_s = f.begin_s + f.n_days * 2 / 3 * DAY_S;
        if (server_url_parse(argv[1], &url, &err) < 0 ||
            spool_open(argv[2], (uint64_t)1 << 30, &f.spool, &err) < 0)
                fail("start", &err);
        o.spool = f.spool;
        if (sender_start(&o, &f.sender, &err) < 0)
                fail("sender", &err);
        make_all(&f, false);
        if (argc > 8)
                make_all(&f, true);
        /* for as long as it takes: a server that is away comes back */
        while (spool_state(f.spool).n_files > 0)
                poll(NULL, 0, 50);
        end = sender_end(f.sender, 60000000000);
        tell(&f);
        printf("sent %" PRIu64 "\n", end.n_sent);
        spool_close(f.spool);
        return end.is_away;
}
