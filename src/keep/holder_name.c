/* SPDX-License-Identifier: MIT */
#include "keep/holder_name.h"

#include "show/style.h"

/* One that says itself that it allocates ("zmalloc") says nothing more. */
static void add_via(const struct frame_names *names, const struct frame_stack *x, bool utf8,
                    struct str *to) {
        const struct name_frame *f;
        struct name_look look;

        if (x->shown.via_idx == NAME_NO_FRAME)
                return;
        f = &x->frames.items[x->shown.via_idx];
        look = name_look(names->names, f);
        if (!f->function[0] || f->guess || name_look_says_allocator(&look))
                return;
        str_add(to, " via ");
        frame_add_function(to, names, f, false, false, utf8);
}

/* The function that requested the memory, its line, and the library function that it called. */
static void add_requester(const struct frame_names *names, uint32_t stack, bool utf8,
                          struct str *to) {
        struct frame_stack x = {0};
        struct str place = {0};

        frame_stack_fill(&x, names, stack, false);
        if (x.shown.n) {
                const struct name_frame *f = &x.frames.items[x.shown.items[0].frame_idx];

                frame_add_function(to, names, f, x.shown.items[0].is_task, names->is_full, utf8);
                if (f->file[0])
                        frame_add_place(&place, f, false);
                if (place.n)
                        str_addf(to, " (%s)", str_text(&place));
                add_via(names, &x, utf8, to);
        } else {
                str_add(to, "code without a name");
        }
        str_done(&place);
        frame_stack_done(&x);
}

void holder_name_add_site(const struct held_graph *g, const struct frame_names *names,
                          const struct site_texts *texts, const struct site_group *x, bool utf8,
                          struct str *to) {
        uint32_t stack =
                x->site == REACH_NO_SITE ? REACH_NO_SITE : site_texts_stack(texts, x->site);

        if (!g->heap.seqs) /* what the allocator knows: without call paths, told apart by size */
                str_addf(to, "blocks of %s", texts->pool.items.items[x->site]);
        else if (stack == REACH_NO_SITE)
                str_add(to, query_sample_bytes(names->q) ? "code that silt did not sample"
                                                         : "code that ran before silt attached");
        else
                add_requester(names, stack, utf8, to);
}

void holder_name_add(const struct held_graph *g, const struct frame_names *names,
                     const struct site_texts *texts, const struct site_group *x, bool utf8,
                     struct str *to) {
        switch (x->kind) {
        case GROUP_ABOVE_ALL: str_add(to, "all that is held"); return;
        case GROUP_PLACE: style_add_clean(to, texts->pool.items.items[x->site]); return;
        case GROUP_BLOCKS: break;
        }
        if (x->type) {
                style_add_clean(to, texts->pool.items.items[x->type]);
                str_add(to, " by ");
        }
        holder_name_add_site(g, names, texts, x, utf8, to);
}

bool holder_name_add_places(const struct held_graph *g, const struct site_texts *texts,
                            uint32_t group, struct str *to) {
        const uint32_t *found = g->nearest_of_group[group].of;
        uint32_t of[NEAREST_PLACES];
        int n = 0;

        /* names say more than addresses */
        for (int is_named = 1; is_named >= 0; is_named--)
                for (int i = 0; i < NEAREST_PLACES && found[i] != REACH_NONE; i++)
                        if ((g->places.list.items[found[i]].kind == ROOT_PLACE_VARIABLE) ==
                            is_named)
                                of[n++] = found[i];
        for (int i = 0; i < MIN(n, NEAREST_PLACES - 1); i++) {
                if (i)
                        str_add(to, n == NEAREST_PLACES ? ", " : " and ");
                style_add_clean(to, texts->pool.items.items[g->places.list.items[of[i]].name]);
        }
        if (n == NEAREST_PLACES)
                str_add(to, " and others");
        else if (n == 1)
                str_add(to, " and others of that name");
        return n > 0;
}

const struct root_place *holder_name_place(const struct held_graph *g, uint32_t name) {
        for (size_t i = 0; i < g->places.list.n; i++)
                if (g->places.list.items[i].name == name)
                        return &g->places.list.items[i];
        return NULL;
}

const char *holder_name_kind(const struct site_group *x, const struct root_place *p) {
        static const char *const place_kinds[] = {
                [ROOT_PLACE_VARIABLE] = "variable", [ROOT_PLACE_UNNAMED] = "variable",
                [ROOT_PLACE_THREAD] = "thread",     [ROOT_PLACE_THREAD_LOCAL] = "thread-local",
                [ROOT_PLACE_MAPPING] = "mapping",   [ROOT_PLACE_ALLOCATOR] = "allocator",
        };

        if (x->kind == GROUP_ABOVE_ALL)
                return "all";
        return p ? place_kinds[p->kind] : "blocks";
}
