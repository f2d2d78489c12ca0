/* SPDX-License-Identifier: MIT */
#include "bill/bill_missed.h"

#include <stdlib.h>

#include "base/units.h"
#include "query/pages.h"
#include "query/query.h"

enum {
        MATERIAL_SHARE =
                8, /* of what was seen: more than the recorder lets memory grow between two looks */
        MATERIAL_BYTES = 2 << 20,
};

static bool is_material(uint64_t most_bytes, uint64_t seen_bytes) {
        return most_bytes > seen_bytes + seen_bytes / MATERIAL_SHARE + MATERIAL_BYTES;
}

static uint64_t sample_bytes(const struct trace_sample *s) {
        return s->anon_bytes + s->file_bytes + s->shmem_bytes;
}

static uint64_t distance(uint64_t a, uint64_t b) {
        return a > b ? a - b : b - a;
}

/* Silt's own is in what the kernel counts, and in no sample. */
static uint64_t without_runtime(const struct query *q, const struct bill_point *p) {
        uint64_t own = query_view(q)->processes[p->process].end.runtime_bytes;

        return p->rss_bytes > own ? p->rss_bytes - own : 0;
}

/* What is known of each process, by its number. */
static struct bill_missed *known_new(struct query *q, uint32_t process, uint64_t from_ns,
                                     uint64_t to_ns) {
        const struct trace_view *v = query_view(q);
        struct bill_missed *known = calloc(v->n_processes + 1, sizeof(*known));
        const struct trace_sample *samples = NULL;
        struct err unsaid = {0};
        size_t n = 0;

        if (!known)
                abort();
        if (query_samples(q, &samples, &n, &unsaid) < 0)
                n = 0;
        for (size_t i = 0; i < n; i++) {
                const struct trace_sample *s = &samples[i];
                struct bill_missed *k = &known[s->process];

                if (s->time_ns < from_ns || s->time_ns > to_ns || sample_bytes(s) <= k->most_bytes)
                        continue;
                k->most_bytes = sample_bytes(s);
                k->at_ns = s->time_ns;
        }
        for (uint32_t p = 0; p < v->n_processes; p++) {
                const struct trace_process_info *one = &v->processes[p];

                known[p].process = p;
                if (process != QUERY_ALL && p != process)
                        known[p].most_bytes = 0;
                else if (one->start.start_ns >= from_ns && query_run_end_ns(q, p) <= to_ns &&
                         one->end.peak_rss_bytes > known[p].most_bytes)
                        known[p].most_bytes = one->end.peak_rss_bytes;
        }
        return known;
}

void bill_find_missed(const struct bill_series *s, struct query *q, uint32_t process,
                      uint64_t from_ns, uint64_t to_ns, struct bill_missed *ret) {
        struct bill_missed *known = known_new(q, process, from_ns, to_ns), *worst = NULL;

        for (size_t i = 0; i < s->points.n; i++) {
                const struct bill_point *p = &s->points.items[i];
                struct bill_missed *k = &known[p->process];

                if (p->time_ns >= from_ns && p->time_ns <= to_ns)
                        k->seen_bytes = MAX(k->seen_bytes, without_runtime(q, p));
        }
        for (uint32_t p = 0; p < query_view(q)->n_processes; p++)
                if (known[p].most_bytes > known[p].seen_bytes &&
                    (!worst || known[p].most_bytes - known[p].seen_bytes >
                                       worst->most_bytes - worst->seen_bytes))
                        worst = &known[p];
        *ret = worst ? *worst : (struct bill_missed){0};
        ret->is_any = worst && is_material(ret->most_bytes, ret->seen_bytes);
        free(known);
}

void bill_find_missed_then(const struct bill_series *s, struct query *q,
                           const struct bill_moment *m, uint64_t asked_ns,
                           struct bill_missed *ret) {
        const struct bill_point *p;
        const struct trace_sample *samples = NULL, *nearest = NULL;
        struct err unsaid = {0};
        size_t n = 0;

        *ret = (struct bill_missed){0};
        if (m->points.n != 1 || query_samples(q, &samples, &n, &unsaid) < 0)
                return;
        p = &s->points.items[m->points.items[0]];
        for (size_t i = 0; i < n; i++)
                if (samples[i].process == p->process &&
                    (!nearest ||
                     distance(samples[i].time_ns, asked_ns) < distance(nearest->time_ns, asked_ns)))
                        nearest = &samples[i];
        if (!nearest || distance(nearest->time_ns, asked_ns) >= distance(p->time_ns, asked_ns))
                return;
        *ret = (struct bill_missed){.process = p->process,
                                    .seen_bytes = without_runtime(q, p),
                                    .most_bytes = sample_bytes(nearest),
                                    .at_ns = nearest->time_ns};
        ret->is_any = is_material(ret->most_bytes, ret->seen_bytes) ||
                      is_material(ret->seen_bytes, ret->most_bytes);
}

void bill_add_missed(const struct bill_missed *m, const struct query *q, bool is_only,
                     bool is_moment, struct str *to) {
        struct unit_text at, most;

        if (!m->is_any)
                return;
        str_add(to, " ");
        if (is_moment)
                str_addf(to, "At %s, ", unit_duration(&at, m->at_ns));
        if (is_only) {
                str_add(to, is_moment ? "it" : "It");
        } else {
                query_add_process_name(q, m->process, to);
                str_add(to, " ");
                query_add_process_word(q, m->process, to);
        }
        str_addf(to, " had %s%s: silt did not look then.", unit_bytes(&most, m->most_bytes),
                 is_moment ? "" : " at most");
}

/* Of each process the sample nearest to the moment; NULL: there is none. */
static const struct trace_sample **nearest_samples(struct query *q, uint64_t at_ns) {
        const struct trace_sample **of = calloc(query_view(q)->n_processes + 1, sizeof(*of));
        const struct trace_sample *samples = NULL;
        struct err unsaid = {0};
        size_t n = 0;

        if (!of)
                abort();
        if (query_samples(q, &samples, &n, &unsaid) < 0)
                n = 0;
        for (size_t i = 0; i < n; i++) {
                const struct trace_sample **to = &of[samples[i].process];

                if (!*to || distance(samples[i].time_ns, at_ns) < distance((*to)->time_ns, at_ns))
                        *to = &samples[i];
        }
        return of;
}

void bill_find_unlooked(const struct bill_series *s, struct query *q, const struct bill_moment *m,
                        struct bill_unlooked *ret) {
        const struct trace_sample **of;
        bool *is_in;

        *ret = (struct bill_unlooked){0};
        if (!s->is_of_all)
                return;
        of = nearest_samples(q, m->time_ns);
        is_in = calloc(query_view(q)->n_processes + 1, sizeof(*is_in));
        if (!is_in)
                abort();
        for (size_t i = 0; i < m->points.n; i++)
                is_in[s->points.items[m->points.items[i]].process] = true;
        for (uint32_t p = 0; p < query_view(q)->n_processes; p++) {
                if (!bill_is_alive(q, p, m->time_ns))
                        continue;
                ret->n_alive++;
                if (is_in[p])
                        continue;
                ret->n++;
                ret->n_known += of[p] != NULL;
                ret->anon_bytes += of[p] ? of[p]->anon_bytes : 0;
        }
        ret->is_material =
                ret->n && is_material(m->resident_bytes + ret->anon_bytes, m->resident_bytes);
        free(is_in);
        free(of);
}

void bill_add_unlooked(const struct bill_unlooked *u, struct str *to) {
        struct unit_text n, had;

        if (!u->is_material)
                return;
        str_addf(to, " Not in it %s %s process%s that silt did not look at: %s had %s%s of %s own.",
                 u->n == 1 ? "is" : "are", unit_count(&n, u->n), u->n == 1 ? "" : "es",
                 u->n == 1 ? "it" : "they", u->n_known < u->n ? "at least " : "",
                 unit_bytes(&had, u->anon_bytes), u->n == 1 ? "its" : "their");
}
