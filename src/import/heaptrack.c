/* SPDX-License-Identifier: MIT */
/* Recordings of heaptrack: lines of a letter and numbers in small hexadecimal, of which these matter.
 *
 *   v 10400 3                     version of heaptrack and of the file
 *   X ./server -p 1               command line; I 1000 5e27ec: bytes of a page, and pages of memory
 *   s 5 alloc                     a string: its length (version 3) and itself. Numbered from 1, as i and t are
 *   i 7feb2851eb9f 8 c d 79 …     code: address of the call, module, then function, file and line, innermost first
 *   t 4 3                         a call path: its code, and the path of its caller
 *   a 11c00 4                     a kind of block: size and call path. Numbered from 0
 *   + 0, - 0                      a block of that kind came, went
 *   c 1f, R 2c0                   milliseconds since the start; pages that are resident
 *
 * Raw recordings, not yet interpreted, have addresses instead of kinds and names: `x EXE`, `m FILE BIAS (BEGIN SIZE)…`, `m -`
 * (all modules are gone: they are told anew), `t ADDRESS CALLER`, `+ SIZE PATH POINTER`, `- POINTER`.
 *
 * Kinds do not tell which of several blocks went: the youngest, since most blocks live short. When it was heaptrack's opinion that
 * the block was not temporary, it is the one before, if there is one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"
#include "import/import_format.h"

enum {
        HEAPTRACK_MAX_VERSION = 3,
        HEAPTRACK_FAST_BYTES = 64, /* a line of an event is shorter */
        HEAPTRACK_LINES = 32,      /* that are read before the first of them is looked at */
        HEAPTRACK_BLOCK_SHIFT =
                4, /* numbers of blocks as addresses, as far apart as allocators have them */
        HEAPTRACK_MAX_NAMES = 4096,
        HEAPTRACK_MAX_COMMAND = 4096,
};

#define HEAPTRACK_STEP_NS 10000000u   /* of the clock, unless the file shows a shorter one */
#define HEAPTRACK_MAX_MS (1ull << 43) /* 278 years: more do not fit into nanoseconds */

struct heaptrack_kind {
        uint64_t size_bytes;
        uint32_t stack;
        uint32_t youngest; /* its live blocks, the youngest first; 0: none */
        uint32_t first;    /* of the same size and path, whose blocks are all of theirs */
};

struct heaptrack_line {
        uint32_t kind;
        bool is_alloc;
};

struct heaptrack_part {
        uint64_t begin, end, bias;
        const char *path;
};

struct heaptrack {
        struct import_input *in;
        struct import_trace *t;
        struct err *reterr;
        struct arena *arena;
        uint32_t version;
        bool has_version, is_raw, is_attached;
        bool is_cut;  /* in the middle of a line */
        bool has_end; /* the counts that heaptrack_interpret writes when it has all */
        const char *exe, *command;
        bool is_in_command; /* it may go on: arguments have line ends, too */
        uint64_t page_bytes, now_ns;
        uint64_t
                step_ns; /* of times, the least from one to the next; the last, up to the end, is none */
        uint64_t last_step_ns;
        VEC(const char *) strings;
        VEC(uint32_t) locations; /* of i */
        VEC(uint32_t) stacks;    /* of t */
        VEC(struct heaptrack_kind) kinds;
        uint32_t other_thread; /* 0: none was needed */
        struct map kind_of;    /* hash of size and path → the last such kind, if it is one */
        VEC(uint32_t) next;  /* by block: the next older one of its kind, or the next free number */
        uint32_t free_block; /* 0: none */
        uint32_t latest_block;            /* that came last; 0: it has gone */
        uint64_t latest_kind;             /* UINT64_MAX: something has gone since */
        VEC(struct heaptrack_part) parts; /* of modules */
        size_t n_suppressions;
        VEC(struct import_function) functions;
};

/* ---- numbers ----------------------------------------------------------------------------------- */

static const int8_t hex_digits[256] = {
        ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
        ['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
        ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

/* The number at *at, which moves behind the blank that follows. False: there is none, or it is too large. */
static inline bool take_hex(const char **at, uint64_t *ret) {
        const char *p = *at;
        uint64_t v = 0;
        int digit;

        while ((digit = hex_digits[(uint8_t)*p]) != 0) {
                v = v << 4 | (uint64_t)(digit - 1);
                p++;
        }
        if (p == *at || p - *at > 16 || (*p != ' ' && *p != '\0' && *p != '\n'))
                return false;
        *at = p + (*p == ' ');
        *ret = v;
        return true;
}

static int refuse_line(struct heaptrack *h, const char *line) {
        return import_input_refuse(h->in, h->reterr, "'%.40s' is no line of a heaptrack recording",
                                   line);
}

/* ---- begin and words --------------------------------------------------------------------------- */

static int begin(struct heaptrack *h) {
        if (import_trace_is_begun(h->t))
                return 0;
        return import_trace_begin(h->t,
                                  &(struct import_begin){.has_no_threads = true,
                                                         .command = h->command,
                                                         .page_bytes = (uint32_t)MIN(h->page_bytes,
                                                                                     1u << 30)},
                                  h->reterr);
}

static int take_version(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        uint64_t tool, file = 0;

        if (h->has_version || !take_hex(&at, &tool))
                return refuse_line(h, line);
        if (!take_hex(&at,
                      &file)) /* before 1.0 there was one number, and files were like version 1 */
                file = tool == 0x10200;
        if (file > HEAPTRACK_MAX_VERSION)
                return import_input_refuse(h->in, h->reterr,
                                           "it is of version %llu, silt reads up to version %d",
                                           (unsigned long long)file, HEAPTRACK_MAX_VERSION);
        h->version = (uint32_t)file;
        h->has_version = true;
        return 0;
}

/* A string with its length before it, or, in old files, up to the next blank. NULL: it is damaged. */
static const char *take_string(struct heaptrack *h, const char **at, bool is_rest) {
        size_t n = is_rest ? strlen(*at) : strcspn(*at, " ");
        const char *text;
        uint64_t len = 0;

        if (h->version >= 3) {
                if (!take_hex(at, &len))
                        return NULL;
                n = strlen(*at);
                if (len > n)
                        return NULL;
                n = (size_t)len;
        }
        text = arena_strndup(h->arena, *at, n);
        *at += n + ((*at)[n] == ' ');
        return text;
}

static int add_string(struct heaptrack *h, const char *line) {
        const char *at = line + 2, *text = take_string(h, &at, true);

        if (!text)
                return import_input_refuse(h->in, h->reterr, "a string is shorter than its length");
        vec_push(&h->strings, text);
        return 0;
}

static const char *string_at(const struct heaptrack *h, uint64_t number) {
        return number && number <= h->strings.n ? h->strings.items[number - 1] : "";
}

/* ---- code and call paths ----------------------------------------------------------------------- */

/* Addresses are those in memory, and the file does not say where its modules were: code without a name is one place for each module, or
 * it would be another in each run. silt's own exports have offsets in the file, which are shorter. */
static bool is_nowhere(const struct heaptrack *h, uint64_t ip) {
        for (size_t i = 0; i < h->functions.n; i++)
                if (h->functions.items[i].name[0])
                        return false;
        return ip > UINT32_MAX;
}

static void name_nowhere(struct heaptrack *h, const char *module) {
        const char *base = strrchr(module, '/');
        struct str name = {0};

        str_addf(&name, "(code without a name%s%s)", module[0] ? " in " : "",
                 base ? base + 1 : module);
        vec_clear(&h->functions);
        vec_push(&h->functions,
                 (struct import_function){arena_strdup(h->arena, str_text(&name)), "", 0});
        str_done(&name);
}

/* The address of a call is one less than where it returns to. */
static int add_code(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        uint64_t ip, module = 0, function, file, number;
        uint32_t location;
        int r;

        if (!take_hex(&at, &ip) || !take_hex(&at, &module))
                return refuse_line(h, line);
        vec_clear(&h->functions);
        while (*at && h->functions.n < HEAPTRACK_MAX_NAMES) {
                file = number = 0;
                if (!take_hex(&at, &function) || (*at && !take_hex(&at, &file)) ||
                    (*at && !take_hex(&at, &number)))
                        return refuse_line(h, line);
                vec_push(&h->functions,
                         (struct import_function){string_at(h, function), string_at(h, file),
                                                  (uint32_t)MIN(number, UINT32_MAX)});
        }
        if (!h->functions.n)
                vec_push(&h->functions, (struct import_function){"", "", 0});
        if (is_nowhere(h, ip)) {
                name_nowhere(h, string_at(h, module));
                ip = 0;
        }
        r = import_trace_place(h->t,
                               &(struct import_place){.module = string_at(h, module),
                                                      .address = ip + 1,
                                                      .functions = h->functions.items,
                                                      .n_functions = h->functions.n},
                               &location, h->reterr);
        if (r >= 0)
                vec_push(&h->locations, location);
        return r;
}

/* Raw: the module that is there now. */
static int place_raw(struct heaptrack *h, uint64_t ip, uint32_t *ret) {
        struct import_place place = {.address = ip + 1};

        for (size_t i = h->parts.n; i-- > 0;) {
                const struct heaptrack_part *p = &h->parts.items[i];

                if (ip >= p->begin && ip < p->end) {
                        place.module = p->path;
                        place.address = ip + 1 - p->bias;
                        break;
                }
        }
        return import_trace_place(h->t, &place, ret, h->reterr);
}

static int add_path(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        uint64_t code, parent;
        uint32_t location, stack = 0;
        int r = 0;

        if (!take_hex(&at, &code) || !take_hex(&at, &parent) || parent > h->stacks.n ||
            (!h->is_raw && code > h->locations.n))
                return refuse_line(h, line);
        if (parent)
                stack = h->stacks.items[parent - 1];
        if (h->is_raw && code)
                r = place_raw(h, code, &location);
        else if (code)
                location = h->locations.items[code - 1];
        if (r >= 0 && code)
                r = import_trace_stack(h->t, stack, location, &stack);
        if (r < 0)
                return err_set_errno(h->reterr, r, "too many call paths");
        vec_push(&h->stacks, stack);
        return 0;
}

static int add_module(struct heaptrack *h, const char *line) {
        const char *at = line + 2, *path = take_string(h, &at, false);
        uint64_t bias, begin_at, size;

        if (!path)
                return refuse_line(h, line);
        h->is_raw = true;
        if (strcmp(path, "-") == 0) {
                vec_clear(&h->parts);
                return 0;
        }
        if (strcmp(path, "x") == 0)
                path = h->exe ? h->exe : "";
        if (!take_hex(&at, &bias))
                return refuse_line(h, line);
        while (take_hex(&at, &begin_at) && take_hex(&at, &size))
                vec_push(&h->parts, (struct heaptrack_part){bias + begin_at, bias + begin_at + size,
                                                            bias, path});
        return *at ? refuse_line(h, line) : 0;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static int add_kind(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        struct heaptrack_kind k = {0};
        uint64_t size, path, *known;
        bool is_new;

        if (!take_hex(&at, &size) || !take_hex(&at, &path) || path > h->stacks.n)
                return refuse_line(h, line);
        if (size >> 48) /* its events are put later, where nobody knows their lines */
                return import_input_refuse(h->in, h->reterr, "a block is too large");
        k.size_bytes = size;
        k.stack = path ? h->stacks.items[path - 1] : 0;
        k.first = (uint32_t)h->kinds.n;
        known = map_put(&h->kind_of, map_hash(size) ^ k.stack, k.first, &is_new);
        if (!is_new && h->kinds.items[*known].size_bytes == size &&
            h->kinds.items[*known].stack == k.stack)
                k.first = h->kinds.items[*known].first;
        *known = h->kinds.n;
        vec_push(&h->kinds, k);
        return 0;
}

static inline uint32_t block_new(struct heaptrack *h) {
        uint32_t block = h->free_block;

        if (block) {
                h->free_block = h->next.items[block];
                return block;
        }
        vec_push(&h->next, 0);
        return (uint32_t)(h->next.n - 1);
}

/* ---- events of kinds ------------------------------------------------------------------------- */

static inline uint64_t address_of(uint32_t block) {
        return (uint64_t)block << HEAPTRACK_BLOCK_SHIFT;
}

/* The kind that has the blocks of this one. */
static inline struct heaptrack_kind *kind_of_blocks(const struct heaptrack *h, uint64_t number) {
        return &h->kinds.items[h->kinds.items[number].first];
}

static inline int kind_came(struct heaptrack *h, uint64_t number) {
        struct heaptrack_kind *k = kind_of_blocks(h, number);
        uint32_t block = block_new(h);

        h->next.items[block] = k->youngest;
        k->youngest = h->latest_block = block;
        h->latest_kind = number;
        return import_trace_allocate(h->t, h->now_ns, 0, address_of(block), k->size_bytes,
                                     k->stack);
}

static uint32_t other_thread(struct heaptrack *h) {
        if (!h->other_thread && import_trace_add_thread(h->t, 0, "", &h->other_thread) < 0)
                h->other_thread = 0;
        return h->other_thread;
}

static inline int kind_went(struct heaptrack *h, uint64_t number) {
        struct heaptrack_kind *k = kind_of_blocks(h, number);
        uint32_t *link = &k->youngest, block, thread = 0;
        bool is_temporary;

        if (*link && *link == h->latest_block && h->latest_kind != number && h->next.items[*link])
                link = &h->next.items[*link];
        is_temporary = h->latest_kind == number;
        h->latest_kind = UINT64_MAX;
        block = *link;
        if (!block) /* before it was attached, or the file is damaged: no block is there */
                return import_trace_release(h->t, h->now_ns, 0, address_of(UINT32_MAX));
        *link = h->next.items[block];
        h->next.items[block] = h->free_block;
        h->free_block = block;
        /* silt calls the last block temporary that a thread frees, heaptrack only with nothing between: then another one freed it */
        if (block == h->latest_block && !is_temporary)
                thread = other_thread(h);
        return import_trace_release(h->t, h->now_ns, thread, address_of(block));
}

static int refuse_event(struct heaptrack *h, int r) {
        return r == -ERANGE
                       ? import_input_refuse(h->in, h->reterr, "a block is too large")
                       : import_input_refuse(h->in, h->reterr, "an event of something unknown");
}

static int take_event(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        bool is_alloc = line[0] == '+';
        uint64_t v, path, pointer;
        int r;

        if (!take_hex(&at, &v))
                return refuse_line(h, line);
        if (!h->is_raw && h->version) {
                if (v >= h->kinds.n)
                        return refuse_line(h, line);
                r = is_alloc ? kind_came(h, v) : kind_went(h, v);
        } else if (!is_alloc)
                r = import_trace_release(h->t, h->now_ns, 0, v);
        else {
                if (!take_hex(&at, &path) || !take_hex(&at, &pointer) || path > h->stacks.n)
                        return refuse_line(h, line);
                r = import_trace_allocate(h->t, h->now_ns, 0, pointer, v,
                                          path ? h->stacks.items[path - 1] : 0);
        }
        return r < 0 ? refuse_event(h, r) : 0;
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* heaptrack looks at the clock every 10 ms and at the end, silt's exports write every millisecond in which something was. */
static void take_time(struct heaptrack *h, uint64_t time_ns) {
        h->step_ns = MIN(h->step_ns, h->last_step_ns);
        h->last_step_ns = UINT64_MAX;
        if (time_ns <= h->now_ns)
                return;
        h->last_step_ns = time_ns - h->now_ns;
        h->now_ns = time_ns;
}

static int take_number(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        uint64_t v;

        if (!take_hex(&at, &v))
                return refuse_line(h, line);
        switch (line[0]) {
        case 'I': h->page_bytes = v; return 0;
        case 'R':
                if (__builtin_mul_overflow(v, h->page_bytes, &v) || v > 1ull << 56)
                        return refuse_line(h, line);
                return v ? import_trace_rss(h->t, h->now_ns, v) : 0;
        default:
                if (v > HEAPTRACK_MAX_MS)
                        return refuse_line(h, line);
                take_time(h, v * 1000000);
                return 0;
        }
}

static int take_exe(struct heaptrack *h, const char *line) {
        const char *at = line + 2;

        h->is_raw = true;
        h->exe = take_string(h, &at, true);
        return h->exe ? 0 : refuse_line(h, line);
}

/* What can only be a line of its own, and not the rest of an argument. */
static bool is_sure(struct heaptrack *h, const char *line) {
        const char *at = line + 2;
        uint64_t n;

        if (line[0] == 'A' || line[0] == '#' || !line[0] || line[1] != ' ')
                return strcmp(line, "A") == 0;
        if (line[0] == 's' || line[0] == 'm')
                return h->version < 3 || (take_hex(&at, &n) && n <= strlen(at));
        return line[0] == 'S' ||
               (strchr("Iita+-cR", line[0]) && !at[strspn(at, "0123456789abcdef ")]);
}

/* True: the line was the rest of the command. */
static bool take_command(struct heaptrack *h, const char *line) {
        struct str whole = {0};

        h->is_in_command &= !is_sure(h, line);
        if (!h->is_in_command)
                return false;
        /* a long one would be copied once for each of its lines */
        if (strlen(h->command) + 1 + strlen(line) > HEAPTRACK_MAX_COMMAND)
                return true;
        str_addf(&whole, "%s %s", h->command, line);
        h->command = arena_strdup(h->arena, str_text(&whole));
        str_done(&whole);
        return true;
}

static int take_line(struct heaptrack *h, const char *line, size_t n) {
        int r;

        if (h->is_in_command && take_command(h, line))
                return 0;
        h->has_end |= strncmp(line, "# strings: ", 11) == 0;
        if (!n || line[0] == '#')
                return 0;
        if (line[0] == 'A') {
                h->is_attached = true;
                return 0;
        }
        if (n < 2 || line[1] != ' ')
                return refuse_line(h, line);
        if (strchr("it+-cR", line[0]) && (r = begin(h)) < 0)
                return r;
        switch (line[0]) {
        case 'v': return take_version(h, line);
        case 'x': return take_exe(h, line);
        case 'X':
                if (!h->command) {
                        h->command = arena_strdup(h->arena, line + 2);
                        h->is_in_command = true;
                }
                return 0;
        case 'S': h->n_suppressions++; return 0;
        case 's': return add_string(h, line);
        case 'i': return add_code(h, line);
        case 't': return add_path(h, line);
        case 'a': return add_kind(h, line);
        case 'm': return add_module(h, line);
        case '+':
        case '-': return take_event(h, line);
        case 'I':
        case 'R':
        case 'c': return take_number(h, line);
        default: return refuse_line(h, line);
        }
}

/* Nearly all lines are "+ 1f" and "- 1f": some of them, where they are in the buffer, so that what they need is on its way while the next are read.
 * Whatever is unusual about a line is left to take_line. How many there are; *ret_end: behind the last. */
static size_t read_kinds(const struct heaptrack *h, size_t *ret_end,
                         struct heaptrack_line ret[HEAPTRACK_LINES]) {
        const struct import_input *in = h->in;
        size_t begin = in->begin, n = 0;

        while (n < HEAPTRACK_LINES && in->end - begin > HEAPTRACK_FAST_BYTES) {
                const char *line = (const char *)in->buf + begin, *at = line + 2;
                uint64_t number;

                if ((line[0] != '+' && line[0] != '-') || line[1] != ' ' ||
                    !take_hex(&at, &number) || *at != '\n' || number >= h->kinds.n)
                        break;
                __builtin_prefetch(&h->kinds.items[number], 1);
                begin += (size_t)(at + 1 - line);
                ret[n++] = (struct heaptrack_line){(uint32_t)number, line[0] == '+'};
        }
        *ret_end = begin;
        return n;
}

/* Which blocks they will most likely be of: the youngest of a kind goes, and who comes takes the number of the last that went. */
static void expect_kinds(const struct heaptrack *h, const struct heaptrack_line *lines, size_t n) {
        uint32_t gone[HEAPTRACK_LINES], next_block = (uint32_t)h->next.n;
        size_t n_gone = 0;

        if (h->free_block)
                gone[n_gone++] = h->free_block;
        for (size_t i = 0; i < n; i++)
                if (lines[i].is_alloc) {
                        import_trace_expect(h->t,
                                            address_of(n_gone ? gone[--n_gone] : next_block++),
                                            true);
                } else {
                        uint32_t block = kind_of_blocks(h, lines[i].kind)->youngest;

                        __builtin_prefetch(&h->next.items[block]);
                        import_trace_expect(h->t, address_of(block), false);
                        if (n_gone < HEAPTRACK_LINES)
                                gone[n_gone++] = block;
                }
}

/* 0, or -errno. */
static int take_kinds(struct heaptrack *h) {
        struct heaptrack_line lines[HEAPTRACK_LINES];
        struct import_input *in = h->in;
        size_t n = HEAPTRACK_LINES, end;
        int r = 0;

        while (r >= 0 && n == HEAPTRACK_LINES) {
                n = read_kinds(h, &end, lines);
                expect_kinds(h, lines, n);
                for (size_t i = 0; i < n && r >= 0; i++)
                        r = lines[i].is_alloc ? kind_came(h, lines[i].kind)
                                              : kind_went(h, lines[i].kind);
                in->taken_bytes += end - in->begin;
                in->n_lines += n;
                in->begin = end;
        }
        return r < 0 ? refuse_event(h, r) : 0;
}

/* A line that was cut off says something else than it did: it is not taken. */
static int read_lines(struct heaptrack *h) {
        struct import_input *in = h->in;
        char *line;
        size_t n;
        int r;

        for (;;) {
                uint64_t before;

                if (h->kinds.n && !h->is_raw && h->version && import_trace_is_begun(h->t) &&
                    (r = take_kinds(h)) < 0)
                        return r;
                before = in->taken_bytes;
                r = import_input_line(in, &line, &n, h->reterr);
                if (r <= 0)
                        return r;
                if (in->taken_bytes - before == n) {
                        import_trace_limit(h->t, "The file is cut off, and what is there was read");
                        h->is_cut = true;
                        return 0;
                }
                r = take_line(h, line, n);
                if (r < 0)
                        return r;
        }
}

static void tell(struct heaptrack *h) {
        char text[200];

        if (!h->is_raw && h->version)
                import_trace_limit(
                        h->t, "Of several blocks of one size and call path it does not say which "
                              "was freed: lifetimes, and which were temporary, are guesses");
        if (!h->is_raw && h->version && !h->has_end && !h->is_cut)
                import_trace_limit(
                        h->t,
                        "It lacks the end that heaptrack_interpret writes: if that was killed or failed, what followed is missing");
        if (h->is_attached)
                import_trace_limit(
                        h->t,
                        "heaptrack was attached to the running program, and what was allocated before is unknown");
        import_trace_limit(
                h->t,
                "What heaptrack's own suppressions name counts: heaptrack_print leaves it out of its leaks without --disable-builtin-suppressions");
        if (h->n_suppressions) {
                snprintf(
                        text, sizeof(text),
                        "It names %zu patterns of leaks that heaptrack passes over; silt counts them",
                        h->n_suppressions);
                import_trace_limit(h->t, text);
        }
}

static int read_recording(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct heaptrack h = {.in = in,
                              .t = t,
                              .reterr = reterr,
                              .arena = arena_new(),
                              .latest_kind = UINT64_MAX,
                              .step_ns = HEAPTRACK_STEP_NS,
                              .last_step_ns = UINT64_MAX};
        int r;

        vec_push(&h.next, 0); /* no block has this number */
        r = read_lines(&h);

        if (r >= 0)
                r = begin(&h);
        if (r >= 0) {
                tell(&h);
                import_trace_clock_step(t, h.step_ns);
                import_trace_end(t, h.now_ns, TRACE_ENDED_UNKNOWN, -1);
        }
        vec_free(&h.strings);
        vec_free(&h.locations);
        vec_free(&h.stacks);
        vec_free(&h.kinds);
        map_done(&h.kind_of);
        vec_free(&h.next);
        vec_free(&h.parts);
        vec_free(&h.functions);
        arena_free(h.arena);
        return r;
}

/* "v 10400 3", and on the next line the program or its command. */
static bool matches(const uint8_t *head, size_t n) {
        const uint8_t *end = memchr(head, '\n', MIN(n, 64u));
        size_t at = 2;

        if (!end || n < 4 || head[0] != 'v' || head[1] != ' ')
                return false;
        while (hex_digits[head[at]] || head[at] == ' ')
                at++;
        if (head[at] == '\r')
                at++;
        return head + at == end && (end + 1 == head + n || (end[1] && strchr("xXIAS#s", end[1])));
}

const struct import_format import_heaptrack = {
        .name = "heaptrack",
        .title = "a heaptrack recording",
        .lacks = "no threads, and times that are up to 10 ms off",
        .matches = matches,
        .read = read_recording,
};
