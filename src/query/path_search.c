/* SPDX-License-Identifier: MIT */
#include "query/path_search.h"

#include <stdlib.h>

#include "query/name_match.h"
#include "query/query_internal.h"

enum { UNKNOWN, HAS_NOT, HAS }; /* of a byte of the tables; unknown is 0 */

struct path_search {
        struct name_match match;
        struct pattern *pattern;
        uint8_t *stacks, *locations; /* what is known of each */
        size_t n_stacks, n_locations;
};

struct path_search *path_search_free(struct path_search *s) {
        if (!s)
                return NULL;
        name_match_done(&s->match);
        pattern_free(s->pattern);
        free(s->stacks);
        free(s->locations);
        free(s);
        return NULL;
}

int path_search_new(struct query *q, const char *pattern, struct path_search **ret,
                    struct err *reterr) {
        struct path_search *s;
        struct pattern *p;
        int r = pattern_new(pattern, &p, reterr);

        if (r < 0)
                return r;
        s = calloc(1, sizeof(*s));
        if (!s)
                abort();
        *s = (struct path_search){.match = name_match_begin(q, FILTER_FUNCTION, p),
                                  .pattern = p,
                                  .stacks = calloc(q->view->n_stacks + 1, 1),
                                  .locations = calloc(q->view->n_locations + 1, 1),
                                  .n_stacks = q->view->n_stacks,
                                  .n_locations = q->view->n_locations};
        if (!s->stacks || !s->locations)
                abort();
        *ret = s;
        return 0;
}

const char *path_search_text(const struct path_search *s) {
        return pattern_text(s->pattern);
}

void path_search_with_labels(struct path_search *s) {
        s->match.with_labels = true;
}

bool path_search_has_frame(struct path_search *s, const struct query_frame *f) {
        return name_match_frame(&s->match, f);
}

static bool has_location(struct path_search *s, uint32_t location) {
        if (location >= s->n_locations)
                return false;
        if (s->locations[location] == UNKNOWN)
                s->locations[location] = name_match_location(&s->match, location) ? HAS : HAS_NOT;
        return s->locations[location] == HAS;
}

int path_search_has(struct path_search *s, uint32_t stack, struct err *reterr) {
        const struct trace_stack *stacks = s->match.q->view->stacks;
        uint8_t found = HAS_NOT;
        uint32_t at = stack;
        int r;

        if (stack >= s->n_stacks)
                return 0;
        if (s->stacks[stack] != UNKNOWN)
                return s->stacks[stack] == HAS;
        /* outwards to where it is known; callers have smaller numbers, else the file is damaged. 0 has no frames */
        while (at > 0) {
                if (s->stacks[at] != UNKNOWN || has_location(s, stacks[at].location)) {
                        found = s->stacks[at] != UNKNOWN ? s->stacks[at] : HAS;
                        break;
                }
                if (stacks[at].parent >= at)
                        break;
                at = stacks[at].parent;
        }
        r = pattern_check(s->pattern, reterr);
        if (r < 0)
                return r;
        /* where it was found holds for those it called, and where it was not for all on the way */
        for (uint32_t i = stack;; i = stacks[i].parent) {
                s->stacks[i] = found;
                if (i == at || stacks[i].parent >= i)
                        break;
        }
        return found == HAS;
}
