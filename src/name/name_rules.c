/* SPDX-License-Identifier: MIT */
#include "name/name_rules.h"

#include <string.h>

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

/* ---- rules ----------------------------------------------------------------------------------- */

static const char *add_rule(struct rules *r, struct patterns *p, struct rule_span pattern,
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

static const char *add_kind(struct rules *r, struct rule_span rest, enum name_kind kind,
                            bool is_rust) {
        struct rule_place place;
        const char *why = rule_take_place(r->arena, rest, &place);

        if (why)
                return why;
        return add_rule(r, &r->kinds, place.pattern,
                        (struct rule){.kind = kind,
                                      .is_rust = is_rust,
                                      .module = place.module,
                                      .file = place.file});
}

static const char *add_driver(struct rules *r, struct rule_span rest) {
        if (rule_find_last(rest, " in ") || rule_find_last(rest, " at "))
                return "a driver applies everywhere: leave out 'in' and 'at'";
        if (rule_has_arguments(rest))
                return "patterns cannot contain template arguments: leave out '<' and everything after it";
        return add_rule(r, &r->drivers, rest, (struct rule){0});
}

/* Arguments as short forms are written: one blank behind each comma, none before brackets. */
static const char *normal_args(struct rules *r, struct rule_span args) {
        _cleanup_(str_done) struct str s = {0};

        for (size_t i = 0; i < args.n; i++) {
                if (rule_is_blank(args.p[i]) && (i + 1 == args.n || strchr(",>", args.p[i + 1])))
                        continue;
                if (rule_is_blank(args.p[i]) && s.n && rule_is_blank(s.bytes[s.n - 1]))
                        continue;
                str_addn(&s, args.p + i, 1);
                if (args.p[i] == ',')
                        str_add(&s, " ");
        }
        return arena_strdup(r->arena, str_text(&s));
}

/* TYPE => [TEXT] */
static const char *add_fold(struct rules *r, struct rule_span rest) {
        struct rule rule = {.args = ""};
        const char *arrow = rule_find_last(rest, "=>"), *bracket;
        struct rule_span type, text;

        if (!arrow)
                return "'fold' needs '=>' and the type's new name";
        type = rule_trim((struct rule_span){rest.p, (size_t)(arrow - rest.p)});
        text = rule_trim((struct rule_span){arrow + 2, (size_t)(rest.p + rest.n - arrow - 2)});
        rule.text = arena_strndup(r->arena, text.p, text.n);
        bracket = memchr(type.p, '<', type.n);
        if (bracket) {
                struct rule_span args = {bracket + 1, (size_t)(type.p + type.n - bracket - 1)};

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

static const char *add_inline(struct rules *r, struct rule_span rest) {
        const char *last = rule_find_last(rest, "::");
        struct rule_span parents = {rest.p, last ? (size_t)(last - rest.p) : 0};

        if (!last)
                return "an inline namespace needs the name of its parent";
        if (memchr(parents.p, '*', parents.n) ||
            memmem(last, (size_t)(rest.p + rest.n - last), "**", 2))
                return "'*' is only allowed in the last part of an inline namespace";
        return add_rule(r, &r->shapes, rest, (struct rule){.is_inline = true});
}

static const char *add_line(void *ctx, struct rule_span line) {
        struct rules *r = ctx;
        static const struct {
                const char *verb;
                enum name_kind kind;
        } kinds[] = {{"allocator", NAME_ALLOCATOR},
                     {"start", NAME_START},
                     {"task", NAME_TASK},
                     {"machinery", NAME_MACHINERY},
                     {"keep", NAME_PLAIN}};
        struct rule_span verb;
        bool is_rust;

        verb = rule_take_word(&line);
        is_rust = rule_span_is(verb, "rust");
        if (is_rust)
                verb = rule_take_word(&line);
        if (line.n == 0)
                return "a rule needs a keyword and a pattern";
        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (rule_span_is(verb, kinds[i].verb))
                        return add_kind(r, line, kinds[i].kind, is_rust);
        if (is_rust)
                return "'rust' must be followed by allocator, start, machinery, task or keep";
        if (rule_span_is(verb, "driver"))
                return add_driver(r, line);
        if (rule_span_is(verb, "fold"))
                return add_fold(r, line);
        if (rule_span_is(verb, "inline"))
                return add_inline(r, line);
        return "a rule must begin with allocator, start, machinery, task, driver, keep, fold or inline";
}

/* ---- files ----------------------------------------------------------------------------------- */

int rules_add_text(struct rules *r, const char *where, const char *text, size_t n,
                   struct err *reterr) {
        return rule_each_line("rules", where, text, n, add_line, r, reterr);
}

int rules_add_builtin(struct rules *r, struct err *reterr) {
        return rules_add_text(r, "built in", names_rules_text, sizeof(names_rules_text), reterr);
}

int rules_add_file(struct rules *r, const char *path, struct err *reterr) {
        return rule_each_line_of_file("rules", path, add_line, r, reterr);
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

static void best_take(void *ctx, uint32_t node) {
        struct best *b = ctx;
        const struct rule *rule;

        for (uint32_t i = b->patterns->nodes.items[node].value; i > b->rule; i = rule->next) {
                rule = &b->rules->items.items[i];
                if (rule->module || rule->file || rule->is_rust)
                        b->bound_rule = MAX(b->bound_rule, i);
                if ((b->is_rust || !rule->is_rust) && rule_glob_fits(rule->module, b->module) &&
                    rule_glob_fits(rule->file, b->file)) {
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
