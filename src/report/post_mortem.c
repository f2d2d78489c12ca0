/* SPDX-License-Identifier: MIT */
#include "report/post_mortem.h"

#include <math.h>
#include <string.h>

#include "base/units.h"
#include "report/post_mortem_facts.h"
#include "show/view.h"
#include "trace/recorder_end.h"

enum { MAX_PATH = 40 }; /* bytes; of a longer one the last part is told */

#define NOTABLE_SHARE 0.2 /* of what the group had: then it is told what else was in it */
#define EARLY_SHARE 0.75  /* of it: a look that found less was long before the end */
#define ALL_SHARE 0.995
#define STILL_SHARE 0.01 /* of what there was: less is no growth at all */
#define SAME_PACE 0.1    /* apart: what grows is what was just told of */
#define MARGIN_SHARE 0.1 /* on top of what there was at most */
#define BESIDE_SHARE 0.2 /* of a gain: if less grew beside it, its rate is nearly the room's */

/* ---- sentences ------------------------------------------------------------------------------------- */

static void add_name(const struct report *r, uint32_t process, struct str *to) {
        struct str name = {0};

        query_add_process_name(r->q, process, &name);
        style_add_clean(to, name.n ? str_text(&name) : "a process");
        str_addf(to, " (pid %u)", r->v->processes[process].start.pid);
        str_done(&name);
}

/* " (1.0 MiB of it for silt)" */
static void add_allowance(const struct report *r, const struct trace_room *x, struct str *to) {
        struct unit_text a;

        if (strncmp(frame_base(x->path), ROOM_LAB_PREFIX, strlen(ROOM_LAB_PREFIX)) == 0)
                str_addf(to, " (%s of it for silt)",
                         unit_bytes(&a, query_sample_bytes(r->q) ? ROOM_LAB_OWN_SAMPLED_BYTES
                                                                 : ROOM_LAB_OWN_BYTES));
}

static void add_room(const struct report *r, const struct post_mortem *p, struct str *to) {
        const struct trace_room *x = p->room;
        struct unit_text a, b;

        if (!x)
                return;
        if (!x->version) {
                str_addf(to, ": the machine has %s, and %s were in use",
                         unit_bytes(&a, x->of[ROOM_LIMIT]), unit_bytes(&b, x->of[ROOM_USAGE]));
                return;
        }
        str_add(to, ": group ");
        style_add_clean(to, strlen(x->path) > MAX_PATH ? frame_base(x->path) : x->path);
        str_addf(to, " allows %s", unit_bytes(&a, x->of[ROOM_LIMIT]));
        add_allowance(r, x, to);
        str_addf(to, " and had %s", unit_bytes(&b, p->had_bytes));
}

/* Whom, when, and what ran out. */
static void add_kill(const struct report *r, const struct post_mortem *p, struct str *to) {
        struct unit_text a;

        switch (p->victim) {
        case VICTIM_PROCESS:
                str_add(to, "The kernel killed ");
                if (p->is_only)
                        str_add(to, "it");
                else
                        add_name(r, p->process, to);
                str_addf(to, " for lack of memory after %s", unit_duration(&a, p->end_ns));
                break;
        case VICTIM_RECORDER:
                str_addf(to, "The kernel killed silt's recorder%s for lack of memory after %s",
                         strcmp(p->recorder_end, RECORDER_BOTH_KILLED) == 0 ? " and the program"
                                                                            : ", not the program,",
                         unit_duration(&a, p->end_ns));
                break;
        default:
                str_addf(
                        to,
                        "The recording breaks off after %s, when memory was nearly full: the recorder was killed, and the program may have been too",
                        unit_duration(&a, p->end_ns));
                break;
        }
        add_room(r, p, to);
        str_add(to, ".");
        if (p->victim == VICTIM_RECORDER)
                str_addf(to, " What the program did after that is not recorded%s.",
                         strcmp(p->recorder_end, RECORDER_BOTH_KILLED) == 0 ? "" : p->recorder_end);
}

static uint64_t full_for_ns(const struct post_mortem *p) {
        return p->alive_ns - p->until_ns;
}

/* " over the last 20 s", or what there was of it before memory was full */
static void add_over(const struct post_mortem *p, struct str *to) {
        struct unit_text a;

        str_addf(to, full_for_ns(p) ? " over the %s before memory was full" : " over the last %s",
                 unit_duration(&a, p->over_ns));
}

static bool is_growing(const struct post_mortem *p) {
        return p->has_gain && (double)p->largest_gain_bytes > 0.01 * (double)p->largest_bytes;
}

/* Not steadily. */
static bool has_no_pace(const struct post_mortem *p) {
        return p->shape == SHAPE_STEP || p->shape == SHAPE_LEVEL;
}

/* ": 380 MiB of them (88 %) allocated by f (f.c:41), held by static sessions" */
static void add_largest(const struct post_mortem *p, const char *how, struct str *to) {
        struct unit_text a;

        if (!p->stack || !p->function[0])
                return;
        if ((double)p->largest_bytes >= ALL_SHARE * (double)p->whole_bytes) {
                str_addf(to, ", %sall of them", p->largest_bytes < p->whole_bytes ? "nearly " : "");
        } else {
                str_addf(to, ", %s of them", unit_bytes(&a, p->largest_bytes));
                view_add_share(to, (int64_t)p->largest_bytes, p->whole_bytes);
        }
        str_addf(to, " %s %s", how, p->function);
        if (p->place[0])
                str_addf(to, " (%s)", p->place);
        if (p->held_by[0])
                str_addf(to, ", held by %s", p->held_by);
}

static void add_gain(const struct post_mortem *p, struct str *to) {
        double gain = (double)p->largest_gain_bytes;
        struct unit_text a;

        if (is_growing(p) && has_no_pace(p))
                str_addf(to, "; they grew by %s", unit_bytes(&a, unit_nearest(gain)));
        else if (is_growing(p))
                str_addf(to, "; they grew %s/s",
                         unit_bytes(&a, unit_nearest(gain * 1e9 / (double)p->over_ns)));
        else if (p->has_gain && p->stack)
                str_add(to, "; they did not grow");
        else
                return;
        add_over(p, to);
}

static void add_holding(const struct report *r, const struct post_mortem *p, struct str *to) {
        const char *about = query_sample_bytes(r->q) ? "about " : "";
        const char *moment = p->victim == VICTIM_PROCESS ? "At the end" : "By then";
        struct unit_text a, b;

        if (p->is_mapped) {
                str_addf(to, " %s it had mapped %s itself", moment, unit_bytes(&a, p->whole_bytes));
                add_largest(p, "in", to);
                if (p->live_bytes)
                        str_addf(to, "; %s%s were in blocks.", about,
                                 unit_bytes(&b, p->live_bytes));
                else
                        str_add(to, "; no block was live.");
                return;
        }
        if (!p->live_bytes) {
                str_addf(to, " %s no block was live.", moment);
                return;
        }
        str_addf(to, " %s %s%s were live", moment, about, unit_bytes(&a, p->live_bytes));
        add_largest(p, "allocated by", to);
        add_gain(p, to);
        str_add(to, ".");
}

/* The whole grows as fast as the largest part of it. */
static bool is_its_pace(const struct post_mortem *p) {
        double own = p->has_gain ? (double)p->largest_gain_bytes * 1e9 / (double)p->over_ns : 0;

        return !p->is_mapped && p->stack && p->function[0] && own > 0 &&
               fabs(own - p->rate) <= SAME_PACE * p->rate;
}

/* The limit again, at the same pace; NAN: nobody knows, as of what grew beside the process. */
static double longer_s(const struct post_mortem *p) {
        double gain = p->rate * (double)p->over_ns / 1e9;

        if (!p->room || p->shape != SHAPE_STEADY || p->rate < 1 ||
            (double)p->beside_bytes > BESIDE_SHARE * gain)
                return NAN;
        return (double)p->room->of[ROOM_LIMIT] / p->rate;
}

/* 0: nobody knows. */
static uint64_t needed_bytes(const struct post_mortem *p) {
        uint64_t margin = unit_nearest(MARGIN_SHARE * (double)p->had_bytes);

        if (!p->room || p->shape != SHAPE_LEVEL || p->live_bytes > p->had_bytes ||
            p->beside_bytes > margin)
                return 0;
        return p->had_bytes + margin;
}

/* Where silt's own memory filled the group, the program's need is not what matters. */
static void add_remedy(struct str *to) {
        str_add(to,
                " To record all of it, raise the limit, run silt outside the group, or take samples (--sample).");
}

static const char *course_words(const struct post_mortem *p) {
        switch (p->course) {
        case COURSE_ROOM: return p->room->version ? "The group" : "Memory in use";
        case COURSE_SAMPLES: return "The process";
        case COURSE_BLOCKS: break;
        }
        return "Its blocks";
}

static void add_steady(const struct post_mortem *p, struct str *to) {
        struct unit_text a;

        if (!is_its_pace(p)) {
                str_addf(to, " %s grew %s/s", course_words(p),
                         unit_bytes(&a, unit_nearest(p->rate)));
                add_over(p, to);
                str_add(to, ".");
        }
        if (full_for_ns(p))
                str_addf(to, " For %s more nothing was free.", unit_duration(&a, full_for_ns(p)));
        if (!p->room)
                return;
        str_add(to, " No limit would do if that went on: ");
        if (isnan(longer_s(p)))
                str_addf(
                        to,
                        "how long twice as much would have lasted is unknown, as silt did not look at the %s near the end.",
                        p->room->version ? "group" : "machine");
        else
                str_addf(to, "twice as much would have lasted %s longer.",
                         unit_duration(&a, unit_nearest(longer_s(p) * 1e9)));
}

static void add_level(const struct post_mortem *p, struct str *to) {
        double gain = p->rate * (double)p->over_ns / 1e9;
        struct unit_text a, b;
        char grew[80] = "had not grown";

        if (!p->room)
                return;
        if (gain > STILL_SHARE * (double)p->had_bytes)
                snprintf(grew, sizeof(grew), "grew by only %s", unit_bytes(&a, unit_nearest(gain)));
        if (p->live_bytes > p->had_bytes) /* the last look was before the jump */
                str_addf(
                        to,
                        " It allocated faster than silt looked: it needs more than the %s that were live.",
                        unit_bytes(&a, p->live_bytes));
        else if (needed_bytes(p))
                str_addf(to, " %s %s over the last %s: with a margin of a tenth it needs %s.",
                         course_words(p), grew, unit_duration(&b, p->over_ns),
                         unit_bytes(&a, needed_bytes(p)));
        else
                str_addf(
                        to,
                        " %s %s over the last %s; silt did not look at the rest of the %s near the end, so how much is needed is unknown.",
                        course_words(p), grew, unit_duration(&b, p->over_ns),
                        p->room->version ? "group" : "machine");
}

static void add_needed(const struct post_mortem *p, struct str *to) {
        struct unit_text a;

        switch (p->shape) {
        case SHAPE_STEADY: add_steady(p, to); break;
        case SHAPE_LEVEL: add_level(p, to); break;
        case SHAPE_STEP:
                if (is_its_pace(p)) {
                        str_add(to,
                                " That was not steady: how much it would have needed is unknown.");
                        break;
                }
                str_addf(to, " %s grew by %s", course_words(p),
                         unit_bytes(&a, unit_nearest(p->rate * (double)p->over_ns / 1e9)));
                add_over(p, to);
                str_add(to, ": how much it would have needed is unknown.");
                break;
        case SHAPE_UNKNOWN:
                if (p->over_ns)
                        str_add(to,
                                " silt did not look at its memory near the end: how steadily that grew, and what it would have needed, is unknown.");
                break;
        }
}

static bool is_notable(const struct post_mortem *p, uint64_t bytes) {
        return bytes != ROOM_UNKNOWN &&
               (double)bytes >= NOTABLE_SHARE * (double)p->last_look->of[ROOM_USAGE];
}

/* Most of the group is in no process: that comes before what the program held. */
static bool is_mostly_shared(const struct post_mortem *p) {
        const struct trace_room *x = p->last_look;

        return x && x->version && is_notable(p, x->of[ROOM_SHMEM]) &&
               x->of[ROOM_SHMEM] > MAX(p->whole_bytes, p->live_bytes) &&
               x->of[ROOM_SHMEM] > p->shmem_bytes &&
               x->of[ROOM_SHMEM] - p->shmem_bytes > p->anon_bytes;
}

/* What it had, and no block did. */
static void add_kept(const struct post_mortem *p, struct str *to) {
        struct unit_text a, b;

        if (p->kept_bytes && p->last_look && is_notable(p, p->kept_bytes))
                str_addf(
                        to,
                        " At the last look, after %s, it had %s more whose allocation silt did not see (memory the allocator keeps, stacks, variables).",
                        unit_duration(&b, p->sampled_ns), unit_bytes(&a, p->kept_bytes));
}

/* What the group had beside the program's own memory. */
static void add_beside(const struct post_mortem *p, struct str *to) {
        const struct trace_room *x = p->last_look;
        const struct {
                uint64_t bytes;
                const char *what;
        } parts[] = {
                {x ? x->of[ROOM_SHMEM] : 0, "shared memory and tmpfs"},
                {x ? x->of[ROOM_FILE] : 0, "cached files"},
                {x ? x->of[ROOM_KERNEL] : 0, "kernel memory"},
                {p->others_bytes, "memory of processes that are not recorded"},
        };
        struct unit_text a, b;
        bool is_early;
        size_t n = 0;

        if (!x || !x->version)
                return;
        /* it filled faster than it was looked at: what came since is of unknown kind */
        is_early = (double)x->of[ROOM_USAGE] < EARLY_SHARE * (double)p->had_bytes;
        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                if (is_notable(p, parts[i].bytes))
                        str_addf(to, "%s %s of %s", n++ ? " and" : " The group's memory included",
                                 unit_bytes(&a, parts[i].bytes), parts[i].what);
        if (n && is_early)
                str_addf(to, " at the last look, when %s of the %s were in use",
                         unit_bytes(&a, x->of[ROOM_USAGE]), unit_bytes(&b, p->had_bytes));
        if (n)
                str_add(to, ".");
        if (x->of[ROOM_SILT] != ROOM_UNKNOWN && x->of[ROOM_SILT])
                str_addf(to, " silt's recorder ran in the same group and had %s of it.",
                         unit_bytes(&a, x->of[ROOM_SILT]));
}

static void add_others(const struct report *r, const struct post_mortem *p, struct str *to) {
        if (!p->n_others)
                return;
        str_add(to, " The kernel also killed ");
        for (size_t i = 0; i < MIN(p->n_others, ARRAY_SIZE(p->others)); i++) {
                str_add(to, i ? ", " : "");
                add_name(r, p->others[i], to);
        }
        if (p->n_others > ARRAY_SIZE(p->others))
                str_addf(to, " and %zu more", p->n_others - ARRAY_SIZE(p->others));
        str_add(to, ".");
}

/* Holders would tell something. */
static bool is_in_blocks(const struct post_mortem *p) {
        return !p->is_mapped && p->live_bytes &&
               (!p->room || (double)p->live_bytes >= NOTABLE_SHARE * (double)p->had_bytes);
}

static void add_graph(const struct post_mortem *p, struct str *to) {
        struct unit_text a;

        if (p->graph)
                str_addf(to, " The graph of holders is of %s: see silt holders.",
                         unit_duration(&a, p->graph->time_ns));
        else if (p->why_no_graph && is_in_blocks(p))
                str_addf(to, " There is no graph of holders: %s.", p->why_no_graph);
        else if (is_in_blocks(p))
                str_add(to, " There is no graph of holders: silt run --leaks makes one.");
}

static void add_line(const struct post_mortem *p, struct str *to) {
        if (!p->line)
                return;
        str_add(to, "The kernel's line: ");
        style_add_clean(to, p->line);
}

static void add_all(const struct report *r, const struct post_mortem *p, struct str *to) {
        add_kill(r, p, to);
        if (is_mostly_shared(p))
                add_beside(p, to);
        add_holding(r, p, to);
        add_kept(p, to);
        if (p->victim == VICTIM_PROCESS)
                add_needed(p, to);
        if (!is_mostly_shared(p))
                add_beside(p, to);
        if (p->victim != VICTIM_PROCESS)
                add_remedy(to);
        add_others(r, p, to);
        add_graph(p, to);
}

void post_mortem_print(const struct style *s, const struct report *r) {
        struct post_mortem p;
        struct str text = {0};

        if (!post_mortem_find(r, s->utf8, &p))
                return;
        add_all(r, &p, &text);
        fputs(s->bold, s->out);
        style_wrap(s, str_text(&text), 0);
        fputs(s->plain, s->out);
        str_clear(&text);
        add_line(&p, &text);
        if (text.n)
                style_wrap(s, str_text(&text), 0);
        fputc('\n', s->out);
        str_done(&text);
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void put_figure(struct json *j, const char *key, uint64_t v) {
        json_put_known(j, key, v, v != ROOM_UNKNOWN);
}

static void put_seconds(struct json *j, const char *key, uint64_t ns, bool is_known) {
        json_put_known_double(j, key, (double)ns / 1e9, 6, is_known);
}

static void put_room(struct json *j, const struct post_mortem *p) {
        static const struct {
                const char *key;
                enum room_figure figure;
                bool is_before;
        } figures[] = {{"limit_bytes", ROOM_LIMIT, false},
                       {"usage_bytes", ROOM_USAGE, true},
                       {"high_bytes", ROOM_HIGH, true},
                       {"peak_bytes", ROOM_PEAK, false},
                       {"swap_limit_bytes", ROOM_SWAP_LIMIT, true},
                       {"swap_bytes", ROOM_SWAP, true},
                       {"anon_bytes", ROOM_ANON, true},
                       {"file_bytes", ROOM_FILE, true},
                       {"shmem_bytes", ROOM_SHMEM, true},
                       {"kernel_bytes", ROOM_KERNEL, true},
                       {"recorder_bytes", ROOM_SILT, true},
                       {"times_at_limit", ROOM_N_MAX, false},
                       {"times_at_high", ROOM_N_HIGH, false},
                       {"kills", ROOM_N_KILLS, false},
                       {"some_waited_us", ROOM_SOME_US, false},
                       {"all_waited_us", ROOM_FULL_US, false}};

        json_key(j, "limit");
        if (!p->room) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_string(j, "kind", p->room->version ? "cgroup" : "machine");
        json_put_text(j, "path", p->room->path);
        json_put_uint(j, "version", p->room->version);
        for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
                put_figure(j, figures[i].key,
                           (figures[i].is_before ? p->last_look : p->room)->of[figures[i].figure]);
        json_put_uint(j, "had_bytes", p->had_bytes);
        json_end(j);
}

static void put_largest(struct json *j, const struct post_mortem *p) {
        json_key(j, "largest");
        if (!p->stack) {
                json_null(j);
                return;
        }
        json_object(j);
        json_put_string(j, "kind", p->is_mapped ? "mappings" : "blocks");
        json_put_text(j, "function", p->function);
        json_put_text(j, "place", p->place);
        json_put_uint(j, "bytes", p->largest_bytes);
        json_put_uint(j, "of_bytes", p->whole_bytes);
        json_put_text(j, "held_by", p->held_by);
        json_put_known_double(j, "bytes_per_s",
                              (double)p->largest_gain_bytes * 1e9 / (double)p->over_ns, 1,
                              p->has_gain);
        json_end(j);
}

static void put_growth(struct json *j, const struct post_mortem *p) {
        static const char *const shapes[] = {"unknown", "steady", "level", "step"};
        const char *of = p->course == COURSE_SAMPLES   ? "process"
                         : p->course == COURSE_BLOCKS  ? "blocks"
                         : p->room && p->room->version ? "cgroup"
                                                       : "machine";
        double more_s = longer_s(p);

        json_key(j, "growth");
        json_object(j);
        json_put_string(j, "shape", shapes[p->shape]);
        json_put_text(j, "of", p->shape == SHAPE_UNKNOWN ? NULL : of);
        put_seconds(j, "over_s", p->over_ns, p->over_ns);
        put_seconds(j, "full_for_s", full_for_ns(p), true);
        json_put_known_double(j, "bytes_per_s", p->rate, 1, p->shape != SHAPE_UNKNOWN);
        json_end(j);
        json_put_known(j, "needed_bytes", needed_bytes(p), needed_bytes(p) > 0);
        put_seconds(j, "twice_the_limit_lasts_s", isnan(more_s) ? 0 : unit_nearest(more_s * 1e9),
                    !isnan(more_s));
}

static void put_graph(struct json *j, const struct post_mortem *p) {
        json_key(j, "graph");
        if (p->graph) {
                json_object(j);
                json_put_text(j, "name", p->graph_name);
                put_seconds(j, "at_s", p->graph->time_ns, true);
                json_end(j);
        } else {
                json_null(j);
        }
        json_put_text(j, "no_graph", p->graph ? NULL : p->why_no_graph);
}

void post_mortem_put(struct json *j, const struct report *r) {
        static const char *const victims[] = {"", "process", "recorder", "unknown"};
        struct post_mortem p;
        struct str text = {0};

        json_key(j, "post_mortem");
        if (r->options->is_brief || !post_mortem_find(r, true, &p)) {
                json_null(j);
                return;
        }
        add_all(r, &p, &text);
        str_add(&text, p.line ? " " : "");
        add_line(&p, &text);
        json_object(j);
        json_put_string(j, "text", str_text(&text));
        json_put_string(j, "killed", victims[p.victim]);
        json_put_uint(j, "pid", r->v->processes[p.process].start.pid);
        put_seconds(j, "at_s", p.end_ns, true);
        put_room(j, &p);
        json_put_uint(j, "live_bytes", p.live_bytes);
        json_put_uint(j, "mapped_bytes", p.mapped_bytes);
        put_figure(j, "anon_bytes", p.sampled_ns ? p.anon_bytes : ROOM_UNKNOWN);
        put_figure(j, "unexplained_bytes", p.is_kept_known ? p.kept_bytes : ROOM_UNKNOWN);
        put_figure(j, "shmem_bytes", p.sampled_ns ? p.shmem_bytes : ROOM_UNKNOWN);
        put_largest(j, &p);
        put_growth(j, &p);
        json_key(j, "also_killed");
        json_array(j);
        for (size_t i = 0; i < MIN(p.n_others, ARRAY_SIZE(p.others)); i++)
                json_uint(j, r->v->processes[p.others[i]].start.pid);
        json_end(j);
        put_graph(j, &p);
        json_put_text(j, "kernel_line", p.line);
        json_put_text(j, "kernel_reason", p.reason);
        json_end(j);
        str_done(&text);
}
