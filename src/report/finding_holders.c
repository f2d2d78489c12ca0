/* SPDX-License-Identifier: MIT */
#include "report/finding_holders.h"

#include <stdlib.h>
#include <string.h>

#include "keep/held_by.h"

static bool may_have_holder(const struct finding *f) {
        return f->has_site && (strcmp(f->kind, "growing") == 0 || strcmp(f->kind, "leak") == 0);
}

/* The graph is read for them alone, so not where there are none. */
void finding_holders_find(struct finding_holders *h, const struct report *r, bool utf8) {
        struct held_by *by = NULL;

        *h = (struct finding_holders){.of = calloc(MAX(r->findings->n, (size_t)1), sizeof(char *)),
                                      .n = r->findings->n};
        if (!h->of)
                abort();
        for (size_t i = 0; i < h->n; i++) {
                const struct finding *f = &r->findings->items[i];
                struct str text = {0};

                if (!may_have_holder(f))
                        continue;
                if (!by)
                        by = held_by_new(r->q, &r->frames, r->answer->scope.process);
                if (!by)
                        return;
                if (held_by_add(by, f->site.stack, utf8, &text))
                        h->of[i] = strdup(str_text(&text));
                str_done(&text);
        }
        held_by_free(by);
}

void finding_holders_done(struct finding_holders *h) {
        for (size_t i = 0; i < h->n; i++)
                free(h->of[i]);
        free(h->of);
        *h = (struct finding_holders){0};
}
