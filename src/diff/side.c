/* SPDX-License-Identifier: MIT */
#include "diff/side.h"

#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "query/spent_time.h"
#include "show/estimate.h"
#include "show/frame.h"
#include "show/process_holders.h"
#include "show/style.h"

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b) {
        struct stat x, y;

        return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int side_open(struct diff_side *s, const struct diff_source *source, const struct diff_side *other,
              struct err *reterr) {
        int r = 0;

        *s = (struct diff_side){.source = source};
        if (source->q)
                s->q = source->q;
        else if (other && is_same_file(other->source->path, source->path))
                s->q = other->q;
        else if (other)
                r = opened_init_beside(&s->opened, source->path, other->frames.names, reterr);
        else
                r = opened_init(&s->opened, source->path, &source->request->rules, reterr);
        if (r < 0)
                return r;
        s->q = s->q ? s->q : s->opened.q;
        s->v = query_view(s->q);
        s->frames = (struct frame_names){s->q, query_names(s->q), source->request->full};
        return 0;
}

void side_done(struct diff_side *s) {
        query_answer_free(s->answer);
        request_resolved_done(&s->resolved);
        opened_done(&s->opened);
        *s = (struct diff_side){0};
}

/* ---- asking ---------------------------------------------------------------------------------- */

int side_ask(struct diff_side *s, struct err *reterr) {
        const struct request *asked = s->source->request;
        struct err why = {0};
        int r = request_resolve(asked, s->q, REQUEST_ALL, &s->resolved, &why);

        if (r < 0)
                return err_within(reterr, s->source->path, &why);
        if (s->resolved.note[0])
                err_set(reterr, 0, "%s: %s", s->source->path, s->resolved.note);
        s->frames.is_of_time = s->resolved.scope.of_time != QUERY_NO_TIME;
        r = query_ask(s->q, &s->resolved.scope, &s->answer, reterr);
        if (r < 0)
                return r;
        s->from_ns = s->answer->scope.from_ns;
        s->to_ns = MAX(MIN(s->answer->scope.to_ns, s->v->end_ns), s->from_ns);
        return 0;
}

/* ---- what is said of it ---------------------------------------------------------------------- */

uint64_t side_duration_ns(const struct diff_side *s) {
        return s->to_ns - s->from_ns;
}

bool side_is_windowed(const struct diff_side *s) {
        return s->from_ns > 0 || s->to_ns < s->v->end_ns;
}

const struct trace_process_info *side_process(const struct diff_side *s) {
        return &s->v->processes[holder_process(s->q, s->answer)];
}

void side_add_command(const struct diff_side *s, size_t max_bytes, struct str *to) {
        bool is_all = s->answer->scope.process == QUERY_ALL;
        const struct trace_process *p =
                is_all ? &s->v->processes[query_main_process(s->q)].start : &side_process(s)->start;
        bool is_main = (is_all || !s->source->request->process) && s->v->meta.n_args;
        uint32_t n_args = is_main ? s->v->meta.n_args : p->n_args;
        const char *const *args = is_main ? s->v->meta.args : p->args;
        size_t begin = to->n;

        for (uint32_t i = 0; i < n_args; i++) {
                str_add(to, i ? " " : "");
                if (to->n - begin >= max_bytes) {
                        str_add(to, "..");
                        break;
                }
                style_add_clean(to, args[i]);
        }
        if (n_args == 0) /* nothing: unknown */
                style_add_clean(to, frame_base(p->exe));
}

void side_add_doubt(const struct diff_side *s, struct str *to) {
        const struct query_answer *a = s->answer;
        struct unit_text t;

        if (query_is_blank(s->q))
                str_add(to,
                        "Nothing of what the program did is in it: it was cut off, or has just begun.");
        else if (query_answer_is_untold(a) && s->v->meta.flags & TRACE_IS_TOTALS)
                str_add(to, "This window is unknown: the recording has totals and no events.");
        else if (query_answer_is_untold(a))
                str_addf(to, "This window is unknown: detail before %s was dropped.",
                         unit_duration(&t, a->known_from_ns));
        else if (a->totals.n_lost)
                str_addf(to, "%s events were lost while it was recorded.",
                         unit_count(&t, a->totals.n_lost));
        else if (s->v->n_unwritten_events)
                str_addf(to, "%s events could not be written to it.",
                         unit_count(&t, s->v->n_unwritten_events));
        else if (query_damage(s->q)[0]) {
                str_add(to, "Incomplete: ");
                style_add_clean(to, query_damage(s->q));
                str_add(to, ".");
        } else if (!s->v->finished)
                str_add(to, "Its end is missing: it was cut off, or is still being written.");
        else if (s->v->meta.flags & TRACE_IS_TOTALS && (a->known_from_ns || a->is_moved))
                str_add(to, "It has totals and no events: this is the nearest known window.");
        else if (a->known_from_ns)
                str_addf(to,
                         "Blocks allocated before %s are not counted: their detail was dropped.",
                         unit_duration(&t, a->known_from_ns));
        else if (a->is_moved)
                str_addf(to, "Detail before %s was dropped: this is the nearest known window.",
                         unit_duration(&t, s->v->detail_from_ns));
        else if (!a->is_exact)
                str_add(to, "Parts of the file that its figures need are missing.");
        else if (query_sample_bytes(s->q) && !a->scope.of_mappings && !a->scope.of_time) {
                str_addf(
                        to,
                        "It consists of samples of one in %s, so figures by function are estimates.",
                        unit_bytes(&t, query_sample_bytes(s->q)));
        }
}
