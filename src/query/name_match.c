/* SPDX-License-Identifier: MIT */
#include "query/name_match.h"

#include <string.h>

#include "query/query_internal.h"

struct name_match name_match_begin(struct query *q, enum filter_name name,
                                   struct pattern *pattern) {
        return (struct name_match){.q = q,
                                   .name = name,
                                   .pattern = pattern,
                                   .wants_places = pattern && strstr(pattern_text(pattern), "0x")};
}

void name_match_done(struct name_match *m) {
        map_done(&m->known);
}

static bool text_matches(struct name_match *m, const char *text) {
        uint64_t *known;
        bool added;

        if (!text[0])
                return false;
        known = map_put(&m->known, (uint64_t)(uintptr_t)text, 0, &added);
        if (added)
                *known = pattern_matches(m->pattern, text);
        return *known;
}

/* The nearest symbol is mostly another function, and nobody is shown it: as good as no name. */
static const char *frame_text(const struct name_match *m, const struct query_frame *f) {
        switch (m->name) {
        case FILTER_FUNCTION:
        case FILTER_ASKED_BY: return f->guess ? "" : f->function;
        case FILTER_MODULE: return f->module;
        case FILTER_FILE: return f->file;
        case FILTER_SITE: break;
        }
        return "";
}

/* Code without a name is known by its place, as reports show it. */
bool name_match_frame(struct name_match *m, const struct query_frame *f) {
        bool is_function = m->name == FILTER_FUNCTION || m->name == FILTER_ASKED_BY;
        struct name_frame frame = {f->function, f->file, f->module, f->offset, 0, false, f->guess};

        bool is_nameless = !f->function[0] || f->guess;

        if ((m->wants_places || m->with_labels) && is_function && is_nameless)
                return pattern_matches(m->pattern, name_label(query_names(m->q), &frame, false));
        return text_matches(m, frame_text(m, f)) ||
               (m->with_labels && is_function &&
                text_matches(m, name_short(query_names(m->q), f->function)));
}

bool name_match_location(struct name_match *m, uint32_t location) {
        size_t n = query_location_frames(m->q, location, NULL, 0);

        for (size_t i = 0; i < n; i++) {
                struct query_frame f = query_location_frame(m->q, location, i);

                if (name_match_frame(m, &f))
                        return true;
        }
        return false;
}
