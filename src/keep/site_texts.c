/* SPDX-License-Identifier: MIT */
#include "keep/site_texts.h"

#include "base/units.h"

void site_texts_init(struct site_texts *t) {
        text_pool_init(&t->pool);
        t->stacks = (struct map){0};
}

void site_texts_done(struct site_texts *t) {
        text_pool_done(&t->pool);
        map_done(&t->stacks);
}

uint32_t site_texts_of(struct site_texts *t, const struct frame_names *names, uint32_t stack) {
        struct frame_stack frames = {0};
        struct str text = {0};
        uint32_t site = REACH_NO_SITE;

        frame_stack_fill(&frames, names, stack, false);
        if (frames.shown.n) {
                const struct name_frame *f = &frames.frames.items[frames.shown.items[0].frame_idx];

                frame_add_function(&text, names, f, frames.shown.items[0].is_task, true, true);
                if (t->has_lines && f->line)
                        str_addf(&text, ":%u", f->line);
                str_addf(&text, " %s", frame_base(f->module));
                if (frames.shown.via_idx != NAME_NO_FRAME) {
                        str_add(&text, " ");
                        frame_add_function(&text, names, &frames.frames.items[frames.shown.via_idx],
                                           false, true, true);
                }
                site = text_pool_add(&t->pool, str_text(&text));
        }
        str_done(&text);
        frame_stack_done(&frames);
        return site;
}

void site_texts_replace(struct site_texts *t, const struct frame_names *names,
                        struct heap_graph *h) {
        struct map sites = {0}, counts = {0}, most = {0};

        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                uint32_t *site = &h->blocks[i].site;
                uint64_t *known, n, *best;
                bool is_new;

                if (*site == REACH_NO_SITE)
                        continue;
                n = ++*map_put(&counts, *site, 0, NULL);
                known = map_put(&sites, *site, 0, &is_new);
                if (is_new)
                        *known = site_texts_of(t, names, *site);
                best = map_put(&most, *known, 0, NULL);
                if (n > *best) {
                        *best = n;
                        *map_put(&t->stacks, *known, *site, NULL) = *site;
                }
                *site = (uint32_t)*known;
        }
        map_done(&sites);
        map_done(&counts);
        map_done(&most);
}

void site_texts_by_size(struct site_texts *t, struct heap_graph *h) {
        struct map sites = {0};
        struct str text = {0};
        struct unit_text n;

        for (uint32_t i = 0; i < h->graph.n_blocks; i++) {
                bool is_new;
                uint64_t *site = map_put(&sites, h->blocks[i].size_bytes, 0, &is_new);

                if (is_new) {
                        str_clear(&text);
                        str_addf(&text, "%s bytes", unit_count(&n, h->blocks[i].size_bytes));
                        *site = text_pool_add(&t->pool, str_text(&text));
                }
                h->blocks[i].site = (uint32_t)*site;
        }
        str_done(&text);
        map_done(&sites);
}

uint32_t site_texts_stack(const struct site_texts *t, uint32_t site) {
        uint64_t stack;

        return map_get(&t->stacks, site, &stack) ? (uint32_t)stack : REACH_NO_SITE;
}
