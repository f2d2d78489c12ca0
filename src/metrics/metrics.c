/* SPDX-License-Identifier: MIT */
#include "metrics/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/system_clock.h"
#include "live/live_subject.h"
#include "metrics/recording_metrics.h"
#include "metrics/scrape_server.h"
#include "trace/being_written.h"

enum { RETRY_MS = 50, PORT_RETRY_MS = 250, PORT_N_TRIES = 240, MAX_RECORDINGS = 64, RECENT_S = 60 };
#define LONGEST_LAST_NS 60000000000ull
#define SHORTEST_LAST_NS 10000000000ull
#define FINISHED_NS 60000000000ull

struct followed {
        struct recording recording;
        struct live_subject *subject; /* NULL: of a folder */
        char *path;
        bool is_found;    /* in a folder: it goes when it is over */
        uint64_t over_ns; /* when that was seen; 0: it goes on */
};

struct metrics {
        struct metrics_options o;
        struct counter_keeper keeper;
        VEC(struct followed *) followed;
        uint32_t n_ever;
        VEC(const char *) folders;
        bool is_scraped_over;          /* what the recordings ended with was told */
        uint64_t scraped_ns, every_ns; /* the last time; and how long after the one before */
        uint64_t over_ns;              /* when it was seen that all have ended; 0: not yet */
};

/* ---- recordings ----------------------------------------------------------------------------------- */

static struct followed *followed_free(struct followed *f) {
        if (!f)
                return NULL;
        recording_done(&f->recording);
        live_subject_free(f->subject);
        free(f->path);
        free(f);
        return NULL;
}
DEFINE_CLEANUP(struct followed, followed_free)

static int follow(struct metrics *m, const char *path, uint64_t wait_ns, struct followed **ret,
                  struct err *reterr) {
        _cleanup_(followed_freep) struct followed *f = calloc(1, sizeof(*f));
        uint64_t n_tries = wait_ns / (RETRY_MS * 1000000ull);
        struct follower_options o = {.rules = m->o.rules, .window_ns = METRICS_WINDOW_NS};
        int r;

        if (!f || !(f->path = strdup(path)))
                abort();
        o.path = f->path;
        while ((r = follower_open(&o, &f->recording.f, reterr)) < 0 && n_tries-- > 0) {
                *reterr = (struct err){0};
                (void)poll(NULL, 0, RETRY_MS);
        }
        if (r < 0)
                return r;
        f->recording.path = f->path;
        f->recording.number = m->n_ever++;
        f->recording.tells_short = m->o.is_once;
        *ret = f;
        vec_push(&m->followed, TAKE_PTR(f));
        return 0;
}

static bool is_folder(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int open_one(struct metrics *m, const char *who, struct err *reterr) {
        _cleanup_(live_subject_freep) struct live_subject *subject = NULL;
        struct followed *f;
        int r;

        if (is_folder(who)) {
                vec_push(&m->folders, who);
                return 0;
        }
        r = live_subject_open(&(struct live_subject_options){.who = who}, &subject, reterr);
        if (r < 0)
                return r;
        r = follow(m, live_subject_path(subject), m->o.wait_ns, &f, reterr);
        if (r < 0)
                return r;
        f->subject = TAKE_PTR(subject);
        return 0;
}

int metrics_open(const struct metrics_options *o, struct metrics **ret, struct err *reterr) {
        _cleanup_(metrics_freep) struct metrics *m = calloc(1, sizeof(*m));

        if (!m)
                abort();
        m->o = *o;
        for (size_t i = 0; i < o->n_subjects; i++) {
                int r = open_one(m, o->subjects[i], reterr);

                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(m);
        return 0;
}

struct metrics *metrics_free(struct metrics *m) {
        if (!m)
                return NULL;
        for (size_t i = 0; i < m->followed.n; i++)
                followed_free(m->followed.items[i]);
        vec_free(&m->followed);
        vec_free(&m->folders);
        counter_keeper_done(&m->keeper);
        free(m);
        return NULL;
}

/* ---- folders --------------------------------------------------------------------------------------- */

static bool is_followed(const struct metrics *m, const char *path) {
        for (size_t i = 0; i < m->followed.n; i++)
                if (strcmp(m->followed.items[i]->path, path) == 0)
                        return true;
        return false;
}

/* A recorder writes at least once a second: what is older than that by far is finished, and is not looked at more closely. */
static bool is_recent(const char *path) {
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && time(NULL) - st.st_mtime <= RECENT_S;
}

static void look_into_folder(struct metrics *m, const char *folder) {
        static const char ending[] = ".silt";
        DIR *d = opendir(folder);
        struct dirent *e;

        while (d && m->followed.n < MAX_RECORDINGS && (e = readdir(d))) {
                size_t n = strlen(e->d_name);
                struct str path = {0};
                struct followed *f;

                if (n < sizeof(ending) || strcmp(e->d_name + n - sizeof(ending) + 1, ending) != 0)
                        continue;
                str_addf(&path, "%s/%s", folder, e->d_name);
                if (is_recent(str_text(&path)) && !is_followed(m, str_text(&path)) &&
                    trace_is_being_written(str_text(&path)) &&
                    follow(m, str_text(&path), 0, &f, &(struct err){0}) >= 0)
                        f->is_found = true;
                str_done(&path);
        }
        if (d)
                closedir(d);
}

/* Recordings of a folder are told for a while behind their end; then there is room for others. */
static void leave_finished(struct metrics *m) {
        uint64_t now_ns = clock_now_ns();
        size_t n = 0;

        for (size_t i = 0; i < m->followed.n; i++) {
                struct followed *f = m->followed.items[i];

                if (!f->over_ns && follower_now(f->recording.f)->is_over)
                        f->over_ns = now_ns;
                if (f->is_found && f->over_ns && now_ns - f->over_ns > FINISHED_NS)
                        followed_free(f);
                else
                        m->followed.items[n++] = f;
        }
        m->followed.n = n;
}

/* ---- collecting ------------------------------------------------------------------------------------ */

static bool are_over(const struct metrics *m) {
        for (size_t i = 0; i < m->followed.n; i++)
                if (!follower_now(m->followed.items[i]->recording.f)->is_over)
                        return false;
        return m->folders.n == 0;
}

static int add_recording(struct followed *f, size_t max_processes, struct metric_set *set,
                         struct err *reterr) {
        int r = follower_step(f->recording.f, reterr);

        return r < 0 ? r : recording_metrics_add(&f->recording, max_processes, set, reterr);
}

/* One that cannot be read at this moment, or was removed, leaves the others as they are. */
static int collect(void *ctx, struct metric_set *set, struct err *reterr) {
        struct metric_labels l = {0};
        struct metrics *m = ctx;
        size_t n_left = METRICS_MAX_PROCESSES, n_failed = 0;
        int r, last = 0;

        set->keeper = &m->keeper;
        counter_keeper_begin(&m->keeper);
        metric_label(&l, "version", m->o.version);
        metric_put(set, METRIC_BUILD_INFO, &l, 1);
        metric_labels_done(&l);
        for (size_t i = 0; i < m->folders.n; i++)
                look_into_folder(m, m->folders.items[i]);
        for (size_t i = 0; i < m->followed.n; i++) {
                size_t n_others = m->followed.n - i - 1; /* for each of them one at least */

                r = add_recording(m->followed.items[i], n_left > n_others ? n_left - n_others : 1,
                                  set, reterr);
                if (r < 0) {
                        n_failed++;
                        last = r;
                } else {
                        n_left -= MIN((size_t)r, n_left);
                }
        }
        leave_finished(m);
        if (n_failed && n_failed == m->followed.n)
                return last;
        m->is_scraped_over = are_over(m);
        return 0;
}

static int collect_scrape(void *ctx, struct metric_set *set, struct err *reterr) {
        uint64_t now_ns = clock_now_ns();
        struct metrics *m = ctx;

        m->every_ns = m->scraped_ns ? now_ns - m->scraped_ns : LONGEST_LAST_NS;
        m->scraped_ns = now_ns;
        return collect(m, set, reterr);
}

int metrics_write(struct metrics *m, enum exposition e, FILE *out, struct err *reterr) {
        struct metric_set set = {0};
        struct str text = {0};
        int r = collect(m, &set, reterr);

        if (r >= 0) {
                exposition_write(&set, e, &text);
                fputs(str_text(&text), out);
        }
        str_done(&text);
        metric_set_done(&set);
        return r < 0 ? r : 0;
}

/* ---- serving --------------------------------------------------------------------------------------- */

/* Where somebody scrapes, once more after the end: twice as long as the scrapes are apart is waited for it. */
static bool is_over(void *ctx) {
        struct metrics *m = ctx;

        for (size_t i = 0; i < m->followed.n && !m->over_ns; i++)
                if (trace_is_being_written(m->followed.items[i]->path))
                        return false;
        if (m->folders.n)
                return false;
        if (!m->over_ns)
                m->over_ns = clock_now_ns();
        return m->is_scraped_over || !m->scraped_ns ||
               clock_now_ns() - m->over_ns >
                       MAX(SHORTEST_LAST_NS, MIN(2 * m->every_ns, LONGEST_LAST_NS));
}

int metrics_serve(struct metrics *m, const struct metrics_serving *o, struct err *reterr) {
        struct scrape_server_options so = {.address = o->address.host,
                                           .port = o->address.port,
                                           .ctx = m,
                                           .collect = collect_scrape,
                                           .is_over = o->is_child ? is_over : NULL};
        struct scrape_server *s = NULL;
        int r = scrape_server_start(&so, &s, reterr);

        /* the one before, of a program that was started again, may wait for its last scrape */
        for (size_t i = 0; o->is_child && r == -EADDRINUSE && i < PORT_N_TRIES; i++) {
                struct pollfd stop = {.fd = o->stop_fd, .events = POLLIN};

                if (i == 0)
                        o->say_late(reterr);
                if (poll(&stop, 1, PORT_RETRY_MS) > 0 || is_over(m))
                        return 0;
                r = scrape_server_start(&so, &s, reterr);
        }
        if (r >= 0) {
                o->say(scrape_server_address(s), scrape_server_is_loopback(s));
                r = scrape_server_run(s, o->stop_fd, reterr);
        }
        scrape_server_free(s);
        return r;
}
