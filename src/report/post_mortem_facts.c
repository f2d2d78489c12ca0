/* SPDX-License-Identifier: MIT */
#include "report/post_mortem_facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "keep/held_by.h"
#include "trace/being_written.h"
#include "trace/kernel_line.h"
#include "trace/recorder_end.h"

#define MS 1000000ull

enum {
        WINDOW_NS = 20000 * MS, /* before the end, at most */
        SHORTEST_NS = 100 * MS, /* a rate of less is one step */
        FULL_NS = 500 * MS,     /* the kernel lets it wait so long at a full limit, at most */
        FULL_STEP_NS = MS,      /* so exactly it is found when it was full */
        FULL_TOLD_PARTS = 8,    /* of the time that is looked at: a shorter wait is not told */
        MIN_ROWS = 2,           /* of a room, beside its end */
        MIN_SAMPLES = 3,
        MAX_MAPPING_STACKS = 64, /* the largest, that are put together by function */
        FULL_PARTS = 10,         /* of which nine are taken: memory was full when it broke off */
};
#define FULL_SHARE 0.98  /* of the end: as good as what there was at the end */
#define LEVEL_SHARE 0.05 /* of the end: less is no growth */
#define BLOCKS_SHARE                                                                               \
        0.5 /* of what there was: so much of it were blocks, and their course is its course */
#define HALF_SHARE 0.2 /* of the gain: in each half of the time, or it is no steady one */

/* ---- who ----------------------------------------------------------------------------------------- */

static bool is_killed(const struct report *r, uint32_t process) {
        const struct trace_process_info *p = &r->v->processes[process];

        return p->has_end && p->end.ended == TRACE_ENDED_OOM;
}

/* Of one that was asked for by its number or name only that is told. */
static bool is_asked_for(const struct report *r, uint32_t process) {
        return !r->options->request->process || r->scope.process == QUERY_ALL ||
               r->scope.process == process;
}

static void find_victims(const struct report *r, struct post_mortem *p) {
        uint64_t most = 0;

        for (uint32_t i = 0; i < r->v->n_processes && i < r->answer->n_processes; i++) {
                uint64_t bytes = r->answer->processes[i].end_bytes;

                if (!is_killed(r, i) || !is_asked_for(r, i))
                        continue;
                if (p->victim == VICTIM_NONE || bytes > most) {
                        p->process = i;
                        most = bytes;
                }
                p->victim = VICTIM_PROCESS;
        }
        for (uint32_t i = 0; i < r->v->n_processes && p->victim == VICTIM_PROCESS; i++)
                if (is_killed(r, i) && i != p->process && p->n_others++ < ARRAY_SIZE(p->others))
                        p->others[p->n_others - 1] = i;
}

/* ---- what ran out ---------------------------------------------------------------------------------- */

static bool is_same_room(const struct trace_room *a, const struct trace_room *b) {
        return a->version == b->version && strcmp(a->path, b->path) == 0;
}

static uint64_t left_of(const struct trace_room *x) {
        uint64_t limit = x->of[ROOM_LIMIT], had = x->of[ROOM_USAGE];

        if (x->of[ROOM_PEAK] != ROOM_UNKNOWN && x->of[ROOM_PEAK] > had)
                had = x->of[ROOM_PEAK];
        return limit == ROOM_UNKNOWN || had == ROOM_UNKNOWN ? ROOM_UNKNOWN
               : limit > had                                ? limit - had
                                                            : 0;
}

/* Of the rows about this process the one the kernel names, else the one with the least left; a part of the limit, so that a large one is not taken for a
 * small one. */
static void find_room(const struct report *r, struct post_mortem *p) {
        struct kernel_line reason = {0}, line = {0};
        double least = 2;
        bool is_group;

        if (p->reason)
                kernel_line_parse(p->reason, &reason);
        if (p->line)
                kernel_line_parse(p->line, &line);
        is_group = reason.is_group || line.is_group;
        for (size_t i = 0; i < r->v->n_rooms; i++) {
                const struct trace_room *x = &r->v->rooms[i];
                uint64_t left = left_of(x);
                double part;

                if (p->victim == VICTIM_PROCESS &&
                    (!(x->flags & TRACE_ROOM_KILL) || x->process != p->process))
                        continue;
                if (left == ROOM_UNKNOWN || x->of[ROOM_LIMIT] == 0 || (is_group && !x->version))
                        continue;
                part = (double)left / (double)x->of[ROOM_LIMIT];
                if (reason.full_group[0] && strcmp(reason.full_group, x->path) == 0)
                        part = -1;
                if (p->victim != VICTIM_PROCESS && p->room && is_same_room(p->room, x))
                        part = MIN(part, least); /* the latest */
                if (part > least)
                        continue;
                least = part;
                p->room = x;
        }
        for (size_t i = 0; i < r->v->n_rooms && p->room; i++) {
                const struct trace_room *x = &r->v->rooms[i];

                if (is_same_room(p->room, x) && x->time_ns <= p->room->time_ns)
                        p->last_look = x;
        }
        if (!p->room)
                return;
        p->had_bytes = p->room->of[ROOM_USAGE];
        if (p->room->of[ROOM_PEAK] != ROOM_UNKNOWN)
                p->had_bytes = MAX(p->had_bytes, p->room->of[ROOM_PEAK]);
        p->had_bytes = MIN(p->had_bytes, p->room->of[ROOM_LIMIT]);
}

static void find_lines(const struct report *r, struct post_mortem *p) {
        uint32_t pid = r->v->processes[p->process].start.pid;

        for (size_t i = 0; i < r->v->n_notes && p->victim == VICTIM_PROCESS; i++) {
                const char *line = kernel_line_of_note(r->v->notes[i].text);
                struct kernel_line l;

                if (!line || !kernel_line_parse(line, &l) || l.pid != pid)
                        continue;
                if (l.kind == KERNEL_REASON)
                        p->reason = line;
                else
                        p->line = line;
        }
}

/* ---- the recorder ----------------------------------------------------------------------------------- */

/* A recording that breaks off says so itself, where somebody was left to; else that memory was full is all there is. */
static void find_break(const struct report *r, struct post_mortem *p) {
        const char *path = r->options->path;
        const struct trace_process_info *first = report_process(r);
        bool is_full = false;

        for (size_t i = 0; i < r->v->n_notes; i++)
                if (recorder_end_is_kill(r->v->notes[i].text)) {
                        p->victim = VICTIM_RECORDER;
                        p->recorder_end = r->v->notes[i].text + strlen(RECORDER_KILLED_NOTE);
                }
        if (p->victim == VICTIM_NONE &&
            (r->v->finished || first->has_end || (path && trace_is_being_written(path))))
                return;
        p->process = (uint32_t)(first - r->v->processes);
        find_room(r, p);
        if (p->victim == VICTIM_RECORDER)
                return;
        is_full = p->room && p->room->of[ROOM_LIMIT] != ROOM_UNKNOWN &&
                  left_of(p->room) < p->room->of[ROOM_LIMIT] / FULL_PARTS;
        if (is_full)
                p->victim = VICTIM_UNKNOWN;
}

/* ---- how fast ------------------------------------------------------------------------------------- */

/* What there was at a time, between two rows or samples. */
struct course_at {
        uint64_t at_ns, before_ns, after_ns;
        double before, after;
        bool has_before, has_after;
};

static void course_take(struct course_at *c, uint64_t time_ns, uint64_t bytes) {
        if (time_ns <= c->at_ns && (!c->has_before || time_ns >= c->before_ns)) {
                c->before_ns = time_ns;
                c->before = (double)bytes;
                c->has_before = true;
        } else if (time_ns > c->at_ns && (!c->has_after || time_ns < c->after_ns)) {
                c->after_ns = time_ns;
                c->after = (double)bytes;
                c->has_after = true;
        }
}

struct courses {
        const struct report *r;
        const struct post_mortem *p;
        const struct trace_sample *samples;
        size_t n_samples;
        enum post_mortem_course kind;
        struct live_then {
                uint64_t at_ns;
                double bytes;
                bool is_known, is_exact;
        } then[4]; /* asked for last: around a gap the same two again and again */
        size_t n_asked;
};

static struct live_then ask_live(const struct courses *c, uint64_t at_ns) {
        struct query_scope scope = {.process = c->p->process, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct live_then x = {.at_ns = at_ns, .is_known = true};
        bool is_end = at_ns >= c->p->alive_ns;
        struct err unsaid = {0};

        scope.from_ns = is_end ? 0 : at_ns;
        if (query_ask(c->r->q, &scope, &a, &unsaid) < 0 || a->is_moved || !a->is_exact)
                return x;
        x.is_exact = true;
        x.bytes = (double)(is_end ? a->totals.end_bytes : a->totals.begin_bytes);
        return x;
}

static bool live_at(struct courses *c, uint64_t at_ns, double *ret) {
        struct live_then *x = NULL;

        for (size_t i = 0; i < ARRAY_SIZE(c->then); i++)
                if (c->then[i].is_known && c->then[i].at_ns == at_ns)
                        x = &c->then[i];
        if (!x) {
                x = &c->then[c->n_asked++ % ARRAY_SIZE(c->then)];
                *x = ask_live(c, at_ns);
        }
        *ret = x->bytes;
        return x->is_exact;
}

/* A straight line, and what blocks did beside it: those events tell at any moment, though nobody looked. */
static double between(struct courses *c, const struct course_at *at) {
        double part = (double)(at->at_ns - at->before_ns) / (double)(at->after_ns - at->before_ns);
        double line = at->before + (at->after - at->before) * part, before, now, after;

        if (at->after_ns - at->before_ns < SHORTEST_NS ||
            fabs(at->after - at->before) < LEVEL_SHARE * at->after ||
            !live_at(c, at->before_ns, &before) || !live_at(c, at->after_ns, &after) ||
            !live_at(c, at->at_ns, &now))
                return line;
        line += now - (before + (after - before) * part);
        return fmin(fmax(line, fmin(at->before, at->after)), fmax(at->before, at->after));
}

static bool course_value(struct courses *c, const struct course_at *at, double *ret) {
        if (!at->has_before)
                return false;
        *ret = at->has_after ? between(c, at) : at->before;
        return true;
}

static bool is_row(const struct courses *c, const struct trace_room *x) {
        return is_same_room(x, c->p->room) && !(x->flags & TRACE_ROOM_KILL) &&
               x->of[ROOM_USAGE] != ROOM_UNKNOWN && x->time_ns < c->p->alive_ns;
}

static bool value_at(struct courses *c, uint64_t at_ns, double *ret) {
        struct course_at course = {.at_ns = at_ns};
        const struct post_mortem *p = c->p;

        if (c->kind == COURSE_BLOCKS)
                return live_at(c, at_ns, ret);
        if (c->kind == COURSE_ROOM && at_ns >= p->alive_ns) {
                *ret = (double)p->had_bytes;
                return true;
        }
        for (size_t i = 0; c->kind == COURSE_ROOM && i < c->r->v->n_rooms; i++) {
                const struct trace_room *x = &c->r->v->rooms[i];

                if (is_row(c, x))
                        course_take(&course, x->time_ns, x->of[ROOM_USAGE]);
        }
        for (size_t i = 0; c->kind == COURSE_SAMPLES && i < c->n_samples; i++)
                if (c->samples[i].process == p->process)
                        course_take(&course, c->samples[i].time_ns,
                                    c->samples[i].anon_bytes + c->samples[i].shmem_bytes);
        if (c->kind == COURSE_ROOM && !course.has_after)
                course_take(&course, p->alive_ns, p->had_bytes);
        return course_value(c, &course, ret);
}

static size_t n_looks(const struct courses *c, uint64_t from_ns) {
        uint64_t until_ns = c->p->until_ns;
        size_t n = 0;

        for (size_t i = 0; c->kind == COURSE_ROOM && i < c->r->v->n_rooms; i++) {
                const struct trace_room *x = &c->r->v->rooms[i];

                n += is_row(c, x) && x->time_ns >= from_ns && x->time_ns <= until_ns;
        }
        for (size_t i = 0; c->kind == COURSE_SAMPLES && i < c->n_samples; i++) {
                const struct trace_sample *s = &c->samples[i];

                n += s->process == c->p->process && s->time_ns >= from_ns && s->time_ns <= until_ns;
        }
        return n;
}

/* When what there was at the end was there, if that was shortly before: a process that hits a limit waits there until the kernel has given up finding memory
 * for it. */
static uint64_t full_since_ns(struct courses *c, uint64_t begin_ns) {
        uint64_t alive_ns = c->p->alive_ns, none_ns = alive_ns - MIN(alive_ns - begin_ns, FULL_NS);
        uint64_t full_ns = alive_ns;
        double end, value;

        if (!value_at(c, alive_ns, &end) || end < BLOCKS_SHARE * (double)c->p->had_bytes ||
            (value_at(c, none_ns, &value) && value >= FULL_SHARE * end))
                return alive_ns;
        while (full_ns - none_ns > FULL_STEP_NS) {
                uint64_t at_ns = none_ns + (full_ns - none_ns) / 2;

                if (value_at(c, at_ns, &value) && value >= FULL_SHARE * end)
                        full_ns = at_ns;
                else
                        none_ns = at_ns;
        }
        return full_ns;
}

/* Between two looks nothing but a straight line is known. Of a room what it had at the end is known too; samples must reach near it: the recorder may have
 * waited for memory itself. */
static bool is_looked_into(const struct courses *c, uint64_t over_ns) {
        const struct post_mortem *p = c->p;
        /* the one that found it full tells nothing of the time before */
        size_t n_needed = p->until_ns < p->alive_ns ? 2 : 1;

        return c->kind == COURSE_BLOCKS ||
               n_looks(c, p->until_ns - (c->kind == COURSE_ROOM ? over_ns : over_ns / 4)) >=
                       n_needed;
}

/* The longest stretch before the end, of that and its halves, in which it grew steadily or not at all. False: unknown. */
static bool find_shape_of(struct courses *c, struct post_mortem *p, uint64_t over_ns) {
        double then, middle, now;

        for (; is_looked_into(c, over_ns) && value_at(c, p->until_ns - over_ns, &then) &&
               value_at(c, p->until_ns - over_ns / 2, &middle) && value_at(c, p->until_ns, &now);
             over_ns /= 2) {
                p->over_ns = over_ns;
                p->rate = (now - then) * 1e9 / (double)MAX(over_ns, (uint64_t)1);
                if (now - then < LEVEL_SHARE * now)
                        p->shape = SHAPE_LEVEL;
                else if (middle - then >= HALF_SHARE * (now - then) &&
                         now - middle >= HALF_SHARE * (now - then))
                        p->shape = SHAPE_STEADY;
                else
                        p->shape = SHAPE_STEP;
                if (p->shape != SHAPE_STEP || over_ns / 2 < SHORTEST_NS)
                        break;
        }
        return p->shape != SHAPE_UNKNOWN;
}

/* By its highest moment or a sample: on a busy machine the recorder may hear of the end much later. */
static void find_alive(const struct report *r, struct post_mortem *p, const struct courses *c) {
        uint64_t alive_ns = 0;

        for (size_t i = 0; i < c->n_samples; i++)
                if (c->samples[i].process == p->process)
                        alive_ns = MAX(alive_ns, c->samples[i].time_ns);
        if (p->process < r->answer->n_processes)
                alive_ns = MAX(alive_ns, r->answer->processes[p->process].peak_ns);
        p->alive_ns = alive_ns ? MIN(alive_ns, p->end_ns) : p->end_ns;
}

/* Of the time before the end, or before memory was full. */
static bool find_shape_by(struct courses *c, struct post_mortem *p, enum post_mortem_course kind,
                          uint64_t begin_ns) {
        uint64_t full_ns;

        c->kind = kind;
        full_ns = full_since_ns(c, begin_ns);
        p->until_ns = full_ns;
        p->over_ns = MIN(full_ns - begin_ns, (uint64_t)2 * WINDOW_NS) / 2;
        if (p->alive_ns - full_ns < p->over_ns / FULL_TOLD_PARTS) {
                p->until_ns = p->alive_ns;
                p->over_ns = MIN(p->alive_ns - begin_ns, (uint64_t)2 * WINDOW_NS) / 2;
        }
        return (kind == COURSE_BLOCKS ||
                n_looks(c, begin_ns) >= (kind == COURSE_ROOM ? MIN_ROWS : MIN_SAMPLES)) &&
               find_shape_of(c, p, p->over_ns);
}

/* The course, and what shape it has. */
static void find_course(struct courses *c, struct post_mortem *p, uint64_t begin_ns) {
        if ((p->room && find_shape_by(c, p, COURSE_ROOM, begin_ns)) ||
            find_shape_by(c, p, COURSE_SAMPLES, begin_ns))
                return;
        /* what is no block may have grown while blocks did not */
        if ((double)p->live_bytes < BLOCKS_SHARE * (double)p->had_bytes ||
            !find_shape_by(c, p, COURSE_BLOCKS, begin_ns) || p->shape == SHAPE_LEVEL) {
                p->shape = SHAPE_UNKNOWN;
                p->until_ns = p->alive_ns;
                p->over_ns = MIN(p->alive_ns - begin_ns, (uint64_t)2 * WINDOW_NS) / 2;
        }
}

static uint64_t beside_bytes(const struct post_mortem *p) {
        uint64_t own_bytes =
                p->course == COURSE_SAMPLES ? p->anon_bytes + p->shmem_bytes : p->live_bytes;

        if (p->course == COURSE_ROOM)
                return 0;
        /* more than there was: not all of it is of the room, and nobody knows how much */
        return own_bytes > p->had_bytes ? p->had_bytes : p->had_bytes - own_bytes;
}

static void find_shape(const struct report *r, struct post_mortem *p) {
        uint64_t begin_ns = r->v->processes[p->process].start.start_ns;
        struct courses c = {.r = r, .p = p};
        struct err unsaid = {0};

        if (query_samples(r->q, &c.samples, &c.n_samples, &unsaid) < 0)
                c.n_samples = 0;
        find_alive(r, p, &c);
        p->until_ns = p->alive_ns;
        if (p->alive_ns <= begin_ns)
                return;
        find_course(&c, p, begin_ns);
        p->course = c.kind;
        p->beside_bytes = beside_bytes(p);
}

/* ---- who held what ---------------------------------------------------------------------------------- */

static void find_resident(const struct report *r, struct post_mortem *p) {
        const struct trace_sample *s;
        uint64_t anon_bytes = 0;
        struct err unsaid = {0};
        size_t n;

        if (query_samples(r->q, &s, &n, &unsaid) < 0)
                return;
        for (size_t i = 0; i < n; i++)
                if (s[i].process == p->process) {
                        p->anon_bytes = s[i].anon_bytes;
                        p->shmem_bytes = s[i].shmem_bytes;
                        p->sampled_ns = s[i].time_ns;
                }
        for (uint32_t k = 0; k < r->v->n_processes; k++) { /* the last of each that lived then */
                uint64_t bytes = 0;

                for (size_t i = 0; i < n; i++)
                        if (s[i].process == k && p->last_look &&
                            s[i].time_ns <= p->last_look->time_ns)
                                bytes = s[i].anon_bytes + s[i].runtime_bytes;
                if (!r->v->processes[k].has_end || r->v->processes[k].end.end_ns >= p->end_ns)
                        anon_bytes += bytes;
        }
        if (p->last_look && p->last_look->version && p->last_look->of[ROOM_ANON] != ROOM_UNKNOWN) {
                uint64_t silt = p->last_look->of[ROOM_SILT];

                anon_bytes += silt == ROOM_UNKNOWN ? 0 : silt;
                p->others_bytes = p->last_look->of[ROOM_ANON] > anon_bytes
                                          ? p->last_look->of[ROOM_ANON] - anon_bytes
                                          : 0;
        }
}

static const char *keep(const struct report *r, struct str *text) {
        const char *kept = arena_strdup(r->arena, str_text(text));

        str_done(text);
        return kept;
}

/* The function that asked, and where that is. */
static void name_stack(const struct report *r, uint32_t stack, bool utf8, const char **function,
                       const char **place) {
        struct frame_stack s = {0};
        struct str name = {0}, where = {0};

        frame_stack_fill(&s, &r->frames, stack, false);
        if (s.shown.n) {
                const struct name_frame *f = &s.frames.items[s.shown.items[0].frame_idx];

                frame_add_function(&name, &r->frames, f, s.shown.items[0].is_task, false, utf8);
                frame_add_place(&where, f, false);
        }
        frame_stack_done(&s);
        *function = keep(r, &name);
        *place = keep(r, &where);
}

static void find_mapped(const struct report *r, bool utf8, struct post_mortem *p) {
        struct query_scope scope = {.process = p->process, .to_ns = UINT64_MAX};
        const char *names[MAX_MAPPING_STACKS], *places[MAX_MAPPING_STACKS];
        struct query_mapping *all = NULL;
        struct query_mapped sum = {0};
        struct err unsaid = {0};
        size_t n = 0;

        if (query_mappings(r->q, &scope, &all, &n, &sum, &unsaid) < 0)
                return;
        p->mapped_bytes = sum.end_bytes - MIN(sum.reserved_end_bytes, sum.end_bytes);
        p->is_mapped = p->mapped_bytes > p->live_bytes && p->sampled_ns &&
                       p->anon_bytes + p->shmem_bytes > 2 * p->live_bytes;
        n = p->is_mapped ? MIN(n, (size_t)MAX_MAPPING_STACKS) : 0;
        p->whole_bytes = p->is_mapped ? p->mapped_bytes : 0;
        for (size_t i = 0; i < n; i++)
                name_stack(r, all[i].stack, utf8, &names[i], &places[i]);
        for (size_t i = 0; i < n; i++) {
                uint64_t bytes = 0;

                for (size_t k = 0; k < n; k++)
                        if (strcmp(names[i], names[k]) == 0)
                                bytes += all[k].end_bytes -
                                         MIN(all[k].reserved_bytes, all[k].end_bytes);
                if (bytes <= p->largest_bytes && p->stack)
                        continue;
                p->largest_bytes = MIN(bytes, p->whole_bytes);
                p->stack = all[i].stack;
                p->function = names[i];
                p->place = places[i];
        }
        free(all);
}

static void find_blocks(const struct report *r, bool utf8, struct post_mortem *p) {
        const struct query_group_options by = {.by = QUERY_BY_FUNCTION, .metric = QUERY_END};
        struct query_scope scope = {.process = p->process,
                                    .from_ns = p->until_ns - MIN(p->over_ns, p->until_ns),
                                    .to_ns = UINT64_MAX};
        _cleanup_(query_groups_freep) struct query_groups *g = NULL;
        struct err unsaid = {0};
        struct held_by *holders;
        struct str holder = {0};

        if (query_group(r->q, &scope, &by, &g, &unsaid) < 0 || !g->n ||
            g->rows[0].self.end_bytes <= 0)
                return;
        p->whole_bytes = p->live_bytes;
        p->largest_bytes = (uint64_t)g->rows[0].self.end_bytes;
        p->stack = g->rows[0].stack;
        p->has_gain = p->over_ns && !g->answer->is_moved && g->answer->is_exact;
        p->largest_gain_bytes = g->rows[0].self.end_bytes - g->rows[0].self.begin_bytes;
        name_stack(r, p->stack, utf8, &p->function, &p->place);
        holders = held_by_new(r->q, &r->frames, p->process);
        if (holders)
                held_by_add(holders, p->stack, utf8, &holder);
        held_by_free(holders);
        p->held_by = keep(r, &holder);
}

static int find_live(const struct report *r, struct post_mortem *p) {
        struct query_scope scope = {.process = p->process, .to_ns = UINT64_MAX};
        _cleanup_(query_answer_freep) struct query_answer *a = NULL;
        struct err unsaid = {0};
        int x = query_ask(r->q, &scope, &a, &unsaid);

        if (x >= 0)
                p->live_bytes = a->totals.end_bytes;
        return x;
}

/* ---- the graph ------------------------------------------------------------------------------------- */

static void find_graph(const struct report *r, struct post_mortem *p) {
        p->graph_name = "";
        for (size_t i = 0; i < query_n_graphs(r->q); i++)
                if (query_graph(r->q, i)->process == p->process)
                        p->graph = query_graph(r->q, i);
        for (size_t i = 0; i < r->v->n_notes; i++) {
                const char *text = r->v->notes[i].text;
                struct query_moment m;

                if (strncmp(text, NO_GRAPH_NOTE, strlen(NO_GRAPH_NOTE)) == 0)
                        p->why_no_graph = text + strlen(NO_GRAPH_NOTE);
                else if (strncmp(text, GRAPH_FAILED_NOTE, strlen(GRAPH_FAILED_NOTE)) == 0)
                        p->why_no_graph = text + strlen(GRAPH_FAILED_NOTE);
                else if (p->graph && query_moment_of(&r->v->notes[i], &m) && m.is_snapshot &&
                         m.time_ns == p->graph->time_ns)
                        p->graph_name = m.name;
        }
}

/* At the last sample, in no block and no mapping: no call path tells of it, and it fills the room all the same. */
static void find_kept(const struct report *r, struct post_mortem *p) {
        struct courses c = {.r = r, .p = p};
        double live;

        if (p->is_mapped || !p->sampled_ns || !live_at(&c, p->sampled_ns, &live))
                return;
        live += (double)p->mapped_bytes;
        p->is_kept_known = true;
        if ((double)p->anon_bytes > live)
                p->kept_bytes = p->anon_bytes - (uint64_t)live;
}

bool post_mortem_find(const struct report *r, bool utf8, struct post_mortem *ret) {
        struct post_mortem *p = ret;
        bool has_live;

        *p = (struct post_mortem){.victim = VICTIM_NONE,
                                  .function = "",
                                  .place = "",
                                  .held_by = ""};
        if (report_is_windowed(r) || report_is_filtered(r) || r->whole.lacks_events ||
            !r->v->n_processes)
                return false;
        find_victims(r, p);
        if (p->victim == VICTIM_NONE)
                find_break(r, p);
        if (p->victim == VICTIM_NONE)
                return false;
        p->is_only = query_n_pids(r->q) == 1;
        p->end_ns = query_run_end_ns(r->q, p->process);
        find_lines(r, p);
        if (!p->room)
                find_room(r, p);
        find_resident(r, p);
        has_live = find_live(r, p) >= 0;
        find_shape(r, p);
        if (has_live)
                find_mapped(r, utf8, p);
        if (!p->is_mapped)
                find_blocks(r, utf8, p);
        if (has_live)
                find_kept(r, p);
        find_graph(r, p);
        return true;
}
