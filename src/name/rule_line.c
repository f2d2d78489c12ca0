/* SPDX-License-Identifier: MIT */
#include "name/rule_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/macros.h"
#include "name/path_pattern.h"

bool rule_is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r';
}

struct rule_span rule_trim(struct rule_span s) {
        while (s.n && rule_is_blank(s.p[0])) {
                s.p++;
                s.n--;
        }
        while (s.n && rule_is_blank(s.p[s.n - 1]))
                s.n--;
        return s;
}

bool rule_span_is(struct rule_span s, const char *text) {
        return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

struct rule_span rule_take_word(struct rule_span *rest) {
        struct rule_span word = *rest;

        for (word.n = 0; word.n < rest->n && !rule_is_blank(rest->p[word.n]);)
                word.n++;
        rest->p += word.n;
        rest->n -= word.n;
        *rest = rule_trim(*rest);
        return word;
}

const char *rule_find_last(struct rule_span s, const char *text) {
        size_t n = strlen(text);

        for (size_t i = s.n >= n ? s.n - n + 1 : 0; i > 0; i--)
                if (s.p[i - 1] == text[0] && memcmp(s.p + i - 1, text, n) == 0)
                        return s.p + i - 1;
        return NULL;
}

bool rule_has_arguments(struct rule_span pattern) {
        size_t is_trait = pattern.n && pattern.p[0] == '<';
        const char *bracket = memchr(pattern.p + is_trait, '<', pattern.n - is_trait);
        struct rule_span before = {pattern.p, bracket ? (size_t)(bracket - pattern.p) : 0};

        return bracket && !rule_find_last(before, "operator");
}

/* ---- where a rule applies -------------------------------------------------------------------- */

/* Cuts what stands behind word off, and the word; NULL: it is not there. */
static const char *take_behind(struct arena *a, struct rule_span *rest, const char *word) {
        const char *at = rule_find_last(*rest, word);
        struct rule_span behind;

        if (!at)
                return NULL;
        behind.p = at + strlen(word);
        behind.n = (size_t)(rest->p + rest->n - behind.p);
        behind = rule_trim(behind);
        *rest = rule_trim((struct rule_span){rest->p, (size_t)(at - rest->p)});
        return arena_strndup(a, behind.p, behind.n);
}

const char *rule_take_place(struct arena *a, struct rule_span rest, struct rule_place *ret) {
        const char *file = take_behind(a, &rest, " at ");
        const char *module = take_behind(a, &rest, " in ");

        if (module && strchr(module, '/'))
                return "a module is named by its file name: leave out the directory";
        if (rule_has_arguments(rest))
                return "patterns cannot contain template arguments: leave out '<' and everything after it";
        *ret = (struct rule_place){rest, module, file};
        return NULL;
}

bool rule_glob_fits(const char *glob, const char *text) {
        return !glob || pattern_glob_fits(glob, strlen(glob), text, strlen(text));
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The line without its comment; n is SIZE_MAX when it is no text. */
static struct rule_span without_comment(struct rule_span s) {
        for (size_t i = 0; i < s.n; i++) {
                char c = s.p[i];

                if ((unsigned char)c < ' ' && !rule_is_blank(c))
                        return (struct rule_span){s.p, SIZE_MAX};
                if (c == '#' && (i == 0 || rule_is_blank(s.p[i - 1])))
                        s.n = i;
        }
        return s;
}

static const char *tell_line(struct rule_span line, rule_line_fn fn, void *ctx) {
        if (line.n > RULE_MAX_LINE_BYTES)
                return "the line is too long";
        line = without_comment(line);
        if (line.n == SIZE_MAX)
                return "the line is not text";
        line = rule_trim(line);
        return line.n ? fn(ctx, line) : NULL;
}

int rule_each_line(const char *what, const char *where, const char *text, size_t n, rule_line_fn fn,
                   void *ctx, struct err *reterr) {
        const char *end = text + n;

        for (unsigned number = 1; text < end; number++) {
                const char *stop = memchr(text, '\n', (size_t)(end - text));
                const char *why;

                if (!stop)
                        stop = end;
                why = tell_line((struct rule_span){text, (size_t)(stop - text)}, fn, ctx);
                if (why)
                        return err_set(reterr, -EINVAL, "%s: %s:%u: %s", what, where, number, why);
                text = stop + 1;
        }
        return 0;
}

int rule_each_line_of_file(const char *what, const char *path, rule_line_fn fn, void *ctx,
                           struct err *reterr) {
        _cleanup_free_ char *text = malloc(RULE_MAX_FILE_BYTES + 1);
        _cleanup_close_ int fd = -1;
        struct stat st;
        size_t n = 0;
        ssize_t got;

        if (!text)
                abort();
        fd = fs_open(path, O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0)
                return err_set_errno(reterr, fd, "%s: cannot open '%s'", what, path);
        /* nobody waits for whoever may write into it, so it would seem to be empty */
        if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode))
                return err_set(reterr, -ESPIPE, "%s: '%s' is a pipe", what, path);
        while (n <= RULE_MAX_FILE_BYTES) {
                got = fs_read_some(fd, text + n, RULE_MAX_FILE_BYTES + 1 - n);
                if (got < 0)
                        return err_set_errno(reterr, (int)got, "%s: cannot read '%s'", what, path);
                if (got == 0)
                        return rule_each_line(what, path, text, n, fn, ctx, reterr);
                n += (size_t)got;
        }
        return err_set(reterr, -EFBIG,
                       "%s: '%s' is larger than 1 MiB, so it is not a file of rules", what, path);
}
