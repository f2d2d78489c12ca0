/* SPDX-License-Identifier: MIT */
#include "keep/suppression.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"
#include "base/str.h"
#include "symbol/symbol.h"

enum {
        MAX_FRAMES = 500, /* of one entry: valgrind reads 24 of a call path, LSan all */
        MAX_ENTRIES = 100000,
        MAX_FILE_BYTES = 64 << 20,
        MAX_STEPS = 1 << 20, /* of one comparison: patterns with many "..." */
};

#define ALL_CLASSES ((1u << N_LEAK_CLASSES) - 1)

/* ---- reading ---------------------------------------------------------------------------------------------- */

struct lines {
        const char *at, *end, *path;
        unsigned number; /* of the line last taken */
};

struct line {
        const char *text;
        size_t n;
};

/* Without the blanks around it. */
static struct line trim(const char *text, size_t n) {
        while (n && (*text == ' ' || *text == '\t'))
                text++, n--;
        while (n && (text[n - 1] == ' ' || text[n - 1] == '\t' || text[n - 1] == '\r'))
                n--;
        return (struct line){text, n};
}

/* The next line that is neither empty nor a comment; false at the end. */
static bool next_line(struct lines *l, struct line *ret) {
        while (l->at < l->end) {
                const char *stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
                size_t n = (size_t)((stop ? stop : l->end) - l->at);

                *ret = trim(l->at, n);
                l->at += n + (stop != NULL);
                l->number++;
                if (ret->n && ret->text[0] != '#')
                        return true;
        }
        return false;
}

static bool is_text(struct line l, const char *text) {
        return l.n == strlen(text) && memcmp(l.text, text, l.n) == 0;
}

static bool takes_prefix(struct line *l, const char *prefix) {
        size_t n = strlen(prefix);

        if (l->n < n || memcmp(l->text, prefix, n) != 0)
                return false;
        *l = trim(l->text + n, l->n - n);
        return true;
}

static int refuse(const struct lines *l, const char *what, struct err *reterr) {
        return err_set(reterr, -EINVAL, "'%s', line %u: %s", l->path, l->number, what);
}

static int parse_kinds(struct line l, unsigned *ret) {
        static const struct {
                const char *word;
                unsigned classes;
        } words[] = {
                {"definite", 1u << LEAK_DEFINITE},
                {"indirect", 1u << LEAK_INDIRECT},
                {"possible", 1u << LEAK_POSSIBLE},
                {"reachable", 1u << LEAK_REACHABLE},
                {"all", ALL_CLASSES},
                {"none", 0},
        };

        *ret = 0;
        while (l.n) {
                const char *comma = memchr(l.text, ',', l.n);
                struct line word = trim(l.text, comma ? (size_t)(comma - l.text) : l.n);
                size_t i = 0;

                while (i < ARRAY_SIZE(words) && !is_text(word, words[i].word))
                        i++;
                if (i == ARRAY_SIZE(words))
                        return -EINVAL;
                *ret |= words[i].classes;
                l = comma ? trim(comma + 1, (size_t)(l.text + l.n - comma - 1)) : (struct line){0};
        }
        return 0;
}

static bool is_identifier(char c) {
        return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
               (c >= 'A' && c <= 'Z');
}

/* "_ZN4List3add*" begins with a scope or a function whose whole name is known: "List::add". NULL: it does not. */
static char *scope_of(const char *pattern) {
        size_t n = strlen(pattern), n_named = 0;
        const char *at = pattern + 2;
        struct str to = {0};
        char *readable;

        if (n < 4 || strncmp(pattern, "_Z", 2) != 0 || pattern[n - 1] != '*')
                return NULL;
        at += *at == 'N';
        at += *at == 'K' && at[-1] == 'N';
        while (*at >= '1' && *at <= '9') {
                size_t n_name = 0;

                while (*at >= '0' && *at <= '9' && n_name < n)
                        n_name = n_name * 10 + (size_t)(*at++ - '0');
                if (n_name > (size_t)(pattern + n - 1 - at) || memchr(at, '*', n_name) ||
                    memchr(at, '?', n_name))
                        break;
                str_addf(&to, "%s%.*s", n_named++ ? "::" : "", (int)n_name, at);
                at += n_name;
        }
        readable = n_named && at == pattern + n - 1 ? strdup(str_text(&to)) : NULL;
        str_done(&to);
        return readable;
}

/* What traces call the function. */
static void name_function(struct suppressions *s, struct suppression_frame *f) {
        bool is_mangled = strncmp(f->pattern, "_Z", 2) == 0 || strncmp(f->pattern, "_R", 2) == 0;

        if (!strpbrk(f->pattern, "*?")) {
                f->readable = symbol_demangle(f->pattern);
                return;
        }
        f->readable = scope_of(f->pattern);
        f->is_scope = f->readable;
        s->n_odd_names += is_mangled && !f->readable;
}

static bool parse_frame(struct suppressions *s, struct line l, struct suppression_frame *ret) {
        *ret = (struct suppression_frame){0};
        if (is_text(l, "...")) {
                ret->kind = SUPPRESSION_ANY_FRAMES;
                return true;
        }
        if (takes_prefix(&l, "fun:"))
                ret->kind = SUPPRESSION_FUNCTION;
        else if (takes_prefix(&l, "obj:"))
                ret->kind = SUPPRESSION_OBJECT;
        else if (takes_prefix(&l, "src:"))
                ret->kind = SUPPRESSION_SOURCE;
        else
                return false;
        ret->pattern = strndup(l.text, l.n);
        if (ret->pattern && ret->kind == SUPPRESSION_FUNCTION)
                name_function(s, ret);
        return ret->pattern != NULL;
}

static void frame_done(struct suppression_frame *f) {
        free(f->pattern);
        free(f->readable);
}

static void suppression_done(struct suppression *s) {
        for (size_t i = 0; i < s->frames.n; i++)
                frame_done(&s->frames.items[i]);
        vec_free(&s->frames);
        free(s->name);
}

static bool is_leak_of_memcheck(struct line l) {
        const char *colon = memchr(l.text, ':', l.n);
        const char *at = l.text;

        if (!colon || !is_text(trim(colon + 1, (size_t)(l.text + l.n - colon - 1)), "Leak"))
                return false;
        while (at < colon) { /* "Memcheck,Addrcheck:Leak" */
                const char *comma = memchr(at, ',', (size_t)(colon - at));
                const char *stop = comma ? comma : colon;

                if (is_text(trim(at, (size_t)(stop - at)), "Memcheck"))
                        return true;
                at = stop + 1;
        }
        return false;
}

/* One entry, its brace taken already. *ret_counts: it is about leaks. */
static int parse_entry(struct suppressions *to, struct lines *l, struct suppression *s,
                       bool *ret_counts, struct err *reterr) {
        struct line line;

        s->classes = ALL_CLASSES;
        if (!next_line(l, &line))
                return refuse(l, "an entry has no name", reterr);
        s->name = strndup(line.text, line.n);
        if (!next_line(l, &line) || is_text(line, "}"))
                return refuse(l, "an entry has no kind, such as 'Memcheck:Leak'", reterr);
        *ret_counts = is_leak_of_memcheck(line);
        while (next_line(l, &line)) {
                struct suppression_frame frame;

                if (is_text(line, "}"))
                        return s->frames.n || !*ret_counts
                                       ? 0
                                       : refuse(l, "an entry names no call path", reterr);
                if (takes_prefix(&line, "match-leak-kinds:")) {
                        if (parse_kinds(line, &s->classes) < 0)
                                return refuse(
                                        l,
                                        "unknown kind of leak: write definite, indirect, possible, reachable or all",
                                        reterr);
                        continue;
                }
                if (!parse_frame(to, line, &frame)) {
                        if (!*ret_counts) /* other tools have lines of their own */
                                continue;
                        return refuse(l, "neither 'fun:', 'obj:', 'src:' nor '...'", reterr);
                }
                if (s->frames.n >= MAX_FRAMES) {
                        frame_done(&frame);
                        return refuse(l, "an entry has too many lines", reterr);
                }
                vec_push(&s->frames, frame);
        }
        return refuse(l, "the last entry has no '}'", reterr);
}

static int parse_valgrind(struct suppressions *to, struct lines *l, struct err *reterr) {
        struct line line;

        while (next_line(l, &line)) {
                struct suppression s = {0};
                bool counts = false;
                int r;

                if (!is_text(line, "{"))
                        return refuse(l, "an entry begins with '{'", reterr);
                r = parse_entry(to, l, &s, &counts, reterr);
                if (r == 0 && to->list.n >= MAX_ENTRIES)
                        r = refuse(l, "too many entries", reterr);
                if (r < 0 || !counts)
                        suppression_done(&s);
                else
                        vec_push(&to->list, s);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* A pattern of LSan's may be anywhere in the text, unless ^ and $ hold it. */
static char *pattern_of_lsan(struct line l) {
        bool is_begin = l.n && l.text[0] == '^', is_end = l.n > is_begin && l.text[l.n - 1] == '$';
        size_t n = l.n - is_begin - is_end;
        char *p = malloc(n + 3);

        if (!p)
                return NULL;
        p[0] = '*';
        memcpy(p + !is_begin, l.text + is_begin, n);
        p[!is_begin + n] = '*';
        p[!is_begin + n + !is_end] = '\0';
        return p;
}

static int parse_lsan(struct suppressions *to, struct lines *l, struct err *reterr) {
        struct line line;

        while (next_line(l, &line)) {
                const char *colon = memchr(line.text, ':', line.n);
                struct suppression s = {.classes = ALL_CLASSES & ~(1u << LEAK_REACHABLE)};
                struct suppression_frame any = {.kind = SUPPRESSION_ANY_FRAMES};
                struct line whole = line;

                if (!colon)
                        return refuse(l, "no ':': write 'leak:FUNCTION'", reterr);
                if (!takes_prefix(&line, "leak:")) /* of other sanitizers */
                        continue;
                if (to->list.n >= MAX_ENTRIES)
                        return refuse(l, "too many entries", reterr);
                s.name = strndup(whole.text, whole.n);
                vec_push(&s.frames, any);
                vec_push(&s.frames, (struct suppression_frame){.kind = SUPPRESSION_ANYTHING,
                                                               .pattern = pattern_of_lsan(line)});
                vec_push(&s.frames, any);
                vec_push(&to->list, s);
        }
        return 0;
}

int suppressions_parse(struct suppressions *s, const char *text, size_t n_bytes, const char *path,
                       struct err *reterr) {
        struct lines l = {text, text + n_bytes, path, 0}, ahead = l;
        struct line first;

        if (memchr(text, 0, n_bytes))
                return err_set(reterr, -EINVAL, "'%s' is not a suppression file: it is not text",
                               path);
        if (!next_line(&ahead, &first))
                return 0;
        return first.text[0] == '{' ? parse_valgrind(s, &l, reterr) : parse_lsan(s, &l, reterr);
}

int suppressions_read(struct suppressions *s, const char *path, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        VEC(char) text = {0};
        ssize_t n = fd;
        int r;

        while (n >= 0 && text.n < MAX_FILE_BYTES) {
                vec_reserve(&text, (size_t)65536);
                n = fs_read_some(fd, text.items + text.n, 65536);
                if (n <= 0)
                        break;
                text.n += (size_t)n;
        }
        if (n < 0)
                r = err_set_errno(reterr, (int)n, "cannot read '%s'", path);
        else if (text.n >= MAX_FILE_BYTES)
                r = err_set(reterr, -EFBIG, "'%s' is too large for a file of suppressions", path);
        else
                r = suppressions_parse(s, text.items ? text.items : "", text.n, path, reterr);
        vec_free(&text);
        return r;
}

void suppressions_done(struct suppressions *s) {
        for (size_t i = 0; i < s->list.n; i++)
                suppression_done(&s->list.items[i]);
        vec_free(&s->list);
}

/* ---- matching --------------------------------------------------------------------------------------------- */

/* Linear but for stars: back to the last one when something differs. */
bool suppression_matches_text(const char *pattern, const char *text) {
        const char *star = NULL, *from = NULL;

        while (*text) {
                if (*pattern == '*') {
                        star = pattern++;
                        from = text;
                } else if (*pattern == '?' || *pattern == *text) {
                        pattern++;
                        text++;
                } else if (star) {
                        pattern = star + 1;
                        text = ++from;
                } else {
                        return false;
                }
        }
        while (*pattern == '*')
                pattern++;
        return !*pattern;
}

static bool matches_source(const char *pattern, const struct suppression_place *p) {
        const char *slash = strrchr(p->source, '/'), *base = slash ? slash + 1 : p->source;
        char with_line[512];

        if (!base[0])
                return false;
        snprintf(with_line, sizeof(with_line), "%.480s:%u", base, p->line);
        return suppression_matches_text(pattern, base) ||
               suppression_matches_text(pattern, with_line);
}

static bool matches_function(const struct suppression_frame *f, const char *function) {
        const char *pattern = f->pattern ? f->pattern : "*";
        size_t n = f->is_scope ? strlen(f->readable) : 0;

        if (suppression_matches_text(pattern, function))
                return true;
        if (f->is_scope)
                return strncmp(function, f->readable, n) == 0 && !is_identifier(function[n]);
        return f->readable && strcmp(function, f->readable) == 0;
}

static bool matches_place(const struct suppression_frame *f, const struct suppression_place *p) {
        const char *pattern = f->pattern ? f->pattern : "*";

        switch (f->kind) {
        case SUPPRESSION_FUNCTION: return matches_function(f, p->function);
        case SUPPRESSION_OBJECT: return suppression_matches_text(pattern, p->object);
        case SUPPRESSION_SOURCE: return matches_source(pattern, p);
        case SUPPRESSION_ANYTHING:
                return suppression_matches_text(pattern, p->function) ||
                       suppression_matches_text(pattern, p->object) ||
                       suppression_matches_text(pattern, p->source);
        case SUPPRESSION_ANY_FRAMES: break;
        }
        return true;
}

/* The frames are the begin of the call path. */
static bool matches_path(const struct suppression *s, const struct suppression_place *places,
                         size_t n) {
        size_t f = 0, p = 0, star = SIZE_MAX, from = 0;

        for (unsigned n_steps = 0; n_steps < MAX_STEPS; n_steps++) {
                if (f == s->frames.n)
                        return true;
                if (s->frames.items[f].kind == SUPPRESSION_ANY_FRAMES) {
                        star = f++;
                        from = p;
                } else if (p < n && matches_place(&s->frames.items[f], &places[p])) {
                        f++;
                        p++;
                } else if (star != SIZE_MAX && from < n) {
                        f = star + 1;
                        p = ++from;
                } else {
                        return false;
                }
        }
        return false;
}

static bool is_allocator(const struct suppression_frame *f) {
        static const char *const names[] = {"malloc",
                                            "calloc",
                                            "realloc",
                                            "memalign",
                                            "posix_memalign",
                                            "aligned_alloc",
                                            "valloc",
                                            "_Znwm",
                                            "_Znam",
                                            "_ZnwmRKSt9nothrow_t",
                                            "_ZnamRKSt9nothrow_t",
                                            "_ZnwmSt11align_val_t",
                                            "_ZnamSt11align_val_t",
                                            "operator new(unsigned long)",
                                            "operator new[](unsigned long)"};

        for (size_t i = 0; f->kind == SUPPRESSION_FUNCTION && f->pattern && i < ARRAY_SIZE(names);
             i++)
                if (suppression_matches_text(f->pattern, names[i]))
                        return true;
        return f->kind == SUPPRESSION_OBJECT && f->pattern &&
               suppression_matches_text(f->pattern,
                                        "/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so");
}

/* An entry of valgrind's begins with the function that allocates, which call paths of silt's do not have: that line is left out. */
static bool matches(const struct suppression *s, const struct suppression_place *places, size_t n) {
        struct suppression rest = *s;

        if (!s->frames.n || !is_allocator(&s->frames.items[0]))
                return matches_path(s, places, n);
        rest.frames.items++;
        rest.frames.n--;
        return matches_path(&rest, places, n);
}

struct suppression *suppressions_find(struct suppressions *s, enum leak_class class,
                                      const struct suppression_place *places, size_t n) {
        for (size_t i = 0; i < s->list.n; i++)
                if (s->list.items[i].classes & 1u << class && matches(&s->list.items[i], places, n))
                        return &s->list.items[i];
        return NULL;
}
