/* SPDX-License-Identifier: MIT */
#include "show/frame.h"

#include <string.h>

#include "query/spent_time.h"
#include "show/style.h"

const char *frame_base(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

struct name_frame frame_of(const struct query_frame *f) {
        return (struct name_frame){f->function, f->file,    f->module, f->offset,
                                   f->line,     f->inlined, f->guess};
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static bool stack_add(void *ctx, const struct query_frame *f) {
        struct frame_stack *s = ctx;

        vec_push(&s->frames, frame_of(f));
        return true;
}

void frame_stack_fill(struct frame_stack *s, const struct frame_names *n, uint32_t stack,
                      bool full) {
        vec_clear(&s->frames);
        query_each_frame(n->q, stack, stack_add, s);
        if (!full && !n->is_of_time && !query_is_of_weights(n->q)) {
                name_fold(n->names, s->frames.items, s->frames.n, &s->shown);
                return;
        }
        s->shown.n = 0;
        s->shown.via_idx = NAME_NO_FRAME;
        for (size_t i = 0; i < s->frames.n; i++)
                vec_push(&s->shown, (struct name_shown){(uint32_t)i, false});
}

void frame_stack_done(struct frame_stack *s) {
        vec_free(&s->frames);
        name_stack_done(&s->shown);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Short names have an ellipsis that not every output can show. */
static void add_ascii(struct str *to, const char *text) {
        static const char ellipsis[] = "…";
        const char *at;

        for (; (at = strstr(text, ellipsis)); text = at + strlen(ellipsis)) {
                str_addn(to, text, (size_t)(at - text));
                str_add(to, "..");
        }
        str_add(to, text);
}

void frame_add_function(struct str *to, const struct frame_names *n, const struct name_frame *f,
                        bool is_task, bool full, bool utf8) {
        struct str name = {0};

        if (full && f->function[0])
                str_addf(&name, "%s%s", f->function, !f->guess ? "" : utf8 ? " ≈" : " ~");
        else if (utf8)
                str_add(&name, name_label(n->names, f, is_task));
        else
                add_ascii(&name, name_label(n->names, f, is_task));
        style_add_clean(to, str_text(&name));
        str_done(&name);
}

bool frame_is_unnamed(const struct name_frame *f) {
        return (!f->function[0] || f->guess) && f->module[0];
}

void frame_add_next(struct str *to, const struct frame_names *n, const struct name_frame *f,
                    bool is_task, bool utf8, const char **module) {
        struct str name = {0};
        const char *plus;

        frame_add_function(&name, n, f, is_task, false, utf8);
        plus = strrchr(str_text(&name), '+');
        if (frame_is_unnamed(f) && *module && plus && strcmp(*module, f->module) == 0)
                str_add(to, plus);
        else
                str_add(to, str_text(&name));
        if (frame_is_unnamed(f))
                *module = f->module;
        str_done(&name);
}

void frame_add_place(struct str *to, const struct name_frame *f, bool full) {
        if (f->file[0]) {
                style_add_clean(to, full ? f->file : frame_base(f->file));
                if (f->line)
                        str_addf(to, ":%u", f->line);
        } else if (f->module[0] && f->function[0] && !(f->guess && !full)) {
                style_add_clean(to, full ? f->module : frame_base(f->module));
        }
}
