/* SPDX-License-Identifier: MIT */
#include "export/site_frame.h"

struct frame_wanted {
        size_t left;
        struct query_frame frame;
};

static bool look(void *ctx, const struct query_frame *f) {
        struct frame_wanted *w = ctx;

        if (w->left-- > 0)
                return true;
        w->frame = *f;
        if (f->guess)
                w->frame.function = "";
        return false;
}

struct query_frame site_frame(struct query *q, uint32_t stack) {
        struct frame_wanted w = {.left = query_requester(q, stack),
                                 .frame = {.function = "", .file = "", .module = ""}};

        if (w.left != SIZE_MAX)
                query_each_frame(q, stack, look, &w);
        return w.frame;
}
