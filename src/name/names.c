/* SPDX-License-Identifier: MIT */
/* Rules, and what was worked out with them. */
#include <string.h>

#include "base/str.h"
#include "name/component.h"
#include "name/name_entry.h"
#include "name/shape.h"

enum { ENTRY_ID_BITS = 21 };

struct names {
        struct rules rules;
        struct components components;
        bool lacks_builtin;         /* of components: few ask for them, and they come last anyway */
        struct map component_rules; /* by place_key -> rule */
        struct arena *arena;        /* the texts of entries */
        VEC(struct name_entry *) entries;
        struct map by_address; /* of the text asked for: most come from a table, again and again */
        struct map by_hash;
        struct map kinds;    /* of entries whose kind goes by the place: all numbers -> kind */
        struct map wrappers; /* learned: by wrapper_key */
        VEC(struct name_frame) learned; /* the same, with texts in arena */
        struct shape shape;
        struct str label;
        VEC(bool) flags;
};

/* ---- loading --------------------------------------------------------------------------------- */

/* The path of the user's file of that name, where there is one; else it stays empty. */
static void add_config_path(struct str *to, const char *file) {
        const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

        if (config && config[0] == '/')
                str_addf(to, "%s/silt/%s", config, file);
        else if (home && home[0])
                str_addf(to, "%s/.config/silt/%s", home, file);
        if (to->n && access(str_text(to), F_OK) != 0)
                str_clear(to);
}

static int load_rules(const struct name_sources *sources, struct rules *r, struct err *reterr) {
        _cleanup_(str_done) struct str config = {0};
        int x = sources->without_builtin ? 0 : rules_add_builtin(r, reterr);

        if (sources->with_config)
                add_config_path(&config, "rules");
        if (x >= 0 && config.n)
                x = rules_add_file(r, str_text(&config), reterr);
        for (size_t i = 0; i < sources->n_files && x >= 0; i++)
                x = rules_add_file(r, sources->files[i], reterr);
        return x;
}

static int load_components(const struct name_sources *sources, struct components *c,
                           struct err *reterr) {
        _cleanup_(str_done) struct str config = {0};
        int x = 0;

        for (size_t i = 0; i < sources->n_components && x >= 0; i++)
                x = components_add_file(c, sources->components[i], reterr);
        if (sources->with_config)
                add_config_path(&config, "components.rules");
        if (x >= 0 && config.n)
                x = components_add_file(c, str_text(&config), reterr);
        return x;
}

int names_load(const struct name_sources *sources, struct names **ret, struct err *reterr) {
        _cleanup_(names_freep) struct names *n = calloc(1, sizeof(*n));
        int x;

        if (!n)
                abort();
        n->arena = arena_new();
        rules_init(&n->rules);
        components_init(&n->components);
        n->lacks_builtin = !sources->without_builtin;
        x = load_rules(sources, &n->rules, reterr);
        if (x >= 0)
                x = load_components(sources, &n->components, reterr);
        if (x < 0)
                return x;
        *ret = TAKE_PTR(n);
        return 0;
}

struct names *names_free(struct names *n) {
        if (!n)
                return NULL;
        rules_done(&n->rules);
        components_done(&n->components);
        map_done(&n->component_rules);
        arena_free(n->arena);
        vec_free(&n->entries);
        map_done(&n->by_address);
        map_done(&n->by_hash);
        map_done(&n->kinds);
        map_done(&n->wrappers);
        vec_free(&n->learned);
        shape_done(&n->shape);
        str_done(&n->label);
        vec_free(&n->flags);
        free(n);
        return NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text) {
        uint64_t hash = 0xcbf29ce484222325ull;

        for (; *text; text++)
                hash = (hash ^ (unsigned char)*text) * 1099511628211ull;
        return map_hash(hash);
}

/* Whether a name, as demanglers write it, is one of Rust: a path without parameters. C++'s have
 * them, C's have no path. */
static bool is_rust_form(const char *full) {
        size_t depth = 0;

        for (const char *p = full; *p; p++) {
                if (*p == '<')
                        depth++;
                else if (*p == '>' && depth && p[-1] != '-') /* no arrow */
                        depth--;
                else if (*p == '(' && depth == 0)
                        return false;
                else if (strncmp(p, "operator", 8) == 0 && strchr("<>-", p[8]) && p[8])
                        return false; /* their brackets are none */
        }
        return strstr(full, "::") != NULL;
}

static bool is_rust(const struct name_entry *e, const char *file) {
        const char *slash = strrchr(file, '/');
        const char *suffix = strrchr(slash ? slash : file, '.');

        return suffix ? strcmp(suffix, ".rs") == 0 : e->is_rust;
}

static enum name_kind kind_at(struct names *n, const struct name_entry *e, const char *module,
                              const char *file, bool *ret_by_place) {
        struct rules_subject s = {e->plain, e->trait, module, file, is_rust(e, file)};

        return rules_kind(&n->rules, &s, ret_by_place);
}

/* Words that functions are called by which hand out memory, whatever the language. */
static bool says_allocator(const char *plain) {
        static const char *const words[] = {"alloc", "memalign", "strdup", "strndup", "memdup"};
        const char *last = strrchr(plain, ':');

        last = last ? last + 1 : plain;
        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (strcasestr(last, words[i]))
                        return true;
        return false;
}

static struct name_entry *entry_new(struct names *n, const char *function) {
        struct name_entry *e = arena_alloc(n->arena, sizeof(*e));
        size_t full_n = shape_full_length(function);

        e->function = arena_strdup(n->arena, function);
        e->full = function[full_n] ? arena_strndup(n->arena, function, full_n) : e->function;
        shape_read(&n->rules, e->full, full_n, &n->shape);
        e->text = strcmp(str_text(&n->shape.text), e->full) == 0
                          ? e->full
                          : arena_strdup(n->arena, str_text(&n->shape.text));
        e->plain = arena_strdup(n->arena, str_text(&n->shape.plain));
        e->trait = n->shape.trait.n ? arena_strdup(n->arena, str_text(&n->shape.trait)) : "";
        e->crate = "";
        if (n->shape.has_outer)
                e->crate = arena_strndup(n->arena, e->plain,
                                         (size_t)(strstr(e->plain, "::") - e->plain));
        e->is_rust = is_rust_form(e->full);
        e->kind = kind_at(n, e, "", "", &e->kind_is_by_place);
        e->is_driver = rules_is_driver(&n->rules, e->plain);
        e->says_allocator = says_allocator(e->plain);
        return e;
}

/* Different texts with one hash, by accident or by design, follow each other. */
static struct name_entry *entry_by_text(struct names *n, const char *function) {
        bool added;
        uint64_t *first = map_put(&n->by_hash, hash_text(function), n->entries.n + 1, &added);
        struct name_entry *e;

        for (uint64_t i = added ? 0 : *first; i; i = e->next) {
                e = n->entries.items[i - 1];
                if (strcmp(e->function, function) == 0)
                        return e;
        }
        e = entry_new(n, function);
        if (!added)
                e->next = *first;
        e->idx = n->entries.n;
        vec_push(&n->entries, e);
        *first = n->entries.n;
        return e;
}

const struct name_entry *names_entry(struct names *n, const char *function) {
        bool added;
        uint64_t *idx = map_put(&n->by_address, (uintptr_t)function, 0, &added);
        struct name_entry *e;

        if (!added && strcmp(((struct name_entry *)(uintptr_t)*idx)->function, function) == 0)
                return (struct name_entry *)(uintptr_t)*idx;
        e = entry_by_text(n, function);
        *idx = (uintptr_t)e;
        return e;
}

/* Of a function in its place; false: there are too many to be remembered. Modules and files have entries too, so that they have
 * numbers. */
static bool place_key(struct names *n, const struct name_entry *e, const char *module,
                      const char *file, uint64_t *ret) {
        uint64_t module_id = names_entry(n, module)->idx;
        uint64_t file_id = names_entry(n, file)->idx;

        *ret = (e->idx << 2 * ENTRY_ID_BITS) + (module_id << ENTRY_ID_BITS) + file_id;
        return (e->idx | module_id | file_id) >> ENTRY_ID_BITS == 0;
}

static enum name_kind names_entry_kind(struct names *n, const struct name_entry *e,
                                       const char *module, const char *file) {
        uint64_t *kind, key;
        bool added, by_place;

        if (!e->kind_is_by_place)
                return e->kind;
        if (!place_key(n, e, module, file, &key))
                return kind_at(n, e, module, file, &by_place);
        kind = map_put(&n->kinds, key, 0, &added);
        if (added)
                *kind = kind_at(n, e, module, file, &by_place);
        return (enum name_kind)kind[0];
}

bool *names_flags(struct names *n, size_t n_flags) {
        vec_clear(&n->flags);
        vec_reserve(&n->flags, n_flags + 1);
        return n->flags.items;
}

/* ---- answers --------------------------------------------------------------------------------- */

const char *name_kind_text(enum name_kind k) {
        static const char *const texts[] = {"plain", "allocator", "start", "machinery", "task"};

        return (unsigned)k < ARRAY_SIZE(texts) ? texts[k] : "";
}

enum name_kind name_kind(struct names *n, const char *function, const char *module) {
        return names_entry_kind(n, names_entry(n, function), module, "");
}

/* A guess is mostly another function's name: only its place counts. */
static const struct name_entry *frame_entry(struct names *n, const struct name_frame *f) {
        return names_entry(n, f->guess ? "" : f->function);
}

/* Of the function in its module, or, without a name, of the place. */
static uint64_t wrapper_key(struct names *n, const struct name_frame *f) {
        uint64_t module = names_entry(n, f->module)->idx;

        if (f->guess || !f->function[0])
                return map_hash(map_hash(f->offset) ^ module) | 1ull << 63;
        return names_entry(n, f->function)->idx << 31 ^ module;
}

enum name_kind name_frame_kind(struct names *n, const struct name_frame *f) {
        enum name_kind kind = names_entry_kind(n, frame_entry(n, f), f->module, f->file);
        uint64_t one;

        if (kind == NAME_PLAIN && n->wrappers.n && map_get(&n->wrappers, wrapper_key(n, f), &one))
                return NAME_ALLOCATOR;
        return kind;
}

void name_learn_wrapper(struct names *n, const struct name_frame *f) {
        struct name_frame kept = {.file = "", .offset = f->offset, .guess = f->guess};
        bool added;

        map_put(&n->wrappers, wrapper_key(n, f), 1, &added);
        if (!added)
                return;
        kept.function = arena_strdup(n->arena, f->function);
        kept.module = arena_strdup(n->arena, f->module);
        vec_push(&n->learned, kept);
}

void name_learn_like(struct names *n, const struct names *other) {
        for (size_t i = 0; i < other->learned.n; i++)
                name_learn_wrapper(n, &other->learned.items[i]);
}

size_t name_n_learned(const struct names *n) {
        return n->wrappers.n;
}

bool name_is_ruled(struct names *n, const struct name_frame *f) {
        const struct name_entry *e = frame_entry(n, f);
        struct rules_subject s = {e->plain, e->trait, f->module, f->file, is_rust(e, f->file)};

        return rules_knows(&n->rules, &s);
}

bool name_look_says_allocator(const struct name_look *look) {
        return look->entry->says_allocator;
}

const char *name_full(struct names *n, const char *function) {
        return names_entry(n, function)->full;
}

const char *name_short(struct names *n, const char *function) {
        return names_entry(n, function)->text;
}

const char *name_plain(struct names *n, const char *function) {
        return names_entry(n, function)->plain;
}

static const char *file_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

const char *name_crate(struct names *n, const char *function, const char *module) {
        const char *crate = names_entry(n, function)->crate;

        return crate[0] ? crate : file_name(module);
}

/* The rule's number; 0: none. */
static uint32_t component_rule(struct names *n, const struct name_frame *f) {
        const struct name_entry *e = frame_entry(n, f);
        struct rules_subject s = {e->plain, e->trait, f->module, f->file, is_rust(e, f->file)};
        uint64_t *rule, key;
        bool added;

        if (n->lacks_builtin && components_add_builtin(&n->components, NULL) < 0)
                abort(); /* they are right: a test says so */
        n->lacks_builtin = false;
        if (!place_key(n, e, f->module, f->file, &key))
                return components_find(&n->components, &s);
        rule = map_put(&n->component_rules, key, 0, &added);
        if (added)
                *rule = components_find(&n->components, &s);
        return (uint32_t)*rule;
}

struct name_component name_component(struct names *n, const struct name_frame *f) {
        uint32_t rule = component_rule(n, f);
        const char *crate = frame_entry(n, f)->crate;

        if (rule)
                return components_at(&n->components, rule);
        /* Not every outermost part is a name: `(anonymous namespace)`, `{closure}`, `<impl …>` */
        return (struct name_component){crate[0] && !strchr("({<", crate[0]) ? crate
                                                                            : file_name(f->module),
                                       false};
}

const char *name_label(struct names *n, const struct name_frame *f, bool is_task) {
        static const char closure[] = "::{closure}";
        const size_t closure_n = sizeof(closure) - 1;

        str_clear(&n->label);
        if (!f->function[0] || f->guess) {
                if (f->module[0])
                        str_addf(&n->label, "%s+", file_name(f->module));
                str_addf(&n->label, "0x%llx", (unsigned long long)f->offset);
                return str_text(&n->label);
        }
        str_add(&n->label, name_short(n, f->function));
        if (!is_task)
                return str_text(&n->label);
        while (n->label.n > closure_n &&
               memcmp(n->label.bytes + n->label.n - closure_n, closure, closure_n) == 0)
                n->label.n -= closure_n;
        n->label.bytes[n->label.n] = '\0';
        str_add(&n->label, " (async)");
        return str_text(&n->label);
}
