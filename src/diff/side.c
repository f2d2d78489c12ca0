/* SPDX-License-Identifier: MIT */
#include "diff/side.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/units.h"
#include "show/estimate.h"
#include "show/frame.h"
#include "show/process_holders.h"
#include "show/style.h"
#include "show/times.h"

/* ---- opening --------------------------------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b) {
        struct stat x, y;

        return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

int side_open(struct diff_side *s, const struct diff_source *source,
              const struct name_sources *rules, const struct diff_side *other, bool full,
              struct err *reterr) {
        int r = 0;

        *s = (struct diff_side){.own = *source};
        s->source = &s->own;
        if (other && is_same_file(other->source->path, source->path))
                s->q = other->q;
        else if (other)
                r = opened_init_beside(&s->opened, source->path, other->frames.names, reterr);
        else
                r = opened_init(&s->opened, source->path, rules, reterr);
        if (r < 0)
                return r;
        s->q = s->q ? s->q : s->opened.q;
        s->v = query_view(s->q);
        s->frames = (struct frame_names){s->q, query_names(s->q), full};
        return 0;
}

void side_done(struct diff_side *s) {
        query_answer_free(s->answer);
        query_filter_free(s->filter);
        opened_done(&s->opened);
        *s = (struct diff_side){0};
}

/* ---- which process --------------------------------------------------------------------------- */

static int find_process(struct diff_side *s, uint32_t *ret, struct err *reterr) {
        struct err why = {0};
        int r = query_choose_process(s->q, s->source->process, ret, &why);

        return r < 0 ? err_within(reterr, s->source->path, &why) : 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int check_window(const struct diff_side *s, struct err *reterr) {
        const struct diff_source *o = s->source;
        struct unit_text t;

        if (o->from_ns > 0 && o->from_ns >= s->v->end_ns)
                return err_set(reterr, -ERANGE,
                               "%s: the recording is only %s long: choose an earlier time", o->path,
                               unit_duration(&t, s->v->end_ns));
        if (o->is_at && o->to_ns > s->v->end_ns)
                return err_set(reterr, -ERANGE,
                               "%s: the recording is only %s long: choose an earlier moment",
                               o->path, unit_duration(&t, s->v->end_ns));
        return 0;
}

/* Moments that have a name are at another time in each recording. */
static int name_times(struct diff_side *s, uint32_t process, const struct query_filter *filter,
                      struct err *reterr) {
        struct diff_source *o = &s->own;
        struct times_window w = {o->from_name, o->to_name, o->from_ns, o->to_ns, o->is_at};
        struct query_scope scope = {.process = process};
        struct err why = {0};
        int r = times_find(s->q, process, &w, &why);

        scope.to_ns = w.to_ns;
        if (r >= 0)
                r = query_filter_name_times(filter, s->q, &scope, &s->filter, &why);
        if (r < 0)
                return err_within(reterr, o->path, &why);
        if (why.text[0] && !why.code)
                err_within(reterr, o->path, &why);
        o->from_ns = w.from_ns;
        o->to_ns = w.to_ns;
        o->is_at = w.is_at;
        return 0;
}

int side_ask(struct diff_side *s, const struct query_filter *filter, struct err *reterr) {
        struct query_scope scope = {0};
        struct err why = {0};
        int r = find_process(s, &scope.process, reterr);

        if (r >= 0)
                r = name_times(s, scope.process, filter, reterr);
        if (r >= 0)
                r = check_window(s, reterr);
        if (r < 0)
                return r;
        scope.from_ns = s->source->from_ns;
        scope.to_ns = s->source->to_ns;
        scope.filter = s->filter ? s->filter : filter;
        r = query_filter_check(scope.filter, s->v->end_ns, &why);
        if (r < 0)
                return err_within(reterr, s->source->path, &why);
        r = query_ask(s->q, &scope, &s->answer, reterr);
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
        bool is_main = (is_all || !s->source->process) && s->v->meta.n_args;
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
        if (n_args == 0)
                style_add_clean(to, p->exe[0] ? frame_base(p->exe) : "the program");
}

void side_add_doubt(const struct diff_side *s, struct str *to) {
        const struct query_answer *a = s->answer;
        struct unit_text t;

        if (query_answer_is_untold(a))
                str_addf(to, "This window is unknown: detail before %s was dropped.",
                         unit_duration(&t, a->known_from_ns));
        else if (a->totals.n_lost)
                str_addf(to, "%s events were lost while it was recorded.",
                         unit_count(&t, a->totals.n_lost));
        else if (s->v->n_unwritten_events)
                str_addf(to, "%s events could not be written to it.",
                         unit_count(&t, s->v->n_unwritten_events));
        else if (query_damage(s->q)[0])
                style_add_clean(to, query_damage(s->q));
        else if (!s->v->finished)
                str_add(to, "Its end is missing: it was cut off, or is still being written.");
        else if (a->known_from_ns)
                str_addf(to,
                         "Blocks allocated before %s are not counted: their detail was dropped.",
                         unit_duration(&t, a->known_from_ns));
        else if (a->is_moved)
                str_addf(to, "Detail before %s was dropped: this is the nearest known window.",
                         unit_duration(&t, s->v->detail_from_ns));
        else if (!a->is_exact)
                str_add(to, "Parts of the file that its figures need are missing.");
        else if (query_sample_bytes(s->q)) {
                str_addf(
                        to,
                        "It consists of samples of one in %s, so figures by function are estimates.",
                        unit_bytes(&t, query_sample_bytes(s->q)));
        }
}
