/* SPDX-License-Identifier: MIT */
/* Sites as people tell them apart: call paths that look the same when they are shown are one. They
 * begin at the code that asked, so what differs only inside allocators and containers is one too. */
#include "base/map.h"
#include "report/frame.h"
#include "report/gather.h"

enum {
        FOLD_MAX_INLINED = 32,
        FOLD_NOTHING = 2, /* for 0, which is: not known yet. Other hashes are odd */
};

struct folder {
        const struct report *r;
        uint64_t *by_location; /* hash of all of it that can be shown */
        uint64_t *by_front;    /* the same where memory is asked for */
        uint64_t *by_stack;    /* the same of a stack and its callers */
};

static uint64_t hash_text(uint64_t hash, const char *text) {
        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
        return map_hash(hash);
}

static bool is_shown_in_front(enum name_kind k) {
        return k == NAME_PLAIN || k == NAME_TASK;
}

/* A hash of what is shown of a location; in front, where memory was asked for, without the library
 * code inlined there. 0: nothing is. */
static uint64_t hash_location(const struct report *r, uint32_t location, bool in_front) {
        struct query_frame frames[FOLD_MAX_INLINED];
        size_t n = MIN(query_location_frames(r->q, location, frames, FOLD_MAX_INLINED),
                       (size_t)FOLD_MAX_INLINED);
        uint64_t hash = 0;

        for (size_t i = 0; i < n; i++) {
                const struct query_frame *f = &frames[i];
                struct name_frame frame = frame_of(f);
                enum name_kind kind = name_frame_kind(r->names, &frame);

                if (kind == NAME_MACHINERY || (in_front && hash == 0 && !is_shown_in_front(kind)))
                        continue;
                if (!f->function[0] || !f->line)
                        hash ^= location + 1; /* without a line, places are told apart by address */
                hash = hash_text(hash_text(hash + f->line + 1, f->function), f->file) | 1;
        }
        return hash;
}

/* The same, looked up once; FOLD_NOTHING: nothing is shown. */
static uint64_t known_hash(const struct folder *f, uint32_t location, bool in_front) {
        uint64_t *hash = in_front ? f->by_front : f->by_location;

        if (location >= f->r->v->n_locations)
                return FOLD_NOTHING;
        hash += location;
        if (!*hash) {
                *hash = hash_location(f->r, location, in_front);
                *hash = *hash ? *hash : FOLD_NOTHING;
        }
        return *hash;
}

/* Fills by_stack. Callers have smaller numbers than whom they call. */
static void hash_stacks(struct folder *f) {
        const struct trace_view *v = f->r->v;

        for (uint32_t i = 1; i < v->n_stacks; i++) {
                uint64_t hash = known_hash(f, v->stacks[i].location, false);
                uint32_t parent = v->stacks[i].parent;

                f->by_stack[i] = parent < i ? f->by_stack[parent] : 0;
                if (hash != FOLD_NOTHING)
                        f->by_stack[i] = map_hash(f->by_stack[i] + hash);
        }
}

/* What sites have in common that are one: the same line of the program, called the same way. */
static uint64_t fold_key(const struct folder *f, uint32_t stack) {
        const struct trace_view *v = f->r->v;
        uint32_t whole = stack;

        for (; stack && stack < v->n_stacks; stack = v->stacks[stack].parent) {
                uint64_t hash = known_hash(f, v->stacks[stack].location, true);

                if (hash != FOLD_NOTHING)
                        return map_hash(hash ^ f->by_stack[v->stacks[stack].parent]);
        }
        return whole;
}

static uint64_t *new_hashes(size_t n) {
        uint64_t *hashes = calloc(n + 1, sizeof(*hashes));

        if (!hashes)
                abort();
        return hashes;
}

void report_fold(struct report *r) {
        _cleanup_free_ uint64_t *by_location = new_hashes(r->v->n_locations);
        _cleanup_free_ uint64_t *by_front = new_hashes(r->v->n_locations);
        _cleanup_free_ uint64_t *by_stack = new_hashes(r->v->n_stacks);
        struct folder f = {r, by_location, by_front, by_stack};
        struct map by_key = {0};

        if (!r->options->full)
                hash_stacks(&f);
        for (size_t i = 0; i < r->answer->n_sites; i++) {
                const struct query_site *site = &r->answer->sites[i];
                uint64_t key = r->options->full ? site->stack : fold_key(&f, site->stack);
                bool added;
                uint64_t *idx = map_put(&by_key, key, r->folded.n, &added);

                /* The first one's stack stands for all. */
                if (added)
                        vec_push(&r->folded, (struct query_site){.stack = site->stack});
                query_figures_add(&r->folded.items[*idx].f, &site->f);
        }
        map_done(&by_key);
}
