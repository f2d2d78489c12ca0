/* SPDX-License-Identifier: MIT */
#include "show/style.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/visible.h"

enum {
        STYLE_MIN_WIDTH = 60,
        STYLE_MAX_WIDTH = 240,
        STYLE_PIPE_WIDTH = 80,
        STYLE_PROSE_WIDTH = 120,
        STYLE_MAX_CELL_BYTES = 16 /* characters of no width are put upon one another */
};

size_t style_columns(FILE *out) {
        const char *columns = getenv("COLUMNS");
        struct winsize w;
        long n = columns ? strtol(columns, NULL, 10) : 0;

        if (n <= 0 && ioctl(fileno(out), TIOCGWINSZ, &w) == 0)
                n = w.ws_col;
        if (n <= 0)
                n = STYLE_PIPE_WIDTH;
        return (size_t)MAX(n, STYLE_MIN_WIDTH);
}

/* Of the user's locale, without changing the program's. */
static bool locale_is_utf8(void) {
        locale_t l = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
        bool is = l && strcmp(nl_langinfo_l(CODESET, l), "UTF-8") == 0;

        if (l)
                freelocale(l);
        return is;
}

bool style_is_dumb(void) {
        const char *term = getenv("TERM");

        return term && (strcmp(term, "dumb") == 0 || strcmp(term, "unknown") == 0);
}

void style_init(struct style *s, FILE *out) {
        const char *no_color = getenv("NO_COLOR");

        *s = (struct style){.out = out,
                            .width = MIN(style_columns(out), (size_t)STYLE_MAX_WIDTH),
                            .utf8 = locale_is_utf8(),
                            .bold = "",
                            .dim = "",
                            .live = "",
                            .rss = "",
                            .alarm = "",
                            .plain = ""};
        if (isatty(fileno(out)) != 1 || (no_color && no_color[0]) || style_is_dumb())
                return;
        s->bold = "\033[1m";
        s->dim = "\033[2m";
        s->live = "\033[36m";
        s->rss = "\033[33m";
        s->alarm = "\033[31m";
        s->plain = "\033[0m";
}

size_t style_width_n(const char *text, size_t n_bytes) {
        size_t cells = 0, n;

        for (size_t i = 0; i < n_bytes; i += n)
                cells += str_first_width(text + i, &n);
        return cells;
}

size_t style_width(const char *text) {
        size_t cells = 0, n;

        for (; *text; text += n) {
                if (*text == '\033')
                        n = strcspn(text, "m") + (strchr(text, 'm') != NULL);
                else
                        cells += str_first_width(text, &n);
        }
        return cells;
}

static bool is_unit(const char *text, size_t n) {
        static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "%",
                                            "s", "ms",  "us",  "ns",  "min", "h"};

        while (n && strchr(".,;:)", text[n - 1]))
                n--;
        for (size_t i = 0; i < ARRAY_SIZE(units); i++)
                if (strlen(units[i]) == n && strncmp(text, units[i], n) == 0)
                        return true;
        return false;
}

/* Bytes up to where the line may break: a number and its unit stay together. */
static size_t unbroken(const char *text) {
        size_t n = strcspn(text, " "), next;

        while (n && text[n] == ' ' && strchr("0123456789", text[n - 1])) {
                next = strcspn(text + n + 1, " ");
                if (!is_unit(text + n + 1, next))
                        break;
                n += 1 + next;
        }
        return n;
}

void style_add_clean(struct str *to, const char *text) {
        size_t begin = to->n;

        visible_add(to, text);
        while (to->n > begin && to->bytes[to->n - 1] == ' ')
                to->bytes[--to->n] = '\0';
}

/* Longer lines lose the eye. */
static size_t prose_width(const struct style *s) {
        return MIN(s->width, (size_t)STYLE_PROSE_WIDTH);
}

/* A word longer than the line is broken where that ends. Returns the column behind it. */
static size_t put_word(const struct style *s, const char *text, size_t n, size_t indent,
                       size_t at) {
        for (size_t i = 0, n_bytes; i < n; i += n_bytes) {
                size_t cells = str_first_width(text + i, &n_bytes);

                if (at + cells > prose_width(s)) {
                        fprintf(s->out, "\n%*s", (int)indent, "");
                        at = indent;
                }
                at += cells;
                fwrite(text + i, 1, n_bytes, s->out);
        }
        return at;
}

static void wrap_clean(const struct style *s, const char *text, size_t indent) {
        size_t at = indent;

        while (*text) {
                size_t n = unbroken(text), width = style_width_n(text, n);

                if (at > indent && at + 1 + width > prose_width(s)) {
                        fprintf(s->out, "\n%*s", (int)indent, "");
                        at = indent;
                } else if (at > indent) {
                        fputc(' ', s->out);
                        at++;
                }
                at = put_word(s, text, n, indent, at);
                text += n;
                while (*text == ' ')
                        text++;
        }
        fputc('\n', s->out);
}

void style_wrap(const struct style *s, const char *text, size_t indent) {
        struct str clean = {0};

        style_add_clean(&clean, text);
        wrap_clean(s, str_text(&clean), indent);
        str_done(&clean);
}

void style_heading(const struct style *s, const char *fmt, ...) {
        char text[512];
        va_list args;

        va_start(args, fmt);
        vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        fprintf(s->out, "\n%s", s->bold);
        style_wrap(s, text, 0);
        fputs(s->plain, s->out);
}

/* Bytes of the longest beginning of text that takes at most `cells` of them, with what stands upon its last letter. */
static size_t head_bytes(const char *text, size_t cells) {
        size_t i = 0, n, width, most = cells;

        for (; text[i]; i += n) {
                width = str_first_width(text + i, &n);
                /* SIZE_MAX cells: as many as there are */
                if (width > cells || i / STYLE_MAX_CELL_BYTES > most)
                        break;
                cells -= width;
        }
        return i;
}

/* Where its longest end begins that takes at most `cells` of them. */
static size_t tail_off(const char *text, size_t cells) {
        size_t have = str_width(text), i = 0, n;

        for (; have > cells; i += n)
                have -= str_first_width(text + i, &n);
        return i;
}

void style_add_cut(const struct style *s, struct str *to, const char *text, size_t width) {
        const char *dots = s->utf8 ? "…" : "..";
        size_t have = str_width(text), n_dots = str_width(dots), tail;

        if (have <= width || width <= n_dots) {
                str_addn(to, text, head_bytes(text, width));
                return;
        }
        tail = (width - n_dots) / 2;
        str_addn(to, text, head_bytes(text, width - n_dots - tail));
        str_add(to, dots);
        str_add(to, text + tail_off(text, tail));
}

void style_pad_to(struct str *to, size_t begin, size_t width) {
        size_t have = str_width(str_text(to) + begin);

        if (have < width)
                str_pad(to, ' ', width - have);
}
