/* SPDX-License-Identifier: MIT */
#include "name/match.h"

#include <string.h>

#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "name/name_entry.h"
#include "name/stable.h"

/* From strict to loose. */
enum level {
        LEVEL_FILE,      /* stable name, file name, module; code without a name: build and offset */
        LEVEL_NAME,      /* stable name, module */
        LEVEL_SHORT,     /* without parameters and result, long arguments left out */
        LEVEL_PLAIN,     /* without arguments; code without a name: all of a module is one */
        LEVEL_BARE,      /* the last part of the path, where one side knows no more than that */
        LEVEL_ANYWHERE,  /* stable name alone */
        LEVEL_PLAIN_ANY, /* plain path alone */
        N_LEVELS,
};

struct function {
        uint64_t keys[N_LEVELS]; /* 0: has none at this level */
        uint64_t build;          /* of its module, with the module; 0 unknown */
        uint32_t class_number;
        uint8_t side;
        bool is_nameless;
        bool is_bare; /* a word: no path, no parameters */
};

enum { NO_CLASS = UINT32_MAX };

/* What keys need of a name: each is read once, however many places it has. */
struct hashes {
        uint64_t name, short_name, plain, last;
        bool is_bare;
};

struct name_match {
        struct names *names;
        struct map by_entry; /* what names know of a function → index into hashes */
        VEC(struct hashes) hashes;
        VEC(struct function) functions;
        struct map by_key[NAME_N_SIDES]; /* the strictest key → number */
        struct map builds[NAME_N_SIDES]; /* modules and builds that occur */
        VEC(uint8_t) sides;              /* of each class: bits */
        struct str text;
};

struct name_match *name_match_new(struct names *n) {
        struct name_match *m = calloc(1, sizeof(*m));

        if (!m)
                abort();
        m->names = n;
        return m;
}

struct name_match *name_match_free(struct name_match *m) {
        if (!m)
                return NULL;
        vec_free(&m->functions);
        vec_free(&m->sides);
        vec_free(&m->hashes);
        map_done(&m->by_entry);
        for (unsigned i = 0; i < NAME_N_SIDES; i++)
                map_done(&m->by_key[i]), map_done(&m->builds[i]);
        str_done(&m->text);
        free(m);
        return NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t hash_more(uint64_t hash, const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                hash = (hash ^ (unsigned char)text[i]) * 1099511628211ull;
        return map_hash(hash + 1);
}

static uint64_t hash_stable(struct name_match *m, const char *function, uint64_t hash) {
        str_clear(&m->text);
        stable_add_function(&m->text, function);
        return hash_more(hash, str_text(&m->text), m->text.n);
}

/* The last part of the plain path, and whether the name is no more than that. */
static uint64_t hash_last(struct name_match *m, const char *function, bool *ret_is_bare) {
        const char *last;

        str_clear(&m->text);
        stable_add_function(&m->text, function);
        *ret_is_bare =
                !strstr(str_text(&m->text), "::") &&
                (!strchr(str_text(&m->text), '(') || strcmp(str_text(&m->text), "operator()") == 0);
        str_clear(&m->text);
        stable_add_function(&m->text, name_plain(m->names, function));
        last = str_text(&m->text);
        for (const char *p = last; (p = strstr(p, "::")); p += 2)
                last = p + 2;
        return hash_more(6, last, strlen(last));
}

static struct hashes hashes_of(struct name_match *m, const char *function) {
        bool added;
        uint64_t *idx = map_put(&m->by_entry, (uintptr_t)names_entry(m->names, function),
                                m->hashes.n, &added);

        if (added) {
                struct hashes h = {
                        .name = hash_stable(m, function, 3),
                        .short_name = hash_stable(m, name_short(m->names, function), 4),
                        .plain = hash_stable(m, name_plain(m->names, function), 5),
                };

                h.last = hash_last(m, function, &h.is_bare);
                vec_push(&m->hashes, h);
        }
        return m->hashes.items[*idx];
}

static uint64_t hash_module(struct name_match *m, const struct name_built *b) {
        if (b->is_program)
                return 1;
        str_clear(&m->text);
        stable_add_module(&m->text, b->frame.module);
        return hash_more(2, str_text(&m->text), m->text.n);
}

static const char *file_name(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* A key is never 0 and differs by level. */
static uint64_t key(enum level level, uint64_t hash) {
        hash = map_hash(hash + level + 1);
        return hash ? hash : 1;
}

static void set_keys(struct name_match *m, const struct name_built *b, struct function *f) {
        const struct name_frame *frame = &b->frame;
        uint64_t module = hash_module(m, b);
        struct hashes h;
        const char *file = file_name(frame->file);

        f->build = b->build ? map_hash(b->build ^ module) : 0;
        f->is_nameless = !frame->function[0] || frame->guess;
        if (f->is_nameless) {
                f->keys[LEVEL_FILE] =
                        key(LEVEL_FILE, map_hash(frame->offset + map_hash(b->build ^ ~module)));
                f->keys[LEVEL_PLAIN] = key(LEVEL_PLAIN, ~module);
                return;
        }
        h = hashes_of(m, frame->function);
        f->is_bare = h.is_bare;
        f->keys[LEVEL_FILE] = key(LEVEL_FILE, hash_more(h.name ^ module, file, strlen(file)));
        f->keys[LEVEL_NAME] = key(LEVEL_NAME, h.name ^ module);
        f->keys[LEVEL_SHORT] = key(LEVEL_SHORT, h.short_name ^ module);
        f->keys[LEVEL_PLAIN] = key(LEVEL_PLAIN, h.plain ^ module);
        f->keys[LEVEL_BARE] = key(LEVEL_BARE, h.last ^ module);
        f->keys[LEVEL_ANYWHERE] = key(LEVEL_ANYWHERE, h.name);
        f->keys[LEVEL_PLAIN_ANY] = key(LEVEL_PLAIN_ANY, h.plain);
}

uint32_t name_match_add(struct name_match *m, enum name_side side, const struct name_built *b) {
        struct function f = {.class_number = NO_CLASS, .side = (uint8_t)side};
        uint64_t *number;
        bool added;

        set_keys(m, b, &f);
        number = map_put(&m->by_key[side], f.keys[LEVEL_FILE], m->functions.n, &added);
        if (added)
                vec_push(&m->functions, f);
        if (added && f.build)
                map_put(&m->builds[side], f.build, 1, &added);
        return (uint32_t)*number;
}

/* ---- classes --------------------------------------------------------------------------------- */

static uint32_t class_new(struct name_match *m) {
        vec_push(&m->sides, 0);
        return (uint32_t)(m->sides.n - 1);
}

static void class_take(struct name_match *m, struct function *f, uint32_t class_number) {
        f->class_number = class_number;
        m->sides.items[class_number] |= (uint8_t)(1u << f->side);
}

enum { BOTH_SIDES = 3 };

/* A bit for each side; where it matters, others for bare names. */
static uint64_t bits_of(const struct function *f, enum level level) {
        return (1u << f->side) << (level == LEVEL_BARE && f->is_bare ? NAME_N_SIDES : 0);
}

/* Whether the functions with these bits are the same: on both sides, and of one the bare name. */
static bool is_match(uint64_t bits, enum level level) {
        uint64_t bare = bits >> NAME_N_SIDES, whole = bits & BOTH_SIDES;

        if (level != LEVEL_BARE)
                return bits == BOTH_SIDES;
        return (bare | whole) == BOTH_SIDES && bare && whole;
}

/* Of the functions without a class, those whose key occurs on both sides get one. */
static void solve_level(struct name_match *m, enum level level) {
        struct map sides = {0}, classes = {0};
        uint64_t *value;
        bool added;

        for (size_t i = 0; i < m->functions.n; i++) {
                const struct function *f = &m->functions.items[i];

                if (f->class_number == NO_CLASS && f->keys[level])
                        *map_put(&sides, f->keys[level], 0, &added) |= bits_of(f, level);
        }
        for (size_t i = 0; i < m->functions.n; i++) {
                struct function *f = &m->functions.items[i];
                uint64_t bits = 0;

                if (f->class_number != NO_CLASS || !f->keys[level] ||
                    !map_get(&sides, f->keys[level], &bits) || !is_match(bits, level))
                        continue;
                value = map_put(&classes, f->keys[level], 0, &added);
                if (added)
                        *value = class_new(m);
                class_take(m, f, (uint32_t)*value);
        }
        map_done(&sides);
        map_done(&classes);
}

/* Where both sides have the same build, its code is the same by its place, or it is not. */
static void keep_places(struct name_match *m) {
        for (size_t i = 0; i < m->functions.n; i++) {
                struct function *f = &m->functions.items[i];
                uint64_t one;

                if (f->is_nameless && f->build && map_get(&m->builds[!f->side], f->build, &one))
                        f->keys[LEVEL_PLAIN] = 0;
        }
}

void name_match_solve(struct name_match *m) {
        keep_places(m);
        for (unsigned level = 0; level < N_LEVELS; level++)
                solve_level(m, (enum level)level);
        for (size_t i = 0; i < m->functions.n; i++)
                if (m->functions.items[i].class_number == NO_CLASS)
                        class_take(m, &m->functions.items[i], class_new(m));
}

uint32_t name_match_class(const struct name_match *m, uint32_t number) {
        return m->functions.items[number].class_number;
}

size_t name_match_n_classes(const struct name_match *m) {
        return m->sides.n;
}

bool name_match_is_common(const struct name_match *m, uint32_t class_number) {
        return m->sides.items[class_number] == BOTH_SIDES;
}
