/* SPDX-License-Identifier: MIT */
#include "name/path_pattern.h"

/* ---- parts ----------------------------------------------------------------------------------- */

bool pattern_glob_fits(const char *glob, size_t glob_n, const char *text, size_t text_n) {
        size_t g = 0, t = 0, star = SIZE_MAX, star_t = 0;

        /* Only the last `*` is ever tried again: an earlier one could do nothing that it cannot. */
        while (t < text_n) {
                if (g < glob_n && glob[g] == '*') {
                        star = g++;
                        star_t = t;
                } else if (g < glob_n && glob[g] == text[t]) {
                        g++;
                        t++;
                } else if (star != SIZE_MAX) {
                        g = star + 1;
                        t = ++star_t;
                } else {
                        return false;
                }
        }
        while (g < glob_n && glob[g] == '*')
                g++;
        return g == glob_n;
}

/* The end of the part that begins at text: the next `::`, or the end of all. */
static const char *part_end(const char *text, const char *end) {
        const char *colon = text;

        while ((colon = memchr(colon, ':', (size_t)(end - colon))) && colon + 1 < end) {
                if (colon[1] == ':')
                        return colon;
                colon++;
        }
        return end;
}

static uint64_t child_key(uint32_t parent, const char *part, size_t n) {
        uint64_t hash = 0xcbf29ce484222325ull ^ map_hash(parent + 1);

        for (size_t i = 0; i < n; i++)
                hash = (hash ^ (unsigned char)part[i]) * 1099511628211ull;
        return hash;
}

/* ---- the tree -------------------------------------------------------------------------------- */

void patterns_init(struct patterns *p) {
        *p = (struct patterns){0};
        (void)vec_add(&p->nodes);
}

void patterns_done(struct patterns *p) {
        vec_free(&p->nodes);
        vec_free(&p->stamps);
        vec_free(&p->now);
        vec_free(&p->next);
        map_done(&p->children);
}

static uint32_t literal_child(const struct patterns *p, uint32_t parent, const char *part,
                              size_t n) {
        const struct pattern_node *node;
        uint64_t child;

        if (!map_get(&p->children, child_key(parent, part, n), &child))
                return PATTERN_NO_NODE;
        node = &p->nodes.items[child]; /* hashes of names from outside may be equal by design */
        return node->part_n == n && memcmp(node->part, part, n) == 0 ? (uint32_t)child
                                                                     : PATTERN_NO_NODE;
}

static uint32_t node_new(struct patterns *p, const char *part, size_t n) {
        vec_push(&p->nodes, (struct pattern_node){.part = part, .part_n = n});
        return (uint32_t)(p->nodes.n - 1);
}

static uint32_t add_any(struct patterns *p, uint32_t parent) {
        uint32_t child;

        if (p->nodes.items[parent].is_any) /* a::**::** is a::** */
                return parent;
        if (p->nodes.items[parent].any)
                return p->nodes.items[parent].any;
        child = node_new(p, "**", 2);
        p->nodes.items[child].is_any = true;
        p->nodes.items[parent].any = child;
        return child;
}

static uint32_t add_glob(struct patterns *p, uint32_t parent, const char *part, size_t n) {
        uint32_t child;

        for (child = p->nodes.items[parent].first_glob; child;
             child = p->nodes.items[child].next_glob)
                if (p->nodes.items[child].part_n == n &&
                    memcmp(p->nodes.items[child].part, part, n) == 0)
                        return child;
        child = node_new(p, part, n);
        p->nodes.items[child].next_glob = p->nodes.items[parent].first_glob;
        p->nodes.items[parent].first_glob = child;
        return child;
}

static uint32_t add_literal(struct patterns *p, uint32_t parent, const char *part, size_t n) {
        uint32_t child = literal_child(p, parent, part, n);
        bool added;

        if (child == PATTERN_NO_NODE) {
                child = node_new(p, part, n);
                *map_put(&p->children, child_key(parent, part, n), child, &added) = child;
        }
        return child;
}

const char *patterns_add(struct patterns *p, const char *text, size_t n, uint32_t *ret_node) {
        const char *end = text + n, *part = text, *stop;
        uint32_t node = PATTERN_ROOT;

        for (unsigned n_parts = 0;; part = stop + 2) {
                const char *star;
                size_t part_n;

                stop = part_end(part, end);
                part_n = (size_t)(stop - part);
                if (part_n == 0)
                        return "a part of the path is empty";
                if (++n_parts > PATTERN_MAX_PARTS)
                        return "the path has too many parts";
                star = memchr(part, '*', part_n);
                if (!star)
                        node = add_literal(p, node, part, part_n);
                else if (part_n == 2 && memcmp(part, "**", 2) == 0)
                        node = add_any(p, node);
                else if (memmem(part, part_n, "**", 2))
                        return "'**' must be a whole part: write it between '::'";
                else if (part_n == 9 && memcmp(part, "operator*", 9) == 0)
                        node = add_literal(p, node, part, part_n);
                else
                        node = add_glob(p, node, part, part_n);
                if (stop == end)
                        break;
        }
        *ret_node = node;
        return NULL;
}

/* ---- matching -------------------------------------------------------------------------------- */

static void enter(struct patterns *p, uint32_t node) {
        if (p->stamps.items[node] == p->stamp)
                return;
        p->stamps.items[node] = p->stamp;
        vec_push(&p->next, node);
        if (p->nodes.items[node].any)
                enter(p, p->nodes.items[node].any); /* for no parts at all; it has no such child */
}

static void step(struct patterns *p, uint32_t from, const char *part, size_t n) {
        uint32_t child = literal_child(p, from, part, n);

        if (child != PATTERN_NO_NODE)
                enter(p, child);
        for (child = p->nodes.items[from].first_glob; child;
             child = p->nodes.items[child].next_glob)
                if (pattern_glob_fits(p->nodes.items[child].part, p->nodes.items[child].part_n,
                                      part, n))
                        enter(p, child);
        if (p->nodes.items[from].is_any)
                enter(p, from);
}

static void begin_step(struct patterns *p) {
        __typeof__(p->now) old = p->now;

        p->now.items = p->next.items;
        p->now.n = p->next.n;
        p->now.cap = p->next.cap;
        p->next.items = old.items;
        p->next.n = 0;
        p->next.cap = old.cap;
        p->stamp++;
}

void patterns_match(struct patterns *p, const char *path, pattern_fn fn, void *ctx) {
        const char *end = path + strlen(path), *stop;

        while (p->stamps.n < p->nodes.n)
                vec_push(&p->stamps, 0);
        p->next.n = 0;
        p->stamp++;
        enter(p, PATTERN_ROOT);
        for (const char *part = path; part < end && p->next.n; part = stop + 2) {
                stop = part_end(part, end);
                begin_step(p);
                for (size_t i = 0; i < p->now.n; i++)
                        step(p, p->now.items[i], part, (size_t)(stop - part));
                if (stop == end)
                        break;
        }
        for (size_t i = 0; i < p->next.n; i++)
                if (p->nodes.items[p->next.items[i]].value)
                        fn(ctx, p->next.items[i]);
}

uint32_t patterns_step(const struct patterns *p, uint32_t node, const char *part, size_t n) {
        uint32_t child;

        if (node == PATTERN_NO_NODE)
                return PATTERN_NO_NODE;
        child = literal_child(p, node, part, n);
        if (child != PATTERN_NO_NODE)
                return child;
        for (child = p->nodes.items[node].first_glob; child;
             child = p->nodes.items[child].next_glob)
                if (pattern_glob_fits(p->nodes.items[child].part, p->nodes.items[child].part_n,
                                      part, n))
                        return child;
        return PATTERN_NO_NODE;
}
