/* SPDX-License-Identifier: MIT */
#include "name/name_rules.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fs.h"
#include "base/str.h"
#include "name/names_rules.h" /* made from names.rules */

void rules_init(struct rules *r) {
        *r = (struct rules){.arena = arena_new()};
        (void)vec_add(&r->items);
        patterns_init(&r->kinds);
        patterns_init(&r->drivers);
        patterns_init(&r->shapes);
}

void rules_done(struct rules *r) {
        patterns_done(&r->kinds);
        patterns_done(&r->drivers);
        patterns_done(&r->shapes);
        vec_free(&r->items);
        r->arena = arena_free(r->arena);
}

/* ---- a line ---------------------------------------------------------------------------------- */

/* A stretch of the line. */
struct span {
        const char *p;
        size_t n;
};

static bool is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\r';
}

static struct span trim(struct span s) {
        while (s.n && is_blank(s.p[0])) {
                s.p++;
                s.n--;
        }
        while (s.n && is_blank(s.p[s.n - 1]))
                s.n--;
        return s;
}

static bool span_is(struct span s, const char *text) {
        return s.n == strlen(text) && memcmp(s.p, text, s.n) == 0;
}

/* The line without its comment; n is SIZE_MAX when it is no text. */
static struct span without_comment(struct span s) {
        for (size_t i = 0; i < s.n; i++) {
                char c = s.p[i];

                if ((unsigned char)c < ' ' && !is_blank(c))
                        return (struct span){s.p, SIZE_MAX};
                if (c == '#' && (i == 0 || is_blank(s.p[i - 1])))
                        s.n = i;
        }
        return s;
}

static struct span take_word(struct span *rest) {
        struct span word = *rest;

        for (word.n = 0; word.n < rest->n && !is_blank(rest->p[word.n]);)
                word.n++;
        rest->p += word.n;
        rest->n -= word.n;
        *rest = trim(*rest);
        return word;
}

/* Where text last stands in s; NULL: nowhere. */
static const char *find_last(struct span s, const char *text) {
        size_t n = strlen(text);

        for (size_t i = s.n >= n ? s.n - n + 1 : 0; i > 0; i--)
                if (s.p[i - 1] == text[0] && memcmp(s.p + i - 1, text, n) == 0)
                        return s.p + i - 1;
        return NULL;
}

/* `<trait>::f` and `operator<` have none. */
static bool has_arguments(struct span pattern) {
        size_t is_trait = pattern.n && pattern.p[0] == '<';
        const char *bracket = memchr(pattern.p + is_trait, '<', pattern.n - is_trait);
        struct span before = {pattern.p, bracket ? (size_t)(bracket - pattern.p) : 0};

        return bracket && !find_last(before, "operator");
}

/* ---- rules ----------------------------------------------------------------------------------- */

static const char *add_rule(struct rules *r, struct patterns *p, struct span pattern,
                            struct rule rule) {
        const char *why, *text = arena_strndup(r->arena, pattern.p, pattern.n);
        uint32_t node = 0;

        if (r->items.n >= RULES_MAX)
                return "too many rules";
        why = patterns_add(p, text, pattern.n, &node);
        if (why)
                return why;
        rule.next = p->nodes.items[node].value;
        p->nodes.items[node].value = (uint32_t)r->items.n;
        vec_push(&r->items, rule);
        return NULL;
}

/* Cuts what stands behind word off, and the word; NULL: it is not there. */
static const char *take_behind(struct rules *r, struct span *rest, const char *word) {
        const char *at = find_last(*rest, word);
        struct span behind;

        if (!at)
                return NULL;
        behind.p = at + strlen(word);
        behind.n = (size_t)(rest->p + rest->n - behind.p);
        behind = trim(behind);
        *rest = trim((struct span){rest->p, (size_t)(at - rest->p)});
        return arena_strndup(r->arena, behind.p, behind.n);
}

/* PATTERN [in MODULE] [at FILE] */
static const char *add_kind(struct rules *r, struct span rest, enum name_kind kind, bool is_rust) {
        struct rule rule = {.kind = kind, .is_rust = is_rust};

        rule.file = take_behind(r, &rest, " at ");
        rule.module = take_behind(r, &rest, " in ");
        if (rule.module && strchr(rule.module, '/'))
                return "a module is named by its file name: leave out the directory";
        if (has_arguments(rest))
                return "patterns cannot contain template arguments: leave out '<' and everything after it";
        return add_rule(r, &r->kinds, rest, rule);
}

static const char *add_driver(struct rules *r, struct span rest) {
        if (find_last(rest, " in ") || find_last(rest, " at "))
                return "a driver applies everywhere: leave out 'in' and 'at'";
        if (has_arguments(rest))
                return "patterns cannot contain template arguments: leave out '<' and everything after it";
        return add_rule(r, &r->drivers, rest, (struct rule){0});
}

/* Arguments as short forms are written: one blank behind each comma, none before brackets. */
static const char *normal_args(struct rules *r, struct span args) {
        _cleanup_(str_done) struct str s = {0};

        for (size_t i = 0; i < args.n; i++) {
                if (is_blank(args.p[i]) && (i + 1 == args.n || strchr(",>", args.p[i + 1])))
                        continue;
                if (is_blank(args.p[i]) && s.n && is_blank(s.bytes[s.n - 1]))
                        continue;
                str_addn(&s, args.p + i, 1);
                if (args.p[i] == ',')
                        str_add(&s, " ");
        }
        return arena_strdup(r->arena, str_text(&s));
}

/* TYPE => [TEXT] */
static const char *add_fold(struct rules *r, struct span rest) {
        struct rule rule = {.args = ""};
        const char *arrow = find_last(rest, "=>"), *bracket;
        struct span type, text;

        if (!arrow)
                return "'fold' needs '=>' and the type's new name";
        type = trim((struct span){rest.p, (size_t)(arrow - rest.p)});
        text = trim((struct span){arrow + 2, (size_t)(rest.p + rest.n - arrow - 2)});
        rule.text = arena_strndup(r->arena, text.p, text.n);
        bracket = memchr(type.p, '<', type.n);
        if (bracket) {
                struct span args = {bracket + 1, (size_t)(type.p + type.n - bracket - 1)};

                if (args.n < 2 || args.p[args.n - 1] != '>')
                        return "the type's arguments must end with '>'";
                args.n--;
                rule.args = normal_args(r, args);
                if (strcmp(rule.args, "*") != 0) {
                        _cleanup_(str_done) struct str s = {0};

                        str_addf(&s, "<%s>", rule.args);
                        rule.args = arena_strdup(r->arena, str_text(&s));
                }
                type.n = (size_t)(bracket - type.p);
        }
        if (memchr(type.p, '*', type.n))
                return "'*' is not allowed in the path of a fold";
        return add_rule(r, &r->shapes, type, rule);
}

static const char *add_inline(struct rules *r, struct span rest) {
        const char *last = find_last(rest, "::");
        struct span parents = {rest.p, last ? (size_t)(last - rest.p) : 0};

        if (!last)
                return "an inline namespace needs the name of its parent";
        if (memchr(parents.p, '*', parents.n) ||
            memmem(last, (size_t)(rest.p + rest.n - last), "**", 2))
                return "'*' is only allowed in the last part of an inline namespace";
        return add_rule(r, &r->shapes, rest, (struct rule){.is_inline = true});
}

static const char *add_line(struct rules *r, struct span line) {
        static const struct {
                const char *verb;
                enum name_kind kind;
        } kinds[] = {{"allocator", NAME_ALLOCATOR},
                     {"start", NAME_START},
                     {"task", NAME_TASK},
                     {"machinery", NAME_MACHINERY},
                     {"keep", NAME_PLAIN}};
        struct span verb;
        bool is_rust;

        if (line.n > RULES_MAX_LINE_BYTES)
                return "the line is too long";
        line = without_comment(line);
        if (line.n == SIZE_MAX)
                return "the line is not text";
        line = trim(line);
        if (line.n == 0)
                return NULL;
        verb = take_word(&line);
        is_rust = span_is(verb, "rust");
        if (is_rust)
                verb = take_word(&line);
        if (line.n == 0)
                return "a rule needs a keyword and a pattern";
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (span_is(verb, kinds[i].verb))
                        return add_kind(r, line, kinds[i].kind, is_rust);
        if (is_rust)
                return "'rust' must be followed by allocator, start, machinery, task or keep";
        if (span_is(verb, "driver"))
                return add_driver(r, line);
        if (span_is(verb, "fold"))
                return add_fold(r, line);
        if (span_is(verb, "inline"))
                return add_inline(r, line);
        return "a rule must begin with allocator, start, machinery, task, driver, keep, fold or inline";
}

/* ---- files ----------------------------------------------------------------------------------- */

int rules_add_text(struct rules *r, const char *where, const char *text, size_t n,
                   struct err *reterr) {
        const char *end = text + n;

        for (unsigned number = 1; text < end; number++) {
                const char *stop = memchr(text, '\n', (size_t)(end - text));
                const char *why;

                if (!stop)
                        stop = end;
                why = add_line(r, (struct span){text, (size_t)(stop - text)});
                if (why)
                        return err_set(reterr, -EINVAL, "rules: %s:%u: %s", where, number, why);
                text = stop + 1;
        }
        return 0;
}

int rules_add_builtin(struct rules *r, struct err *reterr) {
        return rules_add_text(r, "built in", names_rules_text, sizeof(names_rules_text), reterr);
}

int rules_add_file(struct rules *r, const char *path, struct err *reterr) {
        _cleanup_free_ char *text = malloc(RULES_MAX_FILE_BYTES + 1);
        _cleanup_close_ int fd = -1;
        size_t n = 0;
        ssize_t got;

        if (!text)
                abort();
        fd = fs_open(path, O_RDONLY | O_CLOEXEC, 0);
        if (fd < 0)
                return err_set_errno(reterr, fd, "rules: cannot open '%s'", path);
        while (n <= RULES_MAX_FILE_BYTES) {
                got = fs_read_some(fd, text + n, RULES_MAX_FILE_BYTES + 1 - n);
                if (got < 0)
                        return err_set_errno(reterr, (int)got, "rules: cannot read '%s'", path);
                if (got == 0)
                        return rules_add_text(r, path, text, n, reterr);
                n += (size_t)got;
        }
        return err_set(reterr, -EFBIG,
                       "rules: '%s' is larger than 1 MiB, so it is not a file of rules", path);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct best {
        const struct rules *rules;
        const struct patterns *patterns;
        const char *module; /* file name */
        const char *file;
        bool is_rust;
        uint32_t rule;       /* 0: none yet */
        uint32_t bound_rule; /* the last that fits but for its module and file */
};

static bool glob_fits(const char *glob, const char *text) {
        return !glob || pattern_glob_fits(glob, strlen(glob), text, strlen(text));
}

static void best_take(void *ctx, uint32_t node) {
        struct best *b = ctx;
        const struct rule *rule;

        for (uint32_t i = b->patterns->nodes.items[node].value; i > b->rule; i = rule->next) {
                rule = &b->rules->items.items[i];
                if (rule->module || rule->file || rule->is_rust)
                        b->bound_rule = MAX(b->bound_rule, i);
                if ((b->is_rust || !rule->is_rust) && glob_fits(rule->module, b->module) &&
                    glob_fits(rule->file, b->file)) {
                        b->rule = i;
                        return;
                }
        }
}

static struct best best_of(struct rules *r, const struct rules_subject *s) {
        const char *slash = strrchr(s->module, '/');
        struct best b = {.rules = r,
                         .patterns = &r->kinds,
                         .module = slash ? slash + 1 : s->module,
                         .file = s->file,
                         .is_rust = s->is_rust};

        patterns_match(&r->kinds, s->plain, best_take, &b);
        if (s->trait[0])
                patterns_match(&r->kinds, s->trait, best_take, &b);
        return b;
}

bool rules_knows(struct rules *r, const struct rules_subject *s) {
        return best_of(r, s).rule != 0;
}

enum name_kind rules_kind(struct rules *r, const struct rules_subject *s, bool *ret_by_place) {
        struct best b = best_of(r, s);

        /* Another place could only bring in a later rule, or take away this one. */
        *ret_by_place = b.bound_rule && b.bound_rule >= b.rule;
        return b.rule ? r->items.items[b.rule].kind : NAME_PLAIN;
}

bool rules_is_driver(struct rules *r, const char *plain) {
        struct best b = {.rules = r, .patterns = &r->drivers, .module = "", .file = ""};

        patterns_match(&r->drivers, plain, best_take, &b);
        return b.rule != 0;
}

const struct rule *rules_fold(const struct rules *r, uint32_t node, const char *args) {
        const struct rule *rule;

        if (node == PATTERN_NO_NODE)
                return NULL;
        for (uint32_t i = r->shapes.nodes.items[node].value; i; i = rule->next) {
                rule = &r->items.items[i];
                if (rule->args && (!rule->args[0] || strcmp(rule->args, "*") == 0 ||
                                   strcmp(rule->args, args) == 0))
                        return rule;
        }
        return NULL;
}

bool rules_is_inline(const struct rules *r, uint32_t node) {
        const struct rule *rule;

        if (node == PATTERN_NO_NODE)
                return false;
        for (uint32_t i = r->shapes.nodes.items[node].value; i; i = rule->next) {
                rule = &r->items.items[i];
                if (rule->is_inline)
                        return true;
        }
        return false;
}
