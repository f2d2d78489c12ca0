/* SPDX-License-Identifier: MIT */
/* heaptrack's interpreted recordings, version 3 of the file format, compressed with zstd: a line for each allocation and release, in
 * between the call paths and sizes they name by number (heaptrack's accumulatedtracedata.cpp reads them).
 *
 *   t 12 7     a frame and what called it      a 40 12    64 bytes asked for by call path 12
 *   + 3        such a block is allocated       - 3        and released        c 1f4    from here on 500 ms have passed
 *
 * A release that follows its own allocation on the next line makes that a temporary one: heaptrack knows no threads. To silt a
 * block is temporary if its thread released it before it allocated again, whatever others did meanwhile. So that both count the
 * same, such a block's two lines stand together, where it was released: what it held meanwhile is missing from heaptrack's graph,
 * but not at the peak, where all blocks are written that there are, and not for long if it is large. */
#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "export/block_flow.h"
#include "export/export_job.h"
#include "export/frame_table.h"
#include "export/one_process.h"
#include "export/seq_set.h"
#include "export/text_table.h"
#include "export/zstd_out.h"
#include "query/cursor.h"

enum {
        HEAPTRACK_N_FIRST = 64,       /* blocks to choose the first from */
        HEAPTRACK_LARGE_SHARE = 1000, /* of the peak: blocks that the graph must not miss */
        HEAPTRACK_NO_ID = 0x7fffffff,
        HEAPTRACK_MAX_WAIT_NS = 100000000, /* of a release, for another one that is to go first */
};

/* Size and call path, with one number and, once two are live, another, so that a release can take the one that does not
 * look like that of a temporary block. heaptrack_gui wants numbers to turn up in allocations in their order: none is for releases
 * alone. */
struct heaptrack_info {
        uint64_t size_bytes;
        uint32_t stack;
        uint32_t id, other_id;         /* HEAPTRACK_NO_ID: none yet */
        uint64_t n_live, n_other_live; /* so that releases of each have their allocations */
        uint32_t next;                 /* of the same hash; index + 1 */
};

/* The reader takes a release with number 0 behind another release for that of a temporary block. So the block that gets this number
 * is one that is not released, or before the last allocation: it is written first, whenever it was allocated. */
struct heaptrack_first {
        struct flow_step step;
        uint64_t level_bytes;      /* the highest before it */
        uint64_t released_at_step; /* 0: never */
};

struct heaptrack {
        struct export_job *job;
        struct zstd_out out;
        struct frame_table frames;
        uint32_t *stack_ids, *location_ids; /* 0: not written yet */
        uint32_t n_stack_ids, n_location_ids, n_strings, n_infos;
        uint32_t unknown_id; /* call path of blocks that have none */
        struct text_table strings;
        struct map info_ids;
        VEC(struct heaptrack_info) infos;
        struct seq_set temporary;
        uint64_t level_bytes, peak_bytes, peak_seq;
        bool has_peak;
        struct heaptrack_first first[HEAPTRACK_N_FIRST];
        size_t n_first;
        uint64_t step, last_alloc_step;
        uint64_t early_seq; /* it was written first; UINT64_MAX: none was */
        /* by thread: a temporary block that is written when it is released; n_blocks 0: none */
        struct flow_step *pending;
        size_t n_pending;
        /* what the reader compares a release with: the number of the allocation in the line before, else 0 */
        uint32_t last_id;
        bool is_last_plus; /* the line before is an allocation */
        uint64_t written_bytes;
        VEC(uint32_t)
        held_back; /* infos: releases that would look like those of temporary blocks here */
        /* A temporary block that is written already, and the releases since, which wait for its own: nothing was
         * allocated in between, so that its release may go before them. n_blocks 0: none */
        struct flow_step awaited;
        VEC(struct flow_step) waiting;
        uint64_t last_ms, n_untold; /* temporary to silt or to the reader alone */
};

/* ---- which blocks are temporary ---------------------------------------------------------------- */

struct heaptrack_marking {
        struct seq_set *temporary;
        uint64_t *last_seq; /* by thread, + 1 */
        size_t n_threads;
};

static void mark_event(struct heaptrack_marking *m, const struct trace_event *e) {
        bool is_release = e->op == TRACE_FREE || e->op == TRACE_REALLOC;
        uint64_t seq = e->op == TRACE_REALLOC ? e->old_seq : e->seq;

        if (e->thread >= m->n_threads)
                return;
        if (is_release && m->last_seq[e->thread] == seq + 1)
                seq_set_add(m->temporary, seq);
        if (e->op == TRACE_ALLOC || e->op == TRACE_REALLOC)
                m->last_seq[e->thread] = e->seq + 1;
        if (e->op == TRACE_OTHER && e->other == TRACE_UNSAMPLED)
                m->last_seq[e->thread] = 0;
}

/* From the start of the recording, and of all blocks: those that are not written count too. */
static int mark_temporary(struct heaptrack *h, struct err *reterr) {
        struct query_scope scope = {h->job->scope.process, 0, h->job->scope.to_ns, NULL};
        _cleanup_(query_cursor_freep) struct query_cursor *c = NULL;
        struct heaptrack_marking m = {.temporary = &h->temporary,
                                      .n_threads = h->job->view->n_threads};
        const struct query_row *row;
        int r = query_cursor_open(h->job->q, &scope, QUERY_ROWS_EVENTS, &c, reterr);

        m.last_seq = calloc(m.n_threads + 1, sizeof(m.last_seq[0]));
        if (!m.last_seq)
                abort();
        while (r >= 0 && (r = query_cursor_next(c, &row, reterr)) > 0)
                mark_event(&m, row->event.event);
        free(m.last_seq);
        return MIN(r, 0);
}

/* ---- the peak ---------------------------------------------------------------------------------- */

/* Of temporary blocks the releases go with the allocations. */
static void note_first(struct heaptrack *h, const struct flow_step *s) {
        if (s->kind != FLOW_FREE) {
                if (seq_set_has(&h->temporary, s->seq))
                        return;
                h->last_alloc_step = h->step;
                if (h->n_first < HEAPTRACK_N_FIRST)
                        h->first[h->n_first++] = (struct heaptrack_first){*s, h->peak_bytes, 0};
                return;
        }
        if (h->n_first == HEAPTRACK_N_FIRST && h->first[HEAPTRACK_N_FIRST - 1].step.seq < s->seq)
                return;
        for (size_t i = 0; i < h->n_first; i++)
                if (h->first[i].step.seq == s->seq)
                        h->first[i].released_at_step = h->step;
}

static int find_peak(void *ctx, const struct flow_step *s) {
        struct heaptrack *h = ctx;

        h->step++;
        note_first(h, s);
        if (s->kind == FLOW_FREE) {
                h->level_bytes -= flow_bytes(s);
                return 0;
        }
        h->level_bytes += flow_bytes(s);
        if (h->level_bytes > h->peak_bytes) {
                h->peak_bytes = h->level_bytes;
                h->peak_seq = s->seq;
                h->has_peak = true;
        }
        return 0;
}

/* ---- definitions ------------------------------------------------------------------------------- */

static uint32_t string_id(struct heaptrack *h, const char *text) {
        uint32_t id = text_table_number(&h->strings, text);

        if (id > h->n_strings) {
                h->n_strings = id;
                zstd_out_text(&h->out, "s ");
                zstd_out_hex(&h->out, strlen(h->strings.texts.items[id]), ' ');
                zstd_out_one_line(&h->out, h->strings.texts.items[id]);
                zstd_out_byte(&h->out, '\n');
        }
        return id;
}

static uint32_t location_id(struct heaptrack *h, uint32_t location) {
        uint32_t(*ids)[3];
        const uint32_t *frames;
        uint32_t module;
        size_t n;

        if (h->location_ids[location])
                return h->location_ids[location];
        frames = frame_table_location(&h->frames, location, &n);
        ids = calloc(n + 1, sizeof(ids[0]));
        if (!ids)
                abort();
        for (size_t i = 0; i < n; i++) {
                const struct frame_entry *f = &h->frames.frames.items[frames[i]];

                ids[i][0] = string_id(h, f->name);
                ids[i][1] = string_id(h, f->frame.file);
                ids[i][2] = f->frame.line;
        }
        module = n ? string_id(h, h->frames.frames.items[frames[n - 1]].frame.module) : 0;
        zstd_out_text(&h->out, "i ");
        zstd_out_hex(&h->out, h->job->view->locations[location].offset, ' ');
        zstd_out_hex(&h->out, module, n ? ' ' : '\n');
        for (size_t i = 0; i < n; i++) {
                zstd_out_hex(&h->out, ids[i][0], ' ');
                zstd_out_hex(&h->out, ids[i][1], ' ');
                zstd_out_hex(&h->out, ids[i][2], i + 1 < n ? ' ' : '\n');
        }
        free(ids);
        return h->location_ids[location] = ++h->n_location_ids;
}

static uint32_t put_node(struct heaptrack *h, uint32_t ip_id, uint32_t parent_id) {
        zstd_out_text(&h->out, "t ");
        zstd_out_hex(&h->out, ip_id, ' ');
        zstd_out_hex(&h->out, parent_id, '\n');
        return ++h->n_stack_ids;
}

/* heaptrack expects every block to have a call path. */
static uint32_t unknown_id(struct heaptrack *h) {
        if (!h->unknown_id) {
                uint32_t name = string_id(h, "unknown");

                zstd_out_text(&h->out, "i 0 0 ");
                zstd_out_hex(&h->out, name, ' ');
                zstd_out_text(&h->out, "0 0\n");
                h->unknown_id = put_node(h, ++h->n_location_ids, 0);
        }
        return h->unknown_id;
}

/* Callers first. */
static uint32_t stack_id(struct heaptrack *h, uint32_t stack) {
        const struct trace_view *v = h->job->view;
        VEC(uint32_t) missing = {0};
        uint32_t id = 0;

        if (!stack || stack >= v->n_stacks)
                return unknown_id(h);
        for (uint32_t s = stack; s && s < v->n_stacks; s = v->stacks[s].parent) {
                id = h->stack_ids[s];
                if (id)
                        break;
                vec_push(&missing, s);
        }
        while (missing.n) {
                uint32_t s = missing.items[--missing.n];
                uint32_t ip_id = location_id(h, v->stacks[s].location);

                id = h->stack_ids[s] = put_node(h, ip_id, id);
        }
        vec_free(&missing);
        return id;
}

static uint32_t put_info(struct heaptrack *h, const struct heaptrack_info *info) {
        uint32_t path_id = stack_id(h, info->stack);

        zstd_out_text(&h->out, "a ");
        zstd_out_hex(&h->out, info->size_bytes, ' ');
        zstd_out_hex(&h->out, path_id, '\n');
        return h->n_infos++;
}

static struct heaptrack_info *info_of(struct heaptrack *h, const struct flow_step *s) {
        uint64_t *first =
                map_put(&h->info_ids, map_hash(s->size_bytes * 0x9e3779b97f4a7c15ull) ^ s->stack, 0,
                        NULL);

        for (uint32_t i = (uint32_t)*first; i; i = h->infos.items[i - 1].next) {
                struct heaptrack_info *info = &h->infos.items[i - 1];

                if (info->size_bytes == s->size_bytes && info->stack == s->stack)
                        return info;
        }
        vec_push(&h->infos, (struct heaptrack_info){.size_bytes = s->size_bytes,
                                                    .stack = s->stack,
                                                    .id = HEAPTRACK_NO_ID,
                                                    .other_id = HEAPTRACK_NO_ID,
                                                    .next = (uint32_t)*first});
        *first = h->infos.n;
        return &h->infos.items[h->infos.n - 1];
}

/* ---- lines ------------------------------------------------------------------------------------- */

static void put_line(struct heaptrack *h, char mode, uint32_t id) {
        zstd_out_byte(&h->out, mode);
        zstd_out_byte(&h->out, ' ');
        zstd_out_hex(&h->out, id, '\n');
        h->job->told->n_rows++;
        h->is_last_plus = mode == '+';
        h->last_id = h->is_last_plus ? id : 0;
}

/* One that the reader does not take for that of a temporary block here; HEAPTRACK_NO_ID: there is none. */
static uint32_t plain_id(const struct heaptrack *h, const struct heaptrack_info *info) {
        bool can = info->n_live && info->id != h->last_id;
        bool can_other = info->n_other_live && info->other_id != h->last_id;

        if (can && (!can_other || info->n_live >= info->n_other_live))
                return info->id;
        return can_other ? info->other_id : HEAPTRACK_NO_ID;
}

static void put_plain_minus(struct heaptrack *h, struct heaptrack_info *info, uint32_t id) {
        h->written_bytes -= info->size_bytes;
        if (id == info->id)
                info->n_live--;
        else
                info->n_other_live--;
        put_line(h, '-', id);
}

/* Those held back that can be written now; with all, the others too, which the reader then counts wrongly. */
static void write_held_back(struct heaptrack *h, bool all) {
        for (size_t i = 0; i < h->held_back.n;) {
                struct heaptrack_info *info = &h->infos.items[h->held_back.items[i]];
                uint32_t id = plain_id(h, info);

                if (id == HEAPTRACK_NO_ID && !all) {
                        i++;
                        continue;
                }
                h->n_untold += id == HEAPTRACK_NO_ID;
                h->held_back.items[i] = h->held_back.items[--h->held_back.n];
                put_plain_minus(h, info,
                                id != HEAPTRACK_NO_ID ? id
                                : info->n_live        ? info->id
                                                      : info->other_id);
                i = 0;
        }
}

/* The one of which fewer are live, so that a release can choose as long as there are two. */
static void put_plus(struct heaptrack *h, struct heaptrack_info *info) {
        bool is_other = info->id != HEAPTRACK_NO_ID && info->n_other_live < info->n_live;
        uint32_t *id = is_other ? &info->other_id : &info->id;

        /* what waits must not make a peak that there was not */
        if (h->held_back.n && h->written_bytes + info->size_bytes > h->peak_bytes)
                write_held_back(h, true);
        if (*id == HEAPTRACK_NO_ID)
                *id = put_info(h, info);
        h->written_bytes += info->size_bytes;
        *(is_other ? &info->n_other_live : &info->n_live) += 1;
        put_line(h, '+', *id);
}

static void put_minus(struct heaptrack *h, struct heaptrack_info *info, bool is_temporary) {
        uint32_t id = is_temporary && h->is_last_plus &&
                                      (info->id == h->last_id || info->other_id == h->last_id)
                              ? h->last_id
                              : HEAPTRACK_NO_ID;

        if (id == HEAPTRACK_NO_ID) {
                h->n_untold += is_temporary;
                id = plain_id(h, info);
        }
        if (id == HEAPTRACK_NO_ID)
                vec_push(&h->held_back, (uint32_t)(info - h->infos.items));
        else
                put_plain_minus(h, info, id);
}

static void put_alloc(struct heaptrack *h, const struct flow_step *s) {
        struct heaptrack_info *info = info_of(h, s);

        for (uint32_t i = 0; i < s->n_blocks; i++)
                put_plus(h, info);
        if (h->held_back.n && !seq_set_has(&h->temporary, s->seq))
                write_held_back(h, false);
}

/* Written where it was released. */
static void put_pair(struct heaptrack *h, const struct flow_step *s) {
        struct heaptrack_info *info = info_of(h, s);

        for (uint32_t i = 0; i < s->n_blocks; i++) {
                put_plus(h, info);
                put_minus(h, info, true);
        }
}

static void put_free(struct heaptrack *h, const struct flow_step *s) {
        struct heaptrack_info *info = info_of(h, s);
        bool is_temporary = seq_set_has(&h->temporary, s->seq);

        for (uint32_t i = 0; i < s->n_blocks; i++)
                put_minus(h, info, is_temporary);
        if (h->held_back.n)
                write_held_back(h, false);
}

/* ---- blocks that wait -------------------------------------------------------------------------- */

static void end_waiting(struct heaptrack *h) {
        h->awaited.n_blocks = 0;
        for (size_t i = 0; i < h->waiting.n; i++)
                put_free(h, &h->waiting.items[i]);
        vec_clear(&h->waiting);
}

static void await_release(struct heaptrack *h, const struct flow_step *s) {
        if (s->n_blocks == 1)
                h->awaited = *s;
}

static void write_pending(struct heaptrack *h, uint64_t min_bytes) {
        for (size_t t = 0; h->n_pending && t <= h->job->view->n_threads; t++) {
                struct flow_step *s = &h->pending[t];

                if (!s->n_blocks || flow_bytes(s) < min_bytes)
                        continue;
                end_waiting(h);
                put_alloc(h, s);
                await_release(h, s);
                s->n_blocks = 0;
                h->n_pending--;
        }
}

static void put_time(struct heaptrack *h, uint64_t time_ns) {
        uint64_t ms = time_ns / 1000000;

        if (ms <= h->last_ms)
                return;
        if (h->awaited.n_blocks && h->waiting.n &&
            time_ns > h->waiting.items[0].time_ns + HEAPTRACK_MAX_WAIT_NS)
                end_waiting(h);
        if (h->n_pending && h->peak_bytes / HEAPTRACK_LARGE_SHARE)
                write_pending(h, h->peak_bytes / HEAPTRACK_LARGE_SHARE);
        zstd_out_text(&h->out, "c ");
        zstd_out_hex(&h->out, ms, '\n');
        h->last_ms = ms;
}

static struct flow_step *pending_of(struct heaptrack *h, const struct flow_step *s) {
        return &h->pending[MIN((size_t)s->thread, h->job->view->n_threads)];
}

static void on_coming(struct heaptrack *h, const struct flow_step *s) {
        struct flow_step *pending = pending_of(h, s);
        bool is_temporary = seq_set_has(&h->temporary, s->seq);
        bool is_peak = h->has_peak && s->seq == h->peak_seq;

        if (is_temporary && !is_peak && !pending->n_blocks) {
                *pending = *s;
                h->n_pending++;
                return;
        }
        if (is_peak) {
                write_pending(h, 0);
                h->has_peak = false;
        }
        end_waiting(h);
        put_alloc(h, s);
        if (is_temporary)
                await_release(h, s);
}

static void on_going(struct heaptrack *h, const struct flow_step *s) {
        struct flow_step *pending = pending_of(h, s);

        if (pending->n_blocks && pending->seq == s->seq) {
                end_waiting(h);
                put_pair(h, pending);
                pending->n_blocks = 0;
                h->n_pending--;
        } else if (h->awaited.n_blocks && h->awaited.seq == s->seq) {
                put_free(h, s);
                end_waiting(h);
        } else if (h->awaited.n_blocks) {
                vec_push(&h->waiting, *s);
        } else {
                put_free(h, s);
        }
}

static void put_first(struct heaptrack *h) {
        for (size_t i = 0; i < h->n_first; i++) {
                const struct heaptrack_first *f = &h->first[i];

                if (f->step.seq == h->peak_seq || f->released_at_step > h->last_alloc_step ||
                    f->level_bytes + flow_bytes(&f->step) > h->peak_bytes)
                        continue;
                put_alloc(h, &f->step);
                h->early_seq = f->step.seq;
                return;
        }
}

static int put_step(void *ctx, const struct flow_step *s) {
        struct heaptrack *h = ctx;

        put_time(h, s->time_ns);
        if (s->kind == FLOW_FREE)
                on_going(h, s);
        else if (s->seq != h->early_seq)
                on_coming(h, s);
        return zstd_out_status(&h->out);
}

/* ---- the file ---------------------------------------------------------------------------------- */

static void put_head(struct heaptrack *h) {
        struct str command = {0};

        export_add_command(h->job, &command);
        zstd_out_text(&h->out, "v 10400 3\nX ");
        zstd_out_one_line(&h->out, str_text(&command));
        /* of the machine's memory a trace knows nothing */
        zstd_out_text(&h->out, "\nI ");
        zstd_out_hex(&h->out, h->job->view->meta.page_bytes, ' ');
        zstd_out_text(&h->out, "0\n");
        str_done(&command);
}

static int put_end(struct heaptrack *h, struct err *reterr) {
        const struct query_scope *s = &h->job->scope;
        uint64_t page_bytes = MAX(h->job->view->meta.page_bytes, 1u);
        struct query_answer *a = NULL;
        char end[64];
        int r = query_ask(h->job->q, s, &a, reterr);

        if (r < 0)
                return r;
        end_waiting(h);
        write_pending(h, 0);
        write_held_back(h, true);
        zstd_out_text(&h->out, "R ");
        zstd_out_hex(&h->out, a->totals.peak_rss_bytes / page_bytes, '\n');
        query_answer_free(a);
        put_time(h, MIN(s->to_ns, query_run_end_ns(h->job->q, s->process)));
        snprintf(end, sizeof(end), "# strings: %u\n# ips: %u\n", h->n_strings, h->n_location_ids);
        zstd_out_text(&h->out, end);
        return zstd_out_end(&h->out);
}

static int write_file(struct heaptrack *h, struct err *reterr) {
        struct flow_told told;
        struct unit_text n;
        int r = mark_temporary(h, reterr);

        if (r >= 0)
                r = block_flow(h->job->q, &h->job->scope, find_peak, h, &told, reterr);
        if (r < 0)
                return r;
        put_head(h);
        put_first(h);
        r = block_flow(h->job->q, &h->job->scope, put_step, h, &told, reterr);
        if (r >= 0)
                r = put_end(h, reterr);
        if (r < 0)
                return r;
        export_note_held(h->job, told.n_held, "heaptrack");
        if (h->n_untold)
                export_note(h->job, "%s allocations are temporary to silt or to heaptrack alone",
                            unit_count(&n, h->n_untold));
        return 0;
}

static void *zeroed(size_t n, size_t size) {
        void *p = calloc(n, size);

        if (!p)
                abort();
        return p;
}

static bool ends_with(const char *name, const char *ending) {
        size_t n = strlen(name), n_ending = strlen(ending);

        return n >= n_ending && strcmp(name + n - n_ending, ending) == 0;
}

/* Its readers go by a file's name. */
static bool is_packed(const char *output) {
        return !output || ends_with(output, ".zst");
}

int export_heaptrack(struct export_job *job, struct err *reterr) {
        const struct trace_view *v = job->view;
        struct heaptrack h = {.job = job, .early_seq = UINT64_MAX};
        int r = job->output && ends_with(job->output, ".gz")
                        ? err_set(reterr, -EINVAL,
                                  "heaptrack files are packed with zstd here: end the name in .zst")
                        : export_choose_process(job, reterr);

        if (r < 0)
                return r;
        job->told->rows = "events";
        frame_table_init(&h.frames, job->q);
        text_table_init(&h.strings);
        h.stack_ids = zeroed(v->n_stacks + 1, sizeof(h.stack_ids[0]));
        h.location_ids = zeroed(v->n_locations + 1, sizeof(h.location_ids[0]));
        h.pending = zeroed(v->n_threads + 1, sizeof(h.pending[0]));
        zstd_out_init(&h.out, job->out, is_packed(job->output));
        r = write_file(&h, reterr);
        zstd_out_done(&h.out);
        frame_table_done(&h.frames);
        seq_set_done(&h.temporary);
        text_table_done(&h.strings);
        map_done(&h.info_ids);
        vec_free(&h.infos);
        vec_free(&h.waiting);
        vec_free(&h.held_back);
        free(h.stack_ids);
        free(h.location_ids);
        free(h.pending);
        return r;
}
