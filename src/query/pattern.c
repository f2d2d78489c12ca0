/* SPDX-License-Identifier: MIT */
/* A pattern is compiled to the steps of a non-deterministic automaton, which a search follows all
 * at once: the set of steps it may be in, byte by byte. Jumps are relative, so that a
 * repeated part is a copy of its steps. */
#include "query/pattern.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/vec.h"

enum { PATTERN_MAX_DEPTH = 100, PATTERN_MAX_REPEAT = 1000 };

enum step_op {
        STEP_BYTE,    /* one byte of the set, then on */
        STEP_SPLIT,   /* on, or by jump */
        STEP_JUMP,    /* by jump */
        STEP_BEGIN,   /* only at the text's begin */
        STEP_END,     /* only at its end */
        STEP_EDGE,    /* only between a word's byte and another */
        STEP_NO_EDGE, /* only where there is no such edge */
        STEP_MATCH,
};

struct byte_set {
        uint64_t bits[4];
};

struct step {
        enum step_op op;
        int jump; /* relative to this step */
        struct byte_set set;
};

struct pattern {
        char *text;
        VEC(struct step) steps;
        /* of a search: the steps it is in, those it will be in, and those still to look at */
        int *now, *next, *todo;
        size_t n_now, n_next;
        unsigned *seen; /* step → round in which it was added */
        unsigned round;
};

/* ---- sets ------------------------------------------------------------------------------------ */

static void set_add(struct byte_set *s, unsigned char c) {
        s->bits[c / 64] |= 1ull << c % 64;
}

static bool set_has(const struct byte_set *s, unsigned char c) {
        return s->bits[c / 64] >> c % 64 & 1;
}

static void set_invert(struct byte_set *s) {
        for (unsigned i = 0; i < 4; i++)
                s->bits[i] = ~s->bits[i];
}

static bool is_word(unsigned char c) {
        return isalnum(c) || c == '_';
}

static void set_add_class(struct byte_set *s, int (*is_in)(int)) {
        for (int c = 0; c < 128; c++)
                if (is_in(c))
                        set_add(s, (unsigned char)c);
}

/* ---- compiling ------------------------------------------------------------------------------- */

struct compiler {
        struct pattern *p;
        const char *at; /* the next byte of the text */
        unsigned depth;
        struct err *reterr;
        int error;
};

static bool refuse(struct compiler *c, const char *why) {
        if (!c->error)
                c->error =
                        err_set(c->reterr, -EINVAL, "'%s' is not a pattern: %s", c->p->text, why);
        return false;
}

static struct step *emit(struct compiler *c, enum step_op op) {
        static struct step spare;
        struct step *s;

        if (c->p->steps.n >= PATTERN_MAX_STEPS) {
                refuse(c, "it would be too large: repeat less");
                return &spare;
        }
        s = vec_add(&c->p->steps);
        s->op = op;
        return s;
}

/* Opens a gap of one step at `at`: what follows moves, and with it goes every jump inside. */
static void insert(struct compiler *c, size_t at, enum step_op op, int jump) {
        struct step *items;

        emit(c, op);
        if (c->error)
                return;
        items = c->p->steps.items;
        memmove(&items[at + 1], &items[at], (c->p->steps.n - 1 - at) * sizeof(items[0]));
        memset(&items[at], 0, sizeof(items[at]));
        items[at].op = op;
        items[at].jump = jump;
}

static void copy(struct compiler *c, size_t begin, size_t end) {
        for (size_t i = begin; i < end && !c->error; i++) {
                struct step s = c->p->steps.items[i];

                *emit(c, s.op) = s;
        }
}

static bool compile_choice(struct compiler *c);

static const struct {
        const char *name;
        int (*is_in)(int);
} classes[] = {
        {"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
        {"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
        {"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

static bool take_class(struct compiler *c, struct byte_set *set) {
        for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
                size_t n = strlen(classes[i].name);

                if (strncmp(c->at, classes[i].name, n) == 0 && c->at[n] == ':' &&
                    c->at[n + 1] == ']') {
                        set_add_class(set, classes[i].is_in);
                        c->at += n + 2;
                        return true;
                }
        }
        return refuse(c, "no such class of bytes: use [:alpha:], [:digit:] and the like");
}

/* Behind the '['. */
static bool compile_bracket(struct compiler *c) {
        struct byte_set set = {0};
        bool is_inverted = *c->at == '^', is_first = true;

        c->at += is_inverted;
        for (; *c->at != ']' || is_first; is_first = false) {
                unsigned char low = (unsigned char)*c->at, high = low;

                if (!low)
                        return refuse(c, "'[' without ']'");
                c->at++;
                if (low == '[' && *c->at == ':') {
                        c->at++;
                        if (!take_class(c, &set))
                                return false;
                        continue;
                }
                if (low == '[' && (*c->at == '.' || *c->at == '='))
                        return refuse(c, "'[.' and '[=' are not understood");
                if (c->at[0] == '-' && c->at[1] && c->at[1] != ']') {
                        high = (unsigned char)c->at[1];
                        c->at += 2;
                }
                if (high < low)
                        return refuse(c, "a range in '[ ]' runs backwards");
                for (unsigned b = low; b <= high; b++)
                        set_add(&set, (unsigned char)b);
        }
        c->at++;
        if (is_inverted)
                set_invert(&set);
        emit(c, STEP_BYTE)->set = set;
        return !c->error;
}

/* Behind the backslash. */
static bool compile_escape(struct compiler *c) {
        unsigned char what = (unsigned char)*c->at++;
        struct byte_set set = {0};

        switch (what) {
        case 'b': emit(c, STEP_EDGE); return !c->error;
        case 'B': emit(c, STEP_NO_EDGE); return !c->error;
        case 'd':
        case 'D': set_add_class(&set, isdigit); break;
        case 's':
        case 'S': set_add_class(&set, isspace); break;
        case 'w':
        case 'W':
                set_add_class(&set, isalnum);
                set_add(&set, '_');
                break;
        case 0: return refuse(c, "it ends in a backslash");
        default:
                if (isalnum(what))
                        return refuse(c, isdigit(what) ? "there are no back references"
                                                       : "unknown letter behind a backslash");
                set_add(&set, what);
                break;
        }
        if (isupper(what))
                set_invert(&set);
        emit(c, STEP_BYTE)->set = set;
        return !c->error;
}

static bool compile_group(struct compiler *c) {
        if (++c->depth > PATTERN_MAX_DEPTH)
                return refuse(c, "too many '(' in each other");
        if (!compile_choice(c))
                return false;
        if (*c->at != ')')
                return refuse(c, "'(' without ')'");
        c->at++;
        c->depth--;
        return true;
}

static bool compile_atom(struct compiler *c) {
        struct byte_set set = {0};
        unsigned char b = (unsigned char)*c->at++;

        switch (b) {
        case '(': return compile_group(c);
        case '[': return compile_bracket(c);
        case '\\': return compile_escape(c);
        case '^': emit(c, STEP_BEGIN); return !c->error;
        case '$': emit(c, STEP_END); return !c->error;
        case '*':
        case '+':
        case '?': return refuse(c, "nothing stands before '*', '+' or '?' that could be repeated");
        case '.': set_invert(&set); break;
        default: set_add(&set, b); break;
        }
        emit(c, STEP_BYTE)->set = set;
        return !c->error;
}

/* {m}, {m,} or {m,n} at `at`; anything else in braces stands for itself, as in {{closure}}. */
static const char *parse_interval(const char *at, unsigned *ret_min, unsigned *ret_max) {
        unsigned numbers[2] = {0, 0}, i = 0;
        bool has_digits[2] = {false, false};

        for (at++; *at && *at != '}'; at++) {
                if (*at == ',' && i == 0) {
                        i = 1;
                } else if (isdigit((unsigned char)*at)) {
                        has_digits[i] = true;
                        numbers[i] = MIN(numbers[i] * 10 + (unsigned)(*at - '0'),
                                         (unsigned)PATTERN_MAX_REPEAT + 1);
                } else {
                        return NULL;
                }
        }
        if (!*at || !has_digits[0])
                return NULL;
        *ret_min = numbers[0];
        *ret_max = i == 0 ? numbers[0] : has_digits[1] ? numbers[1] : UINT32_MAX;
        return at + 1;
}

/* begin ...: what is repeated. */
static bool repeat(struct compiler *c, size_t begin, unsigned min, unsigned max) {
        size_t end = c->p->steps.n;
        int n = (int)(end - begin);

        if (min > PATTERN_MAX_REPEAT || (max != UINT32_MAX && max > PATTERN_MAX_REPEAT))
                return refuse(c, "it would be too large: repeat less");
        if (max < min)
                return refuse(c, "'{m,n}' with m above n");
        if (max == 0) {
                c->p->steps.n = begin;
                return true;
        }
        for (unsigned i = 1; i < min && !c->error; i++)
                copy(c, begin, end);
        if (max == UINT32_MAX && min == 0) { /* split to behind; part; jump to the split */
                insert(c, begin, STEP_SPLIT, n + 2);
                emit(c, STEP_JUMP)->jump = -(n + 1);
        } else if (max == UINT32_MAX) { /* the last part; split on, or back to its begin */
                emit(c, STEP_SPLIT)->jump = -n;
        } else if (min == 0) { /* every part may be the first that is left out */
                insert(c, begin, STEP_SPLIT, n + 1);
                begin++, end++;
                for (unsigned i = 1; i < max && !c->error; i++) {
                        emit(c, STEP_SPLIT)->jump = n + 1;
                        copy(c, begin, end);
                }
        } else {
                for (unsigned i = min; i < max && !c->error; i++) {
                        emit(c, STEP_SPLIT)->jump = n + 1;
                        copy(c, begin, end);
                }
        }
        return !c->error;
}

/* An atom and what repeats it. Edges and anchors cannot be repeated. */
static bool compile_piece(struct compiler *c) {
        bool is_anchor = *c->at == '^' || *c->at == '$' ||
                         (*c->at == '\\' && (c->at[1] == 'b' || c->at[1] == 'B'));
        size_t begin = c->p->steps.n;

        if (!compile_atom(c))
                return false;
        for (;;) {
                unsigned min = 0, max = UINT32_MAX;
                const char *behind = c->at + 1;

                if (*c->at == '+')
                        min = 1;
                else if (*c->at == '?')
                        max = 1;
                else if (*c->at == '{')
                        behind = parse_interval(c->at, &min, &max);
                else if (*c->at != '*')
                        return true;
                if (!behind)
                        return true; /* a brace that stands for itself comes next */
                if (is_anchor)
                        return refuse(c, "'^', '$' and '\\b' cannot be repeated");
                c->at = behind;
                if (!repeat(c, begin, min, max))
                        return false;
        }
}

/* a|b|c: split to the next, part, jump to the end. */
static bool compile_choice(struct compiler *c) {
        VEC(size_t) jumps = {0};
        size_t begin = c->p->steps.n;

        while (!c->error) {
                while (*c->at && *c->at != '|' && *c->at != ')')
                        if (!compile_piece(c))
                                break;
                if (c->error || *c->at != '|')
                        break;
                c->at++;
                insert(c, begin, STEP_SPLIT, (int)(c->p->steps.n - begin) + 2);
                vec_push(&jumps, c->p->steps.n);
                emit(c, STEP_JUMP);
                begin = c->p->steps.n;
        }
        for (size_t i = 0; i < jumps.n && !c->error; i++)
                c->p->steps.items[jumps.items[i]].jump = (int)(c->p->steps.n - jumps.items[i]);
        vec_free(&jumps);
        return !c->error;
}

static void *scratch(size_t n) {
        void *p = calloc(n, sizeof(int));

        if (!p)
                abort();
        return p;
}

int pattern_new(const char *text, struct pattern **ret, struct err *reterr) {
        _cleanup_(pattern_freep) struct pattern *p = calloc(1, sizeof(*p));
        struct compiler c = {.p = p, .reterr = reterr};
        size_t n;

        if (!p || !(p->text = strdup(text)))
                abort();
        c.at = p->text;
        if (compile_choice(&c) && *c.at)
                refuse(&c, "')' without '('");
        if (!c.error)
                emit(&c, STEP_MATCH);
        if (c.error)
                return c.error;
        n = p->steps.n;
        p->now = scratch(n + 1);
        p->next = scratch(n + 1);
        p->todo = scratch(2 * n + 2);
        p->seen = scratch(n + 1);
        *ret = TAKE_PTR(p);
        return 0;
}

struct pattern *pattern_free(struct pattern *p) {
        if (!p)
                return NULL;
        vec_free(&p->steps);
        free(p->text);
        free(p->now);
        free(p->next);
        free(p->todo);
        free(p->seen);
        free(p);
        return NULL;
}

const char *pattern_text(const struct pattern *p) {
        return p->text;
}

/* ---- searching ------------------------------------------------------------------------------- */

/* What lies before and behind a place in the text; 0: nothing. */
struct place {
        unsigned char before, behind;
        bool is_begin;
};

static bool place_is_edge(struct place at) {
        return is_word(at.before) != is_word(at.behind);
}

/* Adds the steps that take a byte and can be reached from `from` without taking one; true when
 * the end can be. */
static bool follow(struct pattern *p, int from, struct place at, int *list, size_t *n) {
        size_t n_todo = 0;

        p->todo[n_todo++] = from;
        while (n_todo > 0) {
                int i = p->todo[--n_todo];
                const struct step *s = &p->steps.items[i];

                if (p->seen[i] == p->round)
                        continue;
                p->seen[i] = p->round;
                switch (s->op) {
                case STEP_BYTE: list[(*n)++] = i; break;
                case STEP_SPLIT:
                        p->todo[n_todo++] = i + s->jump;
                        p->todo[n_todo++] = i + 1;
                        break;
                case STEP_JUMP: p->todo[n_todo++] = i + s->jump; break;
                case STEP_BEGIN:
                        if (at.is_begin)
                                p->todo[n_todo++] = i + 1;
                        break;
                case STEP_END:
                        if (!at.behind)
                                p->todo[n_todo++] = i + 1;
                        break;
                case STEP_EDGE:
                        if (place_is_edge(at))
                                p->todo[n_todo++] = i + 1;
                        break;
                case STEP_NO_EDGE:
                        if (!place_is_edge(at))
                                p->todo[n_todo++] = i + 1;
                        break;
                case STEP_MATCH: return true;
                }
        }
        return false;
}

static void next_round(struct pattern *p) {
        if (++p->round == 0) { /* after 4 billion bytes */
                memset(p->seen, 0, p->steps.n * sizeof(p->seen[0]));
                p->round = 1;
        }
}

bool pattern_matches(struct pattern *p, const char *text) {
        struct place at = {.behind = (unsigned char)*text, .is_begin = true};

        p->n_now = 0;
        next_round(p);
        for (;; text++) {
                int *list;

                /* a match may begin here too */
                if (follow(p, 0, at, p->now, &p->n_now))
                        return true;
                if (!at.behind)
                        return false;
                next_round(p);
                p->n_next = 0;
                at = (struct place){.before = (unsigned char)text[0],
                                    .behind = (unsigned char)text[1]};
                for (size_t i = 0; i < p->n_now; i++)
                        if (set_has(&p->steps.items[p->now[i]].set, at.before) &&
                            follow(p, p->now[i] + 1, at, p->next, &p->n_next))
                                return true;
                list = p->now;
                p->now = p->next;
                p->next = list;
                p->n_now = p->n_next;
        }
}
