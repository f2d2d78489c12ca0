/* SPDX-License-Identifier: MIT */
/* The sentence an answer begins with. Names in it come from other machines: whoever prints it makes them harmless. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "fleet/fleet_answer.h"

enum { SENTENCE_FRAMES = 3 };

static void add_moment(struct str *to, uint64_t s) {
        time_t t = (time_t)s;
        struct tm tm;
        char text[32];

        gmtime_r(&t, &tm);
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", &tm);
        str_add(to, text);
}

static const char *since(struct unit_text *t, const struct fleet_answer *a) {
        uint64_t s = a->now_s - a->before_s;

        if (s % 86400 == 0)
                snprintf(t->s, sizeof(t->s), "%llu day%s", (unsigned long long)(s / 86400),
                         unit_s(s / 86400));
        else
                unit_duration(t, s * 1000000000);
        return t->s;
}

void fleet_add_path(const struct fleet_answer *a, const char *id, size_t n_frames, struct str *to) {
        const char *frames = fleet_answer_frames(a, id), *at = frames;
        size_t n = 0;

        if (!frames || !*frames) {
                str_addf(to, "call path %.8s, whose functions the server does not know", id);
                return;
        }
        for (; *at && n < n_frames; n++) {
                size_t len = strcspn(at, "\n");

                if (n)
                        str_add(to, " ← ");
                str_addn(to, at, len);
                at += len + (at[len] == '\n');
        }
        if (*at)
                str_add(to, " ← …");
}

static void add_row_path(const struct fleet_answer *a, size_t row, struct str *to) {
        fleet_add_path(a, fleet_answer_text(a, row, "path"), SENTENCE_FRAMES, to);
}

static void add_share(struct str *to, double change, double before) {
        if (before > 0)
                str_addf(to, " (%+.1f %%)", 100 * change / before);
}

/* What is old, or not there, comes before any figure. */
static void say_moment(struct fleet_answer *a) {
        struct unit_text age;

        if (!a->question->until_s && a->server_now_s > a->now_s + 3600)
                fleet_answer_doubt(a,
                                   "The newest snapshot is %s old: nothing has been pushed since.",
                                   unit_duration(&age, (a->server_now_s - a->now_s) * 1000000000));
}

static void say_services(struct fleet_answer *a) {
        double live = 0;
        struct unit_text n, x, y, z;
        struct str *to = &a->sentence;

        for (size_t i = 0; i < a->n_rows; i++)
                live += fleet_answer_number(a, i, "live_bytes");
        if (a->n_rows == 0) {
                str_add(to, "No service was being recorded at ");
                add_moment(to, a->now_s);
                str_add(to, ".");
                return;
        }
        str_addf(to, "%s%s service%s", a->has_more ? "The first " : "", unit_count(&n, a->n_rows),
                 unit_s(a->n_rows));
        if (!a->has_more) /* a host may run several, so those of the rows do not add up */
                str_addf(to, " on %s host%s", unit_count(&x, a->n_hosts), unit_s(a->n_hosts));
        str_addf(to, " hold%s %s", a->n_rows == 1 ? "s" : "", unit_bytes(&y, unit_nearest(live)));
        if (fleet_answer_number(a, 0, "growth_bytes") > 0) {
                str_addf(to, ": %s grew most, by %s", fleet_answer_text(a, 0, "service"),
                         unit_bytes(&y, unit_nearest(fleet_answer_number(a, 0, "growth_bytes"))));
                add_share(to, fleet_answer_number(a, 0, "growth_bytes"),
                          fleet_answer_number(a, 0, "before_bytes"));
                str_addf(to, " in %s.", since(&z, a));
        } else
                str_addf(to, ". None grew in %s.", since(&z, a));
}

static void say_grew(struct fleet_answer *a) {
        struct str *to = &a->sentence;
        struct unit_text x, y, n, m;

        if (a->n_rows == 0) {
                str_addf(
                        to,
                        "No call path holds more than %s before, on hosts that were there at both times.",
                        since(&x, a));
                return;
        }
        str_addf(to, "%s holds %s more than %s before on %s of %s host%s, in ",
                 fleet_answer_text(a, 0, "service"),
                 unit_bytes(&x, unit_nearest(fleet_answer_number(a, 0, "growth_bytes"))),
                 since(&y, a),
                 unit_count(&n, unit_nearest(fleet_answer_number(a, 0, "hosts_grew"))),
                 unit_count(&m, unit_nearest(fleet_answer_number(a, 0, "hosts"))),
                 unit_s(unit_nearest(fleet_answer_number(a, 0, "hosts"))));
        add_row_path(a, 0, to);
        if (*fleet_answer_text(a, 0, "build"))
                str_addf(to, " (build %.12s)", fleet_answer_text(a, 0, "build"));
        str_add(to, ".");
}

static void say_release(struct fleet_answer *a, const struct fleet_sides *s) {
        const struct fleet_question *q = a->question;
        double change = s->new_mean - s->old_mean;
        struct unit_text x, y, z, n, m;
        struct str *to = &a->sentence;

        if (fabs(change) < 2 * s->error || change == 0)
                str_addf(
                        to,
                        "Build %.12s of %s does not hold more or less than %.12s that chance could not explain: %s and %s per process",
                        q->new_build, q->service, q->old_build,
                        unit_bytes(&x, unit_nearest(s->new_mean)),
                        unit_bytes(&y, unit_nearest(s->old_mean)));
        else {
                str_addf(to, "A process of %s holds %s %s", q->service,
                         unit_bytes(&x, unit_nearest(fabs(change))), change > 0 ? "more" : "less");
                add_share(to, change, s->old_mean);
                str_addf(to, " with build %.12s than with %.12s", q->new_build, q->old_build);
                for (size_t i = 0; i < a->n_rows; i++) /* the first that goes the same way */
                        if (fleet_answer_number(a, i, "change_bytes") * change > 0) {
                                str_add(to, ", most in ");
                                add_row_path(a, i, to);
                                break;
                        }
        }
        str_addf(to, "; %s and %s process%s, the first %s of each.", unit_count(&n, s->n_new),
                 unit_count(&m, s->n_old), s->n_old == 1 ? "" : "es",
                 unit_duration(&z, s->ages.horizon_ms * 1000000));
}

static void say_hosts(struct fleet_answer *a) {
        struct str *to = &a->sentence;
        struct unit_text x, y, n;

        if (a->n_rows == 0) {
                str_add(to, "No host holds far more than the others of its service.");
                return;
        }
        str_addf(
                to,
                "%s%s host%s hold%s far more than the others of %s service: %s holds %s of %s, whose median is %s",
                a->has_more ? "More than " : "", unit_count(&n, a->n_rows), unit_s(a->n_rows),
                a->n_rows == 1 ? "s" : "", a->n_rows == 1 ? "its" : "their",
                fleet_answer_text(a, 0, "host"),
                unit_bytes(&x, unit_nearest(fleet_answer_number(a, 0, "live_bytes"))),
                fleet_answer_text(a, 0, "service"),
                unit_bytes(&y, unit_nearest(fleet_answer_number(a, 0, "median_bytes"))));
        if (*fleet_answer_text(a, 0, "path")) {
                str_add(to, ", most of it in ");
                add_row_path(a, 0, to);
        }
        str_add(to, ".");
}

static void say_paths(struct fleet_answer *a) {
        double live = 0;
        struct str *to = &a->sentence;
        struct unit_text x, y, n;

        for (size_t i = 0; i < a->n_rows; i++)
                live += fleet_answer_number(a, i, "live_bytes");
        if (a->n_rows == 0) {
                str_addf(to, "No process of %s was being recorded at ", a->question->service);
                add_moment(to, a->now_s);
                str_add(to, ".");
                return;
        }
        str_addf(to, "%s%s call path%s of %s hold%s %s: %s in ", a->has_more ? "The first " : "",
                 unit_count(&n, a->n_rows), unit_s(a->n_rows), a->question->service,
                 a->n_rows == 1 ? "s" : "", unit_bytes(&x, unit_nearest(live)),
                 unit_bytes(&y, unit_nearest(fleet_answer_number(a, 0, "live_bytes"))));
        add_row_path(a, 0, to);
        str_add(to, ".");
}

/* By service, the newest first: the first two of the first service are what changed last. */
static void say_builds(struct fleet_answer *a) {
        struct str *to = &a->sentence;
        struct unit_text n, x, y, z;

        if (a->n_rows == 0) {
                str_addf(to, "No snapshot arrived in %s.", since(&x, a));
                return;
        }
        str_addf(
                to,
                "%s%s build%s ran in %s: the newest of %s is %.12s, whose processes hold %s on average",
                a->has_more ? "The first " : "", unit_count(&n, a->n_rows), unit_s(a->n_rows),
                since(&x, a), fleet_answer_text(a, 0, "service"),
                *fleet_answer_text(a, 0, "build") ? fleet_answer_text(a, 0, "build")
                                                  : "without a build-id",
                unit_bytes(&y, unit_nearest(fleet_answer_number(a, 0, "mean_bytes"))));
        if (a->n_rows > 1 &&
            strcmp(fleet_answer_text(a, 0, "service"), fleet_answer_text(a, 1, "service")) == 0)
                str_addf(to, ", those of the one before %s",
                         unit_bytes(&z, unit_nearest(fleet_answer_number(a, 1, "mean_bytes"))));
        str_add(to, ".");
}

/* There may be some of another moment: a process that has ended is none of now. */
static void say_nobody(struct fleet_answer *a) {
        const struct fleet_question *q = a->question;
        struct str *to = &a->sentence;

        str_add(to, "No process");
        if (q->service)
                str_addf(to, " of %s", q->service);
        if (q->host)
                str_addf(to, " on %s", q->host);
        if (q->build)
                str_addf(to, " with build %.12s", q->build);
        if (q->kind == FLEET_BUILDS || q->kind == FLEET_RELEASE) {
                str_add(to, " was seen in that time: --since looks further back.");
                return;
        }
        str_add(to, " was being recorded at ");
        add_moment(to, a->now_s);
        str_add(to,
                ": 'silt fleet builds' shows when the last were; ask about that time with --until.");
}

void fleet_say(struct fleet_answer *a, const struct fleet_sides *sides) {
        if (!a->now_s) {
                str_add(&a->sentence,
                        a->is_all_ahead
                                ? "All snapshots are later than the server's own clock: set the clocks right."
                                : "The server has no snapshots: start with 'silt push PID --to URL'.");
                return;
        }
        if (a->n_rows == 0 && a->n_hosts == 0) {
                say_nobody(a);
                return;
        }
        switch (a->question->kind) {
        case FLEET_SERVICES: say_services(a); break;
        case FLEET_GREW: say_grew(a); break;
        case FLEET_RELEASE: say_release(a, sides); break;
        case FLEET_HOSTS: say_hosts(a); break;
        case FLEET_PATHS: say_paths(a); break;
        case FLEET_BUILDS: say_builds(a); break;
        case FLEET_SQL:
        case FLEET_N_KINDS: break;
        }
        say_moment(a);
}
