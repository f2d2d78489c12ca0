/* SPDX-License-Identifier: MIT */
#include "query/testing/brute_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

enum { MAX_FRAMES = 4096 };

struct frames {
        struct name_frame f[MAX_FRAMES];
        uint32_t location[MAX_FRAMES];
        size_t n;
};

static void list_frames(const struct trace_view *v, uint32_t stack, struct frames *ret) {
        ret->n = 0;
        for (; stack != 0; stack = v->stacks[stack].parent) {
                uint32_t location = v->stacks[stack].location;
                const struct trace_location *l = &v->locations[location];
                const char *module = l->module < v->n_modules ? v->modules[l->module].path : "";
                unsigned n_symbols = 0;

                for (size_t i = 0; i < v->n_symbols; i++) {
                        const struct trace_symbol *s = &v->symbols[i];

                        if (s->location != location)
                                continue;
                        ret->location[ret->n] = location;
                        n_symbols++;
                        ret->f[ret->n] =
                                (struct name_frame){s->function, s->file,    module,  l->offset,
                                                    s->line,     s->inlined, s->guess};
                        if (trace_symbol_begin(s, &ret->f[ret->n].offset)) {
                                ret->f[ret->n].function = "";
                                ret->f[ret->n].guess = false;
                        }
                        ret->n++;
                }
                if (n_symbols)
                        continue;
                ret->location[ret->n] = location;
                ret->f[ret->n++] = (struct name_frame){"", "", module, l->offset, 0, false, false};
        }
}

static char *text_of(struct names *names, const struct name_frame *f, uint32_t location,
                     enum brute_by by) {
        bool named = f->function[0] && !f->guess;
        struct str s = {0};
        char *text;

        if (by == BRUTE_MODULE) {
                str_addf(&s, "module %s", f->module);
        } else if (by == BRUTE_CRATE) {
                str_addf(&s, "crate %s", name_crate(names, named ? f->function : "", f->module));
        } else if (by == BRUTE_COMPONENT) {
                struct name_component c = name_component(names, f);

                str_addf(&s, "%scomponent %s", c.passes_on ? BRUTE_PASSES : "", c.name);
        } else if (by == BRUTE_ADDRESS) {
                str_addf(&s, "at %u %s %s:%u %d", location, f->function, f->file, f->line,
                         f->inlined);
        } else if (by == BRUTE_SOURCE_LINE && f->file[0] && f->line) {
                str_addf(&s, "line %s:%u", f->file, f->line);
        } else {
                if (named)
                        str_addf(&s, "function %s in %s", f->function, f->module);
                else
                        str_addf(&s, "place %llu in %s", (unsigned long long)f->offset, f->module);
                if (by == BRUTE_FRAME_LINE && f->file[0] && f->line)
                        str_addf(&s, " at %s:%u", f->file, f->line);
                else if (by == BRUTE_FRAME_LINE)
                        str_addf(&s, " at %u %s %u", location, f->file, f->line);
        }
        text = strdup(str_text(&s));
        str_done(&s);
        return text;
}

static void path_add(struct brute_path *p, char *text) {
        p->texts = realloc(p->texts, (p->n + 1) * sizeof(char *));
        p->texts[p->n++] = text;
}

/* Whether a frame is shown. */
static void mark_shown(struct names *names, const struct frames *frames, bool is_full,
                       bool *ret_shown) {
        struct name_stack folded = {0};

        memset(ret_shown, is_full, frames->n);
        if (!is_full && frames->n) {
                name_fold(names, frames->f, frames->n, &folded);
                for (size_t i = 0; i < folded.n; i++)
                        ret_shown[folded.items[i].frame_idx] = true;
        }
        name_stack_done(&folded);
}

struct brute_path brute_path(struct names *names, const struct trace_view *v, uint32_t stack,
                             enum brute_by by, bool is_full) {
        static struct frames frames;
        static bool shown[MAX_FRAMES];
        struct brute_path p = {0};

        list_frames(v, stack, &frames);
        mark_shown(names, &frames, is_full, shown);
        for (size_t i = 0; i < frames.n; i++)
                if (shown[i])
                        path_add(&p, text_of(names, &frames.f[i], frames.location[i], by));
        return p;
}

struct brute_path brute_path_from(struct names *names, const struct trace_view *v, uint32_t stack,
                                  enum brute_by by, bool is_full, const char *function,
                                  bool outwards) {
        static struct frames frames;
        static bool shown[MAX_FRAMES];
        struct brute_path p = {0};
        size_t at;

        list_frames(v, stack, &frames);
        mark_shown(names, &frames, is_full, shown);
        for (at = frames.n; at > 0; at--)
                if (!frames.f[at - 1].guess && strcmp(frames.f[at - 1].function, function) == 0)
                        break;
        if (at == 0)
                return p;
        p.has_function = true;
        at--;
        path_add(&p, text_of(names, &frames.f[at], frames.location[at], by));
        for (size_t i = outwards ? at + 1 : at; outwards ? i < frames.n : i > 0;
             i += outwards ? 1 : -1) {
                size_t k = outwards ? i : i - 1;

                if (shown[k])
                        path_add(&p, text_of(names, &frames.f[k], frames.location[k], by));
        }
        return p;
}

void brute_path_done(struct brute_path *p) {
        for (size_t i = 0; i < p->n; i++)
                free(p->texts[i]);
        free(p->texts);
        *p = (struct brute_path){0};
}

char *brute_frame_text(struct names *names, const struct query_frame *f, enum brute_by by) {
        struct name_frame n = {f->function, f->file,    f->module, f->offset,
                               f->line,     f->inlined, f->guess};

        return text_of(names, &n, f->location, by);
}

char *brute_path_text(const struct brute_path *p) {
        struct str s = {0};
        char *text;

        for (size_t i = 0; i < p->n; i++)
                str_addf(&s, "%s\n", p->texts[i]);
        text = strdup(str_text(&s));
        str_done(&s);
        return text;
}

void brute_path_keep_sites(const struct trace_view *v, const uint64_t *sites, unsigned n,
                           bool is_negated, bool *selected) {
        struct names *names;

        if (names_load(&(struct name_sources){0}, &names, NULL) < 0)
                abort();
        for (uint32_t i = 0; i < v->n_stacks; i++) {
                struct brute_path path = brute_path(names, v, i, BRUTE_FRAME_LINE, false);
                char *text = brute_path_text(&path);
                bool found = false;

                for (unsigned k = 0; k < n; k++) {
                        struct brute_path one =
                                brute_path(names, v, (uint32_t)sites[k], BRUTE_FRAME_LINE, false);
                        char *wanted = brute_path_text(&one);

                        found |= strcmp(wanted, text) == 0;
                        free(wanted);
                        brute_path_done(&one);
                }
                selected[i] &= found != is_negated;
                free(text);
                brute_path_done(&path);
        }
        names_free(names);
}
