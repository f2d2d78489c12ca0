/* SPDX-License-Identifier: MIT */
#include "record/limit_notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/system_clock.h"
#include "base/units.h"
#include "patch/imprint.h"
#include "patch/survey.h"
#include "pipeline/pipeline.h"
#include "record/control.h"
#include "record/recorder_state.h"
#include "record/shm.h"
#include "trace/writer.h"

#define MS 1000000ull

enum {
        UNSEEN_MIN_BYTES = 16 << 20,
        UNSEEN_BLOCK_BYTES = 32,          /* what a small block takes beside its size */
        UNSEEN_THREAD_BYTES = 256 * 1024, /* an allocator's caches */
        LOOK_MAX_N = 16,                  /* of a process */
        LOOK_COST_SHARE = 100,
        LOOK_PAUSE_NS = 100 * MS,
};
#define LOOK_MAX_BYTES                                                                             \
        (4ull << 30)          /* a look at more would keep the target from mapping for too long */
#define UNSEEN_MIN_SHARE 0.25 /* of what is resident */
#define UNSEEN_ROUND_UP 1.5   /* size classes, fragments, what was released and kept */
#define LOOK_GROWTH 1.25      /* since the last */

/* ---- telling ------------------------------------------------------------------------------------ */

void limits_hear(struct limits *l, const char *note) {
        struct trace_limit one;

        if (!trace_limit_parse(note, &one) || one.is_summed)
                return;
        if (l->of[one.kind].n++ && one.bytes <= l->of[one.kind].bytes)
                return;
        l->of[one.kind].bytes = one.bytes;
        snprintf(l->of[one.kind].text, sizeof(l->of[one.kind].text), "%s", one.text);
}

/* Writes it into the trace. */
static void recorder_limit(struct recorder *r, enum trace_limit_kind kind, const struct image *one,
                           uint64_t bytes, uint64_t count, const char *fmt, ...)
        __attribute__((format(printf, 6, 7)));

static void recorder_limit(struct recorder *r, enum trace_limit_kind kind, const struct image *one,
                           uint64_t bytes, uint64_t count, const char *fmt, ...) {
        struct trace_limit l = {.kind = kind,
                                .pid = one ? (uint32_t)one->pid : 0,
                                .bytes = bytes,
                                .count = count};
        char text[400], note[480];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        l.text = text;
        trace_limit_write(&l, note, sizeof(note));
        trace_put_note(r->writer, recorder_now_ns(r), note);
        limits_hear(&r->limits, note);
        recorder_log(r, "%s", text);
}

void limits_tell(const struct limits *l, struct control_message *m) {
        m->n_limits = 0;
        for (int i = 0; i < LIMIT_N_KINDS && m->n_limits < CONTROL_MAX_LIMITS; i++) {
                if (!l->of[i].n)
                        continue;
                m->n_more_limits[m->n_limits] = l->of[i].n - 1;
                memcpy(m->limits[m->n_limits], l->of[i].text, sizeof(l->of[i].text));
                m->n_limits++;
        }
}

/* ---- what the runtime says itself --------------------------------------------------------------- */

/* Once, of whichever process does it first. */
static void note_unfollowed(struct recorder *r, const struct image *one) {
        const struct wire_process *p = shm_process(r->config->shm, one->process_idx);
        uint32_t what = atomic_load_explicit(&p->unfollowed, memory_order_relaxed) & ~r->unfollowed;

        r->unfollowed |= what;
        if (what & WIRE_UNFOLLOWED_POOLS)
                recorder_note(
                        r,
                        "pid %d uses pools (silt.h): a recording of samples does not follow the blocks in them, only the memory they are made of",
                        (int)one->pid);
        if (what & WIRE_UNFOLLOWED_HEAPS)
                recorder_note(
                        r,
                        "pid %d freed whole heaps: a recording of samples still counts the blocks in them as live, so live figures are too high",
                        (int)one->pid);
        if (what & WIRE_UNFOLLOWED_OPENED)
                recorder_note(
                        r,
                        "pid %d opened libraries that were not looked at for allocators: it had dropped privileges, or the recorder was late: blocks may be missing",
                        (int)one->pid);
        if (what & WIRE_UNFOLLOWED_NAMESPACE)
                recorder_note(
                        r,
                        "pid %d opened libraries in a separate namespace (dlmopen), with their own C library: what they allocate is missing",
                        (int)one->pid);
        if (what & WIRE_UNFOLLOWED_CHILDREN)
                recorder_note(
                        r,
                        "pid %d started programs that silt cannot enter (static, privileged) from children that share its memory (clone): their number is unknown",
                        (int)one->pid);
        if (what & WIRE_UNFOLLOWED_CACHES)
                recorder_note(
                        r,
                        "pid %d freed a jemalloc arena whole whose blocks came from thread caches, which may mix arenas: silt took them for blocks of the arena that the call or the thread named, so live figures may be off by what was in the caches",
                        (int)one->pid);
}

/* Notes of one process add up. */
static void note_unpatched(struct recorder *r, struct image *one) {
        uint32_t n =
                atomic_load_explicit(&shm_process(r->config->shm, one->process_idx)->n_unpatched,
                                     memory_order_relaxed);

        if (n <= one->n_unpatched_told || !one->is_guest)
                return;
        recorder_note(
                r,
                "pid %d: %u functions of allocators linked into it could not be hooked: blocks may be missing",
                (int)one->pid, n - one->n_unpatched_told);
        one->n_unpatched_told = n;
}

/* ---- memory that nothing explains ---------------------------------------------------------------- */

static uint64_t saturating_sub(uint64_t a, double b) {
        return (double)a > b ? a - (uint64_t)b : 0;
}

/* Of so much that an allocator holds: what blocks do not explain. Of a process that was there before it was recorded, or was
 * forked, only what came since counts. */
static uint64_t unexplained_bytes(const struct image *one, uint64_t held_bytes,
                                  const struct pipeline_totals *t) {
        return saturating_sub(held_bytes,
                              (double)one->first_anon_bytes +
                                      UNSEEN_ROUND_UP * (double)t->counts.peak_bytes +
                                      UNSEEN_BLOCK_BYTES * (double)t->counts.peak_blocks +
                                      UNSEEN_THREAD_BYTES * (double)t->n_threads_started);
}

static bool is_material(uint64_t bytes, uint64_t of_bytes) {
        return bytes >= UNSEEN_MIN_BYTES && (double)bytes >= UNSEEN_MIN_SHARE * (double)of_bytes;
}

/* Whether its memory asks for a closer look, and that look. */
static void look_at_pages(struct recorder *r, struct image *one, uint64_t now_ns) {
        struct pipeline_totals totals;
        struct own_pages seen = {0};
        uint64_t rest_bytes, begin_ns, cost_ns;
        struct unit_text a, b;

        if (one->anon_bytes < UNSEEN_MIN_BYTES || one->anon_bytes > LOOK_MAX_BYTES ||
            r->config->options->launcher || one->is_foreign || one->is_ending ||
            one->n_own_pages_looks >= LOOK_MAX_N || now_ns < one->next_own_pages_ns ||
            !pipeline_get_totals(r->pipeline, one->trace_process, &totals))
                return;
        rest_bytes = unexplained_bytes(one, one->anon_bytes, &totals);
        if (!is_material(rest_bytes, one->anon_bytes) ||
            (double)rest_bytes < LOOK_GROWTH * (double)one->looked_rest_bytes)
                return;
        begin_ns = clock_thread_cpu_ns(); /* waiting for a turn costs the target nothing */
        one->looked_rest_bytes = rest_bytes;
        one->n_own_pages_looks++;
        if (!own_pages_look(&seen, one->pid))
                return;
        one->looked_ns = recorder_now_ns(r);
        cost_ns = clock_thread_cpu_ns() - begin_ns;
        one->next_own_pages_ns = now_ns + MAX(cost_ns * LOOK_COST_SHARE, LOOK_PAUSE_NS);
        recorder_log(r, "pid %d: blocks do not account for %s: examined its mappings in %s",
                     (int)one->pid, unit_bytes(&a, rest_bytes), unit_duration(&b, cost_ns));
        if (seen.anon_bytes > one->own_pages.anon_bytes) {
                own_pages_done(&one->own_pages);
                one->own_pages = seen;
        } else {
                own_pages_done(&seen);
        }
}

void limits_take_mapping(void *ctx, uint32_t process_idx, uint64_t begin, uint64_t end) {
        struct recorder *r = ctx;
        struct image *one = images_find_idx(&r->images, process_idx);

        if (one)
                ranges_add(&one->mapped, begin, end);
}

/* What came since the last look is left out: the next would have seen it. Told again only if it is so many times more. */
static void judge_unseen(struct recorder *r, struct image *one,
                         const struct pipeline_totals *totals, double growth) {
        uint64_t held_bytes = own_pages_unmapped_bytes(&one->own_pages, &one->mapped), bytes;
        struct unit_text a, b;

        if (one->mapped.is_full)
                return;
        bytes = unexplained_bytes(one, held_bytes, totals);
        if (!is_material(bytes, one->own_pages.anon_bytes) ||
            (double)bytes <= growth * (double)one->unseen_told_bytes)
                return;
        if (one->unseen_told_bytes)
                r->limits.of[LIMIT_UNSEEN].n--; /* it is the same, and larger */
        one->unseen_told_bytes = bytes;
        recorder_limit(
                r, LIMIT_UNSEEN, one, bytes, 0,
                "silt did not see who allocated %s of the %s resident in pid %d: they are not blocks, mappings, stacks or files",
                unit_bytes(&a, bytes), unit_bytes(&b, one->own_pages.anon_bytes), (int)one->pid);
}

/* As soon as all that was mapped by the time of the last look is known, and what threads had just mapped then. */
static void judge_pages(struct recorder *r, struct image *one) {
        struct pipeline_totals totals;

        if (!one->looked_ns || pipeline_final_ns(r->pipeline) < one->looked_ns + LOOK_PAUSE_NS ||
            !pipeline_get_totals(r->pipeline, one->trace_process, &totals))
                return;
        one->looked_ns = 0;
        judge_unseen(r, one, &totals, LOOK_GROWTH);
}

void limits_look(struct recorder *r, struct image *one, uint64_t now_ns) {
        note_unpatched(r, one);
        note_unfollowed(r, one);
        judge_pages(r, one);
        look_at_pages(r, one, now_ns);
}

/* ---- allocators ---------------------------------------------------------------------------------- */

/* True once of each program. */
static bool is_news(struct recorder *r, const char *exe) {
        for (size_t i = 0; i < r->told_exes.n; i++)
                if (!strcmp(r->told_exes.items[i], exe))
                        return false;
        if (r->told_exes.n < LIMITS_MAX_EXES)
                vec_push(&r->told_exes, strdup(exe));
        return true;
}

/* Of the memory that the process had of its own, blocks explain the rest. */
static uint64_t judge_beside_blocks(const struct image *one, const struct pipeline_totals *t) {
        return saturating_sub(one->peak_anon_bytes,
                              (double)one->first_anon_bytes + (double)t->counts.peak_bytes);
}

static void tell_unhooked(struct recorder *r, const struct image *one,
                          const struct pipeline_totals *totals, const char *name,
                          const char *version, const char *why) {
        uint64_t bytes = judge_beside_blocks(one, totals);
        struct unit_text a, b;

        recorder_limit(
                r, LIMIT_UNHOOKED, one, bytes, 0,
                "silt did not see what %s%s%s in '%.120s' allocates: %s (%s of the %s resident are not in blocks): run silt doctor",
                name, version[0] ? " " : "", version, one->exe, why, unit_bytes(&a, bytes),
                unit_bytes(&b, one->peak_anon_bytes));
}

/* Where a program has no symbols its messages say what is inside; with them, who speaks of an allocator need not have one. */
static void judge_imprint(struct recorder *r, const struct image *one,
                          const struct pipeline_totals *totals, uint64_t bytes) {
        bool has_names = !one->is_nameless, is_much = is_material(bytes, one->peak_anon_bytes);
        struct imprint i;
        const char *name;

        if ((one->has_exported && !is_much) || !is_news(r, one->exe) ||
            known_files_imprint(&r->patches, one->exe, &i) < 0)
                return;
        for (unsigned k = 0; !has_names && (name = imprint_allocator(&i, k)); k++)
                tell_unhooked(r, one, totals, name, imprint_version(&i, name),
                              one->has_exported ? "only its exported functions have symbols"
                                                : "its functions have no symbols");
        if (i.marks & IMPRINT_GO)
                tell_unhooked(r, one, totals, "Go's garbage-collected heap", "",
                              "it does not use malloc");
}

static void judge_unpatched(struct recorder *r, const struct image *one,
                            const struct pipeline_totals *totals) {
        struct survey s;

        if (!is_news(r, one->exe) || survey_make(one->exe, MACHINE_OWN, &s, NULL) < 0)
                return;
        for (size_t i = 0; i < s.allocators.n; i++)
                tell_unhooked(r, one, totals, s.allocators.items[i].name,
                              s.allocators.items[i].version, "--no-patch was given");
        survey_done(&s);
}

static void judge_allocators(struct recorder *r, const struct image *one,
                             const struct pipeline_totals *totals) {
        uint64_t bytes = unexplained_bytes(one, one->peak_anon_bytes, totals);

        if (!one->is_guest || !one->exe || !one->exe[0] || one->is_foreign)
                return;
        if (r->config->options->no_patch)
                judge_unpatched(r, one, totals);
        else if (one->is_nameless || is_material(bytes, one->peak_anon_bytes))
                judge_imprint(r, one, totals, bytes);
}

/* ---- blocks that do not fit together --------------------------------------------------------------- */

/* A block that came or went by a function nobody hooked leaves both: a release without an allocation, and an address that is
 * handed out twice. Either alone may be the program's mistake. */
static void judge_unpaired(struct recorder *r, const struct image *one,
                           const struct pipeline_totals *totals) {
        const struct trace_counts *c = &totals->counts;
        char unknown[80] = "";
        struct unit_text n;

        if (!c->n_implicit_frees || c->n_lost)
                return;
        if (c->n_unknown_frees)
                snprintf(unknown, sizeof(unknown), ", and %s freed that silt did not see allocated",
                         unit_count(&n, c->n_unknown_frees));
        recorder_limit(
                r, LIMIT_UNPAIRED, one, 0, c->n_implicit_frees + c->n_unknown_frees,
                "pid %d: %s block%s allocated again although silt saw no free%s: some function is not hooked, such as a stripped realloc (silt run --hook)",
                (int)one->pid, unit_count(&n, c->n_implicit_frees),
                c->n_implicit_frees == 1 ? " was" : "s were", unknown);
}

void limits_judge(struct recorder *r, struct image *one, const struct pipeline_totals *totals) {
        note_unpatched(r, one);
        note_unfollowed(r, one);
        judge_allocators(r, one, totals);
        judge_unseen(r, one, totals, 1);
        judge_unpaired(r, one, totals);
        own_pages_done(&one->own_pages);
        ranges_done(&one->mapped);
        vec_free(&one->bill.heap);
}
