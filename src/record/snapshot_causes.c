/* SPDX-License-Identifier: MIT */
#include "record/snapshot_causes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/units.h"

#define S 1000000000ull
#define PEAK_NS                                                                                    \
        (S /                                                                                       \
         10) /* between two of them; each is PEAK_STEP above the last, so that there are never many */
#define PRESSURE_NS (10 * S) /* between two of them; twice as long after every PRESSURE_STRETCH */
#define PEAK_FLOOR (1ull << 20) /* bytes: lower peaks are not looked at */
#define PEAK_STEP 1.05

enum { PRESSURE_STRETCH = 10 };

/* ---- the list --------------------------------------------------------------------------------------- */

static int parse_one(const char *word, struct snapshot_level *ret, struct err *reterr) {
        size_t n = strlen(word);
        struct err why = {0};
        char *end;
        int r;

        if (n == 0 || n >= sizeof(ret->text))
                return err_set(
                        reterr, -EINVAL,
                        "'%.40s' is not a threshold: give sizes or percentages, such as 500M,1G,90%%",
                        word);
        memcpy(ret->text, word, n + 1);
        if (word[n - 1] == '%') {
                ret->pct = strtod(word, &end);
                if (end != word + n - 1 || !(ret->pct > 0 && ret->pct <= 100) ||
                    strspn(word, "0123456789.") != n - 1)
                        return err_set(reterr, -EINVAL, "'%s' is out of range: give up to 100%%",
                                       word);
                return 0;
        }
        if (strchr(word, ' '))
                return err_set(reterr, -EINVAL, "'%s': leave out the blank", word);
        r = unit_parse_bytes(word, &ret->bytes, &why);
        if (r < 0)
                return err_set(reterr, r, "%s", why.text);
        return ret->bytes ? 0
                          : err_set(reterr, -EINVAL, "'%s' is always exceeded: leave it out", word);
}

int snapshot_levels_parse(const char *list, struct snapshot_levels *ret, struct err *reterr) {
        struct snapshot_levels l = *ret;
        _cleanup_free_ char *copy = strdup(list);
        char *rest = copy, *word;

        if (!copy)
                return -ENOMEM;
        while ((word = strsep(&rest, ","))) {
                struct snapshot_level one = {0};
                int r;

                if (l.n == SNAPSHOT_MAX_LEVELS)
                        return err_set(reterr, -E2BIG, "more than %d thresholds: leave some out",
                                       SNAPSHOT_MAX_LEVELS);
                r = parse_one(word, &one, reterr);
                if (r < 0)
                        return r;
                for (size_t i = 0; i < l.n; i++)
                        if (strcmp(l.of[i].text, one.text) == 0)
                                return err_set(reterr, -EEXIST,
                                               "'%s' is given twice: leave one out", one.text);
                l.of[l.n++] = one;
        }
        *ret = l;
        return 0;
}

/* ---- what is due ------------------------------------------------------------------------------------- */

void snapshot_causes_init(struct snapshot_causes *c, const struct snapshot_levels *levels,
                          bool with_peaks, bool with_pressure) {
        *c = (struct snapshot_causes){.levels = levels,
                                      .with_peaks = with_peaks,
                                      .with_pressure = with_pressure};
}

static bool is_reached(const struct snapshot_level *l, const struct snapshot_sight *s) {
        if (l->bytes)
                return s->rss_bytes >= l->bytes;
        return s->limit_bytes && (double)s->rss_bytes >= (double)s->limit_bytes * l->pct / 100;
}

/* What a process that was there before has passed already it does not reach. */
static void skip_passed(struct snapshot_causes *c, const struct snapshot_sight *s) {
        for (size_t i = 0; i < c->levels->n; i++)
                if (is_reached(&c->levels->of[i], s))
                        c->passed |= 1u << i;
        c->has_looked = true;
}

static bool next_level(struct snapshot_causes *c, const struct snapshot_sight *s, char ret[32]) {
        for (size_t i = 0; i < c->levels->n; i++) {
                if ((c->passed >> i & 1) || !is_reached(&c->levels->of[i], s))
                        continue;
                c->passed |= 1u << i;
                snprintf(ret, 32, "rss-%s", c->levels->of[i].text);
                return true;
        }
        return false;
}

static bool next_peak(struct snapshot_causes *c, const struct snapshot_sight *s, char ret[32]) {
        if (!c->with_peaks || s->now_ns < c->next_peak_ns || s->live_bytes < PEAK_FLOOR ||
            (double)s->live_bytes < (double)c->peak_bytes * PEAK_STEP)
                return false;
        c->peak_bytes = s->live_bytes;
        c->next_peak_ns = s->now_ns + PEAK_NS;
        snprintf(ret, 32, "peak-%u", ++c->n_peaks);
        return true;
}

static bool next_pressure(struct snapshot_causes *c, const struct snapshot_sight *s, char ret[32]) {
        if (!c->with_pressure || !s->is_pressed || s->now_ns < c->next_pressure_ns ||
            c->n_pressure >= SNAPSHOT_MAX_PRESSURE)
                return false;
        c->next_pressure_ns = s->now_ns + (PRESSURE_NS << c->n_pressure / PRESSURE_STRETCH);
        snprintf(ret, 32, "pressure-%u", ++c->n_pressure);
        return true;
}

bool snapshot_causes_next(struct snapshot_causes *c, const struct snapshot_sight *s, char ret[32]) {
        if (!c->has_looked)
                skip_passed(c, s);
        return next_level(c, s, ret) || next_peak(c, s, ret) || next_pressure(c, s, ret);
}
