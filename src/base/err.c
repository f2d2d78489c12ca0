/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/visible.h"

/* In place, so what may not be shown becomes one letter, not an escape. */
void err_make_one_line(char *text) {
        size_t n_left = strlen(text), n_shown;
        char shown[VISIBLE_MAX], *to = text;

        while (n_left) {
                size_t n = visible_first(text, n_left, shown, &n_shown);

                if (n_shown == n && memcmp(shown, text, n) == 0) {
                        memmove(to, text, n);
                        to += n;
                } else {
                        *to++ = '?';
                }
                text += n;
                n_left -= n;
        }
        *to = '\0';
}

static void err_fill(struct err *e, int code, const char *fmt, va_list args) {
        e->code = code;
        e->key = NULL;
        if (vsnprintf(e->text, sizeof(e->text), fmt, args) < 0)
                e->text[0] = 0;
        err_make_one_line(e->text);
}

int err_set(struct err *e, int code, const char *fmt, ...) {
        va_list args;

        if (!e)
                return code;
        va_start(args, fmt);
        err_fill(e, code, fmt, args);
        va_end(args);
        return code;
}

int err_set_errno(struct err *e, int code, const char *fmt, ...) {
        va_list args;
        size_t used;

        if (!e)
                return code;
        va_start(args, fmt);
        err_fill(e, code, fmt, args);
        va_end(args);
        used = strlen(e->text);
        snprintf(e->text + used, sizeof(e->text) - used, ": %s", strerror(-code));
        return code;
}

int err_about(struct err *e, const char *key, int code) {
        if (e)
                e->key = key;
        return code;
}

int err_within(struct err *e, const char *subject, const struct err *why) {
        return err_about(e, why->key, err_set(e, why->code, "%s: %s", subject, why->text));
}
