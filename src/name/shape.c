/* SPDX-License-Identifier: MIT */
/* A demangled name is read once, from left to right: paths of parts, each with arguments in
 * brackets, which hold types, which are words and paths again. What is written on the way is the
 * short form, and beside it the plain path that rules are held against. */
#include "name/shape.h"

#include <string.h>

#include "name/name_text.h"
#include "name/scan.h"

struct reader {
        struct scan s;
        const struct rules *rules;
        struct str *out, *plain, *trait;
        size_t self_end;  /* of the plain path: behind what trait stands for */
        unsigned depth;   /* of brackets */
        bool is_confused; /* what was found is no name: the caller takes the text as it is */
        bool outer_is_function;
};

/* A path that is being read. */
struct path {
        size_t out_begin, plain_begin;
        uint32_t node; /* of the rules' shapes, for what was read so far */
        unsigned n_parts;
        bool is_dropped;    /* a fold says so */
        bool after_lambda;  /* the last part is one */
        bool after_closure; /* Rust's, as <{closure} as FnOnce>: the trait's function is its body */
};

/* What a type was made of. */
struct type {
        unsigned n_paths, n_others; /* others: &, *, brackets, numbers */
        unsigned n_parts;           /* of the first path */
        size_t plain_begin;         /* of the first path */
        bool is_dropped;
};

static void read_type(struct reader *r, char closer, const char *stop, struct type *ret);
static void read_path(struct reader *r, bool is_function, struct path *path);

/* ---- writing --------------------------------------------------------------------------------- */

static void add_part(struct reader *r, struct path *path, const char *text, size_t n,
                     const char *plain, size_t plain_n) {
        if (n) {
                if (r->out->n > path->out_begin)
                        str_add(r->out, "::");
                str_addn(r->out, text, n);
        }
        if (plain_n) {
                if (r->plain->n > path->plain_begin)
                        str_add(r->plain, "::");
                str_addn(r->plain, plain, plain_n);
        }
        path->n_parts++;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static bool take(struct reader *r, const char *text) {
        if (!scan_at(&r->s, text))
                return false;
        r->s.p += strlen(text);
        return true;
}

static void skip_blanks(struct reader *r) {
        while (r->s.p < r->s.end && *r->s.p == ' ')
                r->s.p++;
}

/* Behind the group at p, whatever is in it. */
static void skip_group(struct reader *r) {
        const char *behind = scan_group_end(&r->s);

        r->is_confused |= !behind;
        r->s.p = behind ? behind : r->s.end;
}

/* A list in brackets, as it is but for its types. */
static void read_list(struct reader *r, char closer) {
        size_t plain_begin = r->plain->n, n_args = 0;

        str_addn(r->out, r->s.p++, 1);
        if (r->depth++ >= SHAPE_MAX_DEPTH) {
                r->s.p--;
                skip_group(r);
                r->s.p--;
                str_add(r->out, "…");
        } else {
                do {
                        size_t begin = r->out->n;
                        struct type type;

                        skip_blanks(r);
                        if (n_args)
                                str_add(r->out, ", ");
                        read_type(r, closer, NULL, &type);
                        if (type.is_dropped && n_args && closer == '>')
                                text_cut(r->out, begin);
                        n_args++;
                } while (take(r, ",") && !r->is_confused);
        }
        r->depth--;
        text_cut(r->plain, plain_begin);
        if (r->s.p >= r->s.end || *r->s.p != closer) {
                r->is_confused = true;
                return;
        }
        str_addn(r->out, r->s.p++, 1);
}

/* <T>, <K, V>: Rust's names of parameters, which say nothing about what they are here. */
static bool is_only_parameters(const char *args) {
        do {
                if (args[1] < 'A' || args[1] > 'Z')
                        return false;
                args += 2;
        } while (strncmp(args, ", ", 2) == 0 && args++);
        return strcmp(args, ">") == 0;
}

/* Template or generic arguments, folded where they are long. */
static void read_args(struct reader *r) {
        size_t begin = r->out->n;

        read_list(r, '>');
        if (text_width_from(r->out, begin) > SHAPE_MAX_ARGS_CELLS)
                text_drop_qualifiers(r->out, begin);
        if (text_width_from(r->out, begin) > SHAPE_MAX_ARGS_CELLS || r->out->n == begin) {
                text_cut(r->out, begin);
                str_add(r->out, "<…>");
        } else if (is_only_parameters(r->out->bytes + begin)) {
                text_cut(r->out, begin);
        }
}

/* Calls the path that was just read, with arguments from args_begin on, what a rule says. */
static void fold(struct reader *r, struct path *path, size_t args_begin) {
        const char *args = args_begin < r->out->n ? r->out->bytes + args_begin : "";
        const struct rule *rule = rules_fold(r->rules, path->node, args);
        struct str kept = {0};

        path->is_dropped = false;
        if (!rule)
                return;
        if (!rule->text[0]) {
                path->is_dropped = true;
                return;
        }
        if (!rule->args[0])
                str_add(&kept, args);
        text_cut(r->out, path->out_begin);
        str_add(r->out, rule->text);
        str_add(r->out, str_text(&kept));
        str_done(&kept);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* {lambda(int)#2}, {{closure}}, {closure#0}, {unnamed type#1}, {shim:vtable#0}, {impl#3} */
static void read_braces(struct reader *r, struct path *path) {
        struct scan group = r->s;
        const char *number;
        struct str text = {0};

        skip_group(r);
        group.end = r->s.p;
        path->after_lambda = false;
        if (scan_at(&group, "{{closure") || scan_at(&group, "{closure") ||
            scan_at(&group, "{async")) {
                add_part(r, path, "{closure}", 9, "{closure}", 9);
        } else if (scan_at(&group, "{lambda")) {
                number = memrchr(group.p, '#', (size_t)(group.end - group.p));
                if (number)
                        str_addf(&text, "{lambda%.*s", (int)MIN(group.end - number, 64), number);
                else
                        str_add(&text, "{lambda}");
                add_part(r, path, str_text(&text), text.n, "{lambda}", 8);
                path->after_lambda = true;
        } else if (!scan_at(&group, "{{vtable") && !scan_at(&group, "{shim") &&
                   !scan_at(&group, "{vtable") && !scan_at(&group, "{impl#")) {
                add_part(r, path, group.p, (size_t)(group.end - group.p), group.p,
                         (size_t)(group.end - group.p));
        }
        str_done(&text);
}

static bool is_conversion(const char *begin, const char *end) {
        return end - begin > 9 && begin[8] == ' ' && memcmp(begin + 8, " new", 4) != 0 &&
               memcmp(begin + 8, " del", 4) != 0 && memcmp(begin + 8, " co_", 4) != 0;
}

/* A conversion is written with its type in short; its plain part has the type's last word. */
static void read_conversion(struct reader *r, struct path *path, const char *end) {
        const char *behind = r->s.end;
        size_t out_begin, plain_begin = r->plain->n;
        struct str plain = {0};
        struct type type;

        if (r->depth++ >= SHAPE_MAX_DEPTH) {
                r->is_confused = true;
                return;
        }
        add_part(r, path, "operator ", 9, "", 0);
        out_begin = r->out->n;
        r->s.p += 9;
        r->s.end = end;
        read_type(r, '\0', NULL, &type);
        r->s.p = end;
        r->s.end = behind;
        r->depth--;
        text_cut(r->plain, plain_begin);
        if (out_begin < r->out->n && strchr(r->out->bytes + out_begin, '(')) {
                text_cut(r->out, out_begin); /* pointers to functions: nobody would miss them */
                str_add(r->out, "…");
        }
        str_add(&plain, "operator ");
        str_add(&plain, out_begin < r->out->n ? r->out->bytes + out_begin : "");
        text_drop_qualifiers(&plain, 9);
        add_part(r, path, "", 0, str_text(&plain), plain.n);
        str_done(&plain);
}

static void read_operator(struct reader *r, struct path *path) {
        const char *begin = r->s.p, *end = scan_operator_end(&r->s);
        size_t n = (size_t)(end - begin);

        path->node = PATTERN_NO_NODE;
        if (is_conversion(begin, end)) {
                path->after_lambda = false;
                read_conversion(r, path, end);
                return;
        }
        r->s.p = end;
        if (path->after_lambda && n == 10 && memcmp(begin, "operator()", n) == 0) {
                add_part(r, path, "", 0, begin, n); /* that is what calling a lambda is */
                return;
        }
        path->after_lambda = false;
        add_part(r, path, begin, n, begin, n);
}

static void read_word(struct reader *r, struct path *path) {
        const char *begin = r->s.p;
        uint32_t node;
        size_t n;

        while (r->s.p < r->s.end && scan_is_word(*r->s.p))
                r->s.p++;
        n = (size_t)(r->s.p - begin);
        if (path->after_closure && n >= 4 && memcmp(begin, "call", 4) == 0) {
                path->after_closure = false;
                return;
        }
        node = patterns_step(&r->rules->shapes, path->node, begin, n);
        if (rules_is_inline(r->rules, node) && scan_at(&r->s, "::"))
                return; /* as if it were not there */
        path->node = node;
        if (path->after_lambda && ((n == 4 && memcmp(begin, "_FUN", n) == 0) ||
                                   (n == 8 && memcmp(begin, "__invoke", n) == 0)))
                add_part(r, path, "", 0, begin, n);
        else
                add_part(r, path, begin, n, begin, n);
        /* clang's lambdas: $_0, and 'lambda'(int) as its demangler writes them */
        path->after_lambda = begin[0] == '$' || (n > 7 && memcmp(begin, "'lambda", 7) == 0);
}

/* False: no part begins here. */
static bool read_part(struct reader *r, struct path *path) {
        static const char anonymous[] = "(anonymous namespace)";

        if (r->s.p >= r->s.end)
                return false;
        if (take(r, anonymous) || take(r, "{anonymous}") || take(r, "(anon)")) {
                path->node = PATTERN_NO_NODE;
                path->after_lambda = false;
                add_part(r, path, "(anon)", 6, anonymous, sizeof(anonymous) - 1);
                return true;
        }
        if (*r->s.p == '{') {
                path->node = PATTERN_NO_NODE;
                read_braces(r, path);
                return true;
        }
        if (scan_at(&r->s, "<lambda")) { /* as GCC has it in debug information */
                skip_group(r);
                path->node = PATTERN_NO_NODE;
                path->after_lambda = true;
                add_part(r, path, "{lambda}", 8, "{lambda}", 8);
                return true;
        }
        if (scan_at_operator(&r->s)) {
                read_operator(r, path);
                return true;
        }
        if (!scan_is_word(*r->s.p))
                return false;
        read_word(r, path);
        if (scan_at(&r->s, "{{vtable") || scan_at(&r->s, "{shim"))
                skip_group(r);
        return true;
}

/* ---- Rust's impls ---------------------------------------------------------------------------- */

/* Puts `<A as B>`, or A alone, where a path begins. a and b are texts of types. */
static void add_self(struct reader *r, struct path *path, struct str *a, const struct type *a_type,
                     struct str *b) {
        text_drop_qualifiers(b, 0);
        text_cut(r->out, path->out_begin);
        path->after_closure = a_type->n_paths == 1 && a->n >= 9 &&
                              memcmp(a->bytes + a->n - 9, "{closure}", 9) == 0 &&
                              strncmp(str_text(b), "Fn", 2) == 0;
        if (b->n && !path->after_closure && str_width(str_text(a)) > SHAPE_MAX_SELF_CELLS)
                text_drop_qualifiers(a, 0);
        if (path->after_closure)
                str_add(r->out, str_text(a));
        else if (b->n)
                str_addf(r->out, "<%s as %s>", str_text(a), str_text(b));
        else if (a_type->n_paths == 1 && a_type->n_others == 0)
                str_add(r->out, str_text(a));
        else
                str_addf(r->out, "<%s>", str_text(a));
        path->n_parts++;
        path->node = PATTERN_NO_NODE;
        path->after_lambda = false;
}

/* Reads a type into a text of its own. */
static void read_type_apart(struct reader *r, const char *stop, struct str *to, struct type *type) {
        size_t begin = r->out->n;

        read_type(r, '>', stop, type);
        str_add(to, begin < r->out->n ? r->out->bytes + begin : "");
        text_cut(r->out, begin);
}

/* Whether the first part of the path at plain[begin..] is that at plain[other..]. */
static bool is_same_crate(const struct str *plain, size_t begin, size_t other) {
        const char *a = plain->bytes + begin, *b = plain->bytes + other;
        size_t n = strcspn(a, ":");

        return begin < plain->n && other < plain->n && strncmp(a, b, n) == 0 && b[n] == ':';
}

static bool is_of_library(const struct str *plain, size_t begin) {
        static const char *const crates[] = {"core::", "alloc::", "std::"};

        for (size_t i = 0; i < ARRAY_SIZE(crates) && begin < plain->n; i++)
                if (strncmp(plain->bytes + begin, crates[i], strlen(crates[i])) == 0)
                        return true;
        return false;
}

/* Remembers the trait at plain[begin, end), when it is the whole function's. */
static void keep_trait(struct reader *r, size_t begin, size_t end) {
        if (r->depth > 1 || begin == end || r->trait->n)
                return;
        str_add(r->trait, "<");
        str_addn(r->trait, r->plain->bytes + begin, end - begin);
        str_add(r->trait, ">");
}

/* The plain path of `<A as B>`: of the two whose code it is. Either's crate may hold it, but a
 * foreign trait for a type of the library can only be the trait's. */
static void choose_plain(struct reader *r, struct path *path, const struct type *a,
                         const struct type *b) {
        size_t begin = path->plain_begin;
        bool has_a = a->n_parts >= 2, has_b = b && b->n_parts >= 2;

        if (has_b && (!has_a || (is_of_library(r->plain, a->plain_begin) &&
                                 !is_of_library(r->plain, b->plain_begin)))) {
                text_take_out(r->plain, begin, b->plain_begin);
                return;
        }
        if (b)
                text_cut(r->plain, b->plain_begin);
        if (a->n_parts == 0) { /* a slice, a pointer, a tuple */
                text_cut(r->plain, begin);
                str_add(r->plain, "[]");
        }
}

/* `<A as B>`, `<A>` at the beginning of a path. */
static void read_self(struct reader *r, struct path *path) {
        struct str a = {0}, b = {0};
        struct type a_type, b_type;
        bool has_trait;

        r->s.p++;
        read_type_apart(r, " as ", &a, &a_type);
        has_trait = take(r, " as ");
        if (has_trait)
                read_type_apart(r, NULL, &b, &b_type);
        r->is_confused |= !take(r, ">");
        add_self(r, path, &a, &a_type, &b);
        if (!r->is_confused) {
                if (has_trait)
                        keep_trait(r, b_type.plain_begin, r->plain->n);
                choose_plain(r, path, &a_type, has_trait ? &b_type : NULL);
                r->self_end = r->plain->n;
        }
        str_done(&a);
        str_done(&b);
}

/* `<impl B for A>`, `<impl A>` behind the path of the module in which it stands. */
static void read_impl(struct reader *r, struct path *path) {
        struct str a = {0}, b = {0};
        struct type a_type;
        size_t module_end = r->plain->n;

        r->s.p += strlen("<impl ");
        read_type_apart(r, " for ", &a, &a_type);
        if (take(r, " for ")) { /* what was read is the trait */
                keep_trait(r, a_type.plain_begin, r->plain->n);
                str_add(&b, str_text(&a));
                str_clear(&a);
                read_type_apart(r, NULL, &a, &a_type);
        }
        r->is_confused |= !take(r, ">");
        add_self(r, path, &a, &a_type, &b);
        if (r->is_confused) {
                /* the caller takes the name as it is */
        } else if (a_type.n_parts >= 2 &&
                   (module_end == path->plain_begin ||
                    is_same_crate(r->plain, a_type.plain_begin, path->plain_begin))) {
                text_take_out(r->plain, path->plain_begin, a_type.plain_begin);
        } else {
                text_cut(r->plain, module_end);
        }
        r->self_end = r->plain->n;
        str_done(&a);
        str_done(&b);
}

static void read_brackets(struct reader *r, struct path *path) {
        if (r->depth++ >= SHAPE_MAX_DEPTH)
                r->is_confused = true;
        else if (scan_at(&r->s, "<impl "))
                read_impl(r, path);
        else
                read_self(r, path);
        r->depth--;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static bool at_path(const struct scan *s) {
        return s->p < s->end && (scan_is_word(*s->p) || *s->p == '{' || *s->p == '<' ||
                                 scan_at(s, "(anonymous namespace)") || scan_at(s, "(anon)"));
}

/* Parameters of a function in which the rest of the path stands: they are left out. In types only
 * where a path goes on behind them: `void(int)` is a type, `f(int)::T` is inside of f. */
static bool skip_params(struct reader *r, struct path *path, bool is_function) {
        struct scan at = r->s;
        const char *behind;

        if (at.p >= at.end || *at.p != '(' || path->n_parts == 0)
                return false;
        behind = scan_group_end(&at);
        if (!behind)
                return false;
        at.p = behind;
        at.p = scan_qualifiers_end(&at);
        if (scan_at(&at, "::")) {
                if (path->n_parts == 1 && is_function && r->depth == 0)
                        r->outer_is_function = true;
                path->node = PATTERN_NO_NODE;
                r->s.p = at.p;
                return true;
        }
        if (is_function)
                r->s.p = at.end; /* nothing behind the last parameters is of interest */
        return false;
}

static void skip_tags(struct reader *r) {
        while (scan_at(&r->s, "[abi:") && !r->is_confused)
                skip_group(r);
}

static void read_path(struct reader *r, bool is_function, struct path *path) {
        *path = (struct path){.out_begin = r->out->n, .plain_begin = r->plain->n};
        if (r->s.p < r->s.end && *r->s.p == '<' && !scan_at(&r->s, "<lambda"))
                read_brackets(r, path);
        else if (!read_part(r, path))
                r->is_confused = true;
        while (!r->is_confused) {
                size_t args_begin = r->out->n;

                skip_tags(r);
                if (scan_at(&r->s, "::<") && !scan_at(&r->s, "::<impl ") &&
                    !scan_at(&r->s, "::<lambda"))
                        r->s.p += 2;
                if (scan_at(&r->s, " <") && r->out->n && r->out->bytes[r->out->n - 1] == '<')
                        r->s.p++; /* operator< <int> */
                if (scan_opens_args(&r->s) && path->n_parts) {
                        if (r->out->n && r->out->bytes[r->out->n - 1] == '<')
                                str_add(r->out, " ");
                        read_args(r);
                        skip_tags(r);
                }
                fold(r, path, args_begin);
                (void)skip_params(r, path, is_function);
                if (!scan_at(&r->s, "::") || scan_at(&r->s, "::*")) /* or a pointer to a member */
                        return;
                r->s.p += 2;
                if (scan_at(&r->s, "<impl "))
                        read_brackets(r, path);
                else
                        r->is_confused |= !read_part(r, path);
        }
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Words beside a type's path that say nothing about whose it is. */
static bool take_modifier(struct reader *r) {
        static const char *const words[] = {"dyn ", "mut ", "const "};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (scan_at(&r->s, words[i])) {
                        str_add(r->out, words[i]);
                        r->s.p += strlen(words[i]);
                        return true;
                }
        return false;
}

static bool at_end_of_type(const struct reader *r, char closer, const char *stop) {
        char c;

        if (r->s.p >= r->s.end || r->is_confused)
                return true;
        c = *r->s.p;
        if (closer == '\0')
                return false;
        return c == ',' || c == closer || strchr(")]}", c) || (stop && scan_at(&r->s, stop));
}

/* One type or value of a list that ends with closer ('\0': all there is). */
static void read_type(struct reader *r, char closer, const char *stop, struct type *ret) {
        size_t begin = r->out->n;
        struct path path;

        *ret = (struct type){.plain_begin = r->plain->n};
        while (!at_end_of_type(r, closer, stop)) {
                char c = *r->s.p;

                if (c == ' ') {
                        skip_blanks(r);
                        if (r->out->n > begin && r->out->bytes[r->out->n - 1] != ' ')
                                str_add(r->out, " ");
                } else if (take_modifier(r)) {
                        ret->n_others++;
                } else if (at_path(&r->s) && (c != '<' || scan_opens_args(&r->s))) {
                        size_t plain_begin = r->plain->n;

                        read_path(r, false, &path);
                        if (ret->n_paths++ == 0)
                                ret->n_parts = path.n_parts;
                        else
                                text_cut(r->plain, plain_begin);
                        ret->is_dropped = path.is_dropped && ret->n_paths == 1 && !ret->n_others;
                } else if (c == '(' || c == '[') {
                        read_list(r, c == '(' ? ')' : ']');
                        ret->n_others++;
                        ret->is_dropped = false;
                } else {
                        if (scan_at(&r->s, "->")) /* closes nothing */
                                str_addn(r->out, r->s.p++, 1);
                        str_addn(r->out, r->s.p++, 1);
                        ret->n_others++;
                        ret->is_dropped = false;
                }
        }
        while (r->out->n > begin && r->out->bytes[r->out->n - 1] == ' ')
                text_cut(r->out, r->out->n - 1);
}

/* ---- the whole ------------------------------------------------------------------------------- */

size_t shape_full_length(const char *name) {
        static const size_t hash_n = 19; /* ::h0123456789abcdef */
        size_t n = strlen(name);

        while (n > hash_n && memcmp(name + n - hash_n, "::h", 3) == 0 &&
               strspn(name + n - 16, "0123456789abcdef") >= 16)
                n -= hash_n;
        return n;
}

static bool read_name(struct reader *r) {
        struct scan all = r->s;
        bool has_params;
        struct path path;
        struct type type;

        if (!scan_function(&all, &r->s, &has_params))
                return false;
        if (has_params)
                read_path(r, true, &path);
        else
                read_type(r, '\0', NULL, &type);
        if (!has_params && type.n_paths != 1)
                str_clear(r->plain);
        return !r->is_confused && r->s.p == r->s.end && r->out->n > 0;
}

/* Whether a plain path begins with more than a function: main::{lambda} does not. */
static bool has_outer(const char *plain) {
        const char *colons = strstr(plain, "::");

        return colons && scan_is_word(plain[0]) && strncmp(colons, "::{lambda", 9) != 0 &&
               strncmp(colons, "::$_", 4) != 0;
}

static void read_once(const struct rules *rules, const char *name, size_t n, struct shape *ret) {
        /* glibc's names for its functions among themselves */
        size_t alias_n = strncmp(name, "__GI_", 5) == 0 && n > 5 ? 5 : 0;
        struct reader r = {.s = {name + alias_n, name + alias_n, name + n},
                           .rules = rules,
                           .out = &ret->text,
                           .plain = &ret->plain,
                           .trait = &ret->trait};

        str_clear(&ret->text);
        str_clear(&ret->plain);
        str_clear(&ret->trait);
        /* scripts' functions in files that interpreters write for profilers have names of their own */
        if (strncmp(name, "py::", 4) == 0 || !read_name(&r)) {
                text_set(&ret->text, name, n);
                str_clear(&ret->plain);
                str_clear(&ret->trait);
        }
        if (ret->trait.n && r.self_end <= ret->plain.n)
                str_add(&ret->trait, str_text(&ret->plain) + r.self_end);
        if (ret->plain.n == 0)
                text_set(&ret->plain, name, n);
        ret->has_outer = !r.outer_is_function && has_outer(str_text(&ret->plain));
}

/* Whether reading the short form again changes nothing; if it does, *text is what came out. */
static bool is_settled(const struct rules *rules, struct str *text) {
        struct shape again = {0};
        bool is_same;

        read_once(rules, str_text(text), text->n, &again);
        is_same = strcmp(str_text(&again.text), str_text(text)) == 0;
        if (!is_same)
                text_set(text, str_text(&again.text), again.text.n);
        shape_done(&again);
        return is_same;
}

void shape_read(const struct rules *rules, const char *name, size_t n, struct shape *ret) {
        bool is_settled_now = false;
        struct str full = {0};

        read_once(rules, name, n, ret);
        /* Names settle at once; what is none may take a few times, or never end. */
        for (unsigned i = 0; i < SHAPE_MAX_READS && !is_settled_now; i++)
                is_settled_now = is_settled(rules, &ret->text);
        str_addn(&full, name, n);
        if (!is_settled_now || ret->text.n == 0 ||
            shape_full_length(str_text(&ret->text)) != ret->text.n ||
            str_width(str_text(&ret->text)) > str_width(str_text(&full)))
                text_set(&ret->text, name, n);
        str_done(&full);
}

void shape_done(struct shape *s) {
        str_done(&s->text);
        str_done(&s->plain);
        str_done(&s->trait);
}
