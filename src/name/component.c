/* SPDX-License-Identifier: MIT */
#include "name/component.h"

#include <string.h>

#include "name/components_rules.h" /* made from components.rules */

void components_init(struct components *c) {
        *c = (struct components){.arena = arena_new(), .max = COMPONENTS_MAX};
        (void)vec_add(&c->items);
        patterns_init(&c->patterns);
}

void components_done(struct components *c) {
        patterns_done(&c->patterns);
        vec_free(&c->items);
        c->arena = arena_free(c->arena);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char *add_rule(struct components *c, struct rule_span pattern,
                            struct component_rule rule) {
        const char *why, *text = arena_strndup(c->arena, pattern.p, pattern.n);
        uint32_t node = 0, number = (uint32_t)c->items.n, *first;

        if (number >= c->max)
                return "too many rules";
        why = patterns_add(&c->patterns, text, pattern.n, &node);
        if (why)
                return why;
        vec_push(&c->items, rule);
        first = &c->patterns.nodes.items[node].value;
        if (*first)
                c->items.items[c->items.items[*first].last].next = number;
        else
                *first = number;
        c->items.items[*first].last = number;
        return NULL;
}

/* [rust] component|pass NAME PATTERN [in MODULE] [at FILE] */
static const char *add_line(void *ctx, struct rule_span line) {
        struct components *c = ctx;
        struct rule_span verb = rule_take_word(&line), name;
        struct component_rule rule = {.is_rust = rule_span_is(verb, "rust")};
        struct rule_place place;
        const char *why;

        if (rule.is_rust)
                verb = rule_take_word(&line);
        rule.passes_on = rule_span_is(verb, "pass");
        if (!rule.passes_on && !rule_span_is(verb, "component"))
                return rule.is_rust ? "'rust' must be followed by component or pass"
                                    : "a rule must begin with component, pass or rust";
        name = rule_take_word(&line);
        if (name.n == 0 || line.n == 0)
                return "a rule needs the component's name and a pattern";
        if (name.n > COMPONENT_MAX_NAME_BYTES)
                return "the component's name is longer than 64 bytes";
        why = rule_take_place(c->arena, line, &place);
        if (why)
                return why;
        rule.name = arena_strndup(c->arena, name.p, name.n);
        rule.module = place.module;
        rule.file = place.file;
        return add_rule(c, place.pattern, rule);
}

int components_add_builtin(struct components *c, struct err *reterr) {
        c->max = UINT32_MAX; /* behind as many as may be */
        return rule_each_line("components", "built in", components_rules_text,
                              sizeof(components_rules_text), add_line, c, reterr);
}

int components_add_file(struct components *c, const char *path, struct err *reterr) {
        return rule_each_line_of_file("components", path, add_line, c, reterr);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct finding {
        const struct components *components;
        const struct rules_subject *subject;
        const char *module; /* file name */
        uint32_t rule;      /* UINT32_MAX: none yet */
};

static void take_first(void *ctx, uint32_t node) {
        struct finding *f = ctx;
        const struct component_rule *rule;

        for (uint32_t i = f->components->patterns.nodes.items[node].value; i && i < f->rule;
             i = rule->next) {
                rule = &f->components->items.items[i];
                if ((f->subject->is_rust || !rule->is_rust) &&
                    rule_glob_fits(rule->module, f->module) &&
                    rule_glob_fits(rule->file, f->subject->file)) {
                        f->rule = i;
                        return;
                }
        }
}

uint32_t components_find(struct components *c, const struct rules_subject *s) {
        const char *slash = strrchr(s->module, '/');
        struct finding f = {c, s, slash ? slash + 1 : s->module, UINT32_MAX};

        patterns_match(&c->patterns, s->plain, take_first, &f);
        if (s->trait[0])
                patterns_match(&c->patterns, s->trait, take_first, &f);
        return f.rule == UINT32_MAX ? 0 : f.rule;
}

struct name_component components_at(const struct components *c, uint32_t rule) {
        return (struct name_component){c->items.items[rule].name, c->items.items[rule].passes_on};
}
