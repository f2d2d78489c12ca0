/* SPDX-License-Identifier: MIT */
#include "request/testing/random_request.h"

#include <stdbool.h>
#include <string.h>

#include "base/macros.h"

static uint64_t draw(uint64_t *state) {
        uint64_t x = (*state += 0x9e3779b97f4a7c15);

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
}

static size_t below(uint64_t *state, size_t n) {
        return (size_t)(draw(state) % n);
}

#define ONE_OF(state, texts) texts[below(state, ARRAY_SIZE(texts))]

static void put(struct random_request *r, const char *key, const char *value) {
        if (r->n < RANDOM_REQUEST_MAX)
                r->pairs[r->n++] = (struct random_pair){key, value};
}

static const char *const early[] = {"0",     "1us",    "0.5ms",     "250us", "@start",
                                    "@warm", "@a b&c", "2000000ns", "@twice"};
static const char *const late[] = {"@end", "@peak", "20ms",   "1.5ms",
                                   "4ms",  "1h",    "@late%", "0.003"};
static const char *const metrics[] = {"peak", "end", "allocated", "count", "temporary", "growth"};
static const char *const groups[] = {"site",      "function", "module", "line",   "crate",
                                     "component", "thread",   "size",   "process"};
static const char *const functions[] = {"f1",  "^f[0-9]$",   "main",   "a'b \"c\"", "operator<<|f3",
                                        "f2+", "\xc3\xa4|f", "%41|f5", "x&y=z?#"};
static const struct random_pair filters[] = {
        {"function", "f[1-5]"},  {"function", "a b"},        {"not-function", "^f7$"},
        {"module", "lib|bin"},   {"not-module", "libz\\."},  {"file", "\\.cc$"},
        {"not-file", "x&y"},     {"asked-by", "f"},          {"not-asked-by", "f9"},
        {"site", "1"},           {"not-site", "2,1"},        {"thread", "0,1"},
        {"thread", "work.*"},    {"size", "1..500"},         {"size", "64"},
        {"size", "..1K"},        {"lifetime", "..1ms"},      {"lifetime", "100us.."},
        {"older-than", "10us"},  {"allocated", "1us..@end"}, {"allocated", "..@warm"},
        {"alive-at", "@peak"},   {"alive-at", "1ms"},        {"freed-before", "@end"},
        {"freed-before", "3ms"},
};

static void put_shape(struct random_request *r, uint64_t *state) {
        static const char *const histograms[] = {"size", "lifetime"};
        static const char *const shares[] = {"0", "0.1", "12.5", "100", "3.333333333333333"};
        bool is_tree = false;

        switch (below(state, 10)) {
        case 0: put(r, "group-by", ONE_OF(state, groups)); break;
        case 1:
                put(r, "tree", NULL);
                is_tree = true;
                break;
        case 2:
                put(r, "bottom-up", NULL);
                is_tree = true;
                break;
        case 3:
                put(r, "callers", ONE_OF(state, functions));
                is_tree = true;
                break;
        case 4:
                put(r, "callees", ONE_OF(state, functions));
                is_tree = true;
                break;
        case 5: put(r, "histogram", ONE_OF(state, histograms)); break;
        case 6: put(r, "blocks", NULL); break;
        case 7: put(r, "group-by", ONE_OF(state, groups)); break;
        default: break;
        }
        if (is_tree && below(state, 2))
                put(r, "min-share", ONE_OF(state, shares));
        if (is_tree && below(state, 3) == 0)
                put(r, "depth", below(state, 2) ? "1" : "4");
}

void random_request_draw(struct random_request *r, uint64_t seed) {
        static const char *const processes[] = {"main", "all", "100", "100.1", "no such"};
        static const char *const tops[] = {"0", "1", "3", "1000000"};
        uint64_t state = seed;

        *r = (struct random_request){0};
        if (below(&state, 3) == 0)
                put(r, "process", ONE_OF(&state, processes));
        if (below(&state, 3) == 0)
                put(r, "from", ONE_OF(&state, early));
        if (below(&state, 3) == 0)
                put(r, below(&state, 2) ? "to" : "at", ONE_OF(&state, late));
        for (size_t n = below(&state, 4); n > 0; n--) {
                size_t i = below(&state, ARRAY_SIZE(filters));

                put(r, filters[i].key, filters[i].value);
        }
        put_shape(r, &state);
        if (below(&state, 2))
                put(r, "by", ONE_OF(&state, metrics));
        if (below(&state, 3) == 0)
                put(r, "top", ONE_OF(&state, tops));
        if (below(&state, 4) == 0)
                put(r, "full", NULL);
        /* in any order */
        for (size_t i = r->n; i > 1; i--) {
                size_t k = below(&state, i);
                struct random_pair p = r->pairs[k];

                r->pairs[k] = r->pairs[i - 1];
                r->pairs[i - 1] = p;
        }
}
