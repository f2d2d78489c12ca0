/* SPDX-License-Identifier: MIT */
/* Logs of glibc's mtrace(): what MALLOC_TRACE names is filled with lines such as
 *
 *   = Start
 *   @ ./server:(parse+0x1a)[0x11b1] + 0x55c3111bb4a0 0x64       a block came: address, size
 *   @ ./server:[0x1217] - 0x55c3111bb4a0                        it went
 *   @ ./server:[0x11f2] < 0x55c3111bb4a0                        realloc: the old block, then on a line of its own
 *   @ ./server:[0x11f2] > 0x55c3111bb5b0 0x1388                 the new one
 *   @ ./server:[0x11f2] ! 0x55c3111bb5b0 0x1388                 realloc failed
 *   = End
 *
 * Where the caller is unknown, the part from @ on is missing. Its address counts from where its file was mapped (since glibc 2.35; before that it is the
 * one in memory), which for programs of fixed place is not what the file itself counts from. */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "base/map.h"
#include "import/import_format.h"
#include "import/import_maps.h"

struct mtrace {
        struct import_input *in;
        struct import_trace *t;
        struct err *reterr;
        uint64_t old_address; /* of a realloc of which the second half is to come; 0: none */
        struct map bases;     /* hash of a file's path → its lowest address */
};

static int refuse_line(struct mtrace *m, const char *line) {
        return import_input_refuse(m->in, m->reterr, "'%.60s' is no line of an mtrace log", line);
}

/* "0x64", "0", "(nil)" */
static bool take_number(const char **at, uint64_t *ret) {
        char *end;

        *at += strspn(*at, " ");
        if (strncmp(*at, "(nil)", 5) == 0) {
                *ret = 0;
                *at += 5;
                return true;
        }
        if (!strchr("0123456789", **at) || !**at)
                return false;
        errno = 0;
        *ret = strtoull(*at, &end, 0);
        if (errno || end == *at || (*end && *end != ' '))
                return false;
        *at = end;
        return true;
}

/* 0: the file is not there, or may be mapped anywhere. */
static uint64_t lowest_address(const char *path) {
        int fd = import_maps_open(path);
        uint64_t lowest = UINT64_MAX;
        GElf_Phdr p;
        size_t n = 0;
        Elf *elf;

        if (fd < 0)
                return 0;
        elf_version(EV_CURRENT);
        elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
        if (elf && elf_getphdrnum(elf, &n) == 0)
                for (size_t i = 0; i < n; i++)
                        if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
                                lowest = MIN(lowest, p.p_vaddr);
        elf_end(elf);
        close(fd);
        return lowest == UINT64_MAX ? 0 : lowest;
}

static uint64_t base_of(struct mtrace *m, const char *path) {
        uint64_t hash = 5381, *base;
        bool is_new;

        for (const char *c = path; *c; c++)
                hash = hash * 33 + (uint8_t)*c;
        base = map_put(&m->bases, hash, 0, &is_new);
        if (is_new)
                *base = lowest_address(path);
        return *base;
}

/* "FILE:(FUNCTION+0x1a)[0x11b1]", each but the last may be missing. The end is cut off in place. */
static int take_caller(struct mtrace *m, char *where, uint32_t *ret_stack) {
        char *bracket = strrchr(where, '['), *name = NULL, *end;
        struct import_function function = {"", "", 0};
        struct import_place place = {0};
        uint32_t location;
        int r;

        *ret_stack = 0;
        if (!bracket)
                return 0;
        place.address = strtoull(bracket + 1, &end, 0);
        if (*end != ']')
                return 0;
        *bracket = '\0';
        if (bracket > where && bracket[-1] == ')' && (name = strrchr(where, '('))) {
                *name++ = '\0';
                name[strcspn(name, "+)")] = '\0';
                function.name = name;
        }
        end = where + strlen(where);
        if (end > where && end[-1] == ':')
                end[-1] = '\0';
        place.module = where;
        if (place.address < base_of(m, where))
                place.address += base_of(m, where);
        if (name && *name) {
                place.functions = &function;
                place.n_functions = 1;
        }
        r = import_trace_place(m->t, &place, &location, m->reterr);
        if (r >= 0)
                r = import_trace_stack(m->t, 0, location, ret_stack);
        return r < 0 ? err_set_errno(m->reterr, r, "too many callers") : 0;
}

static int put_event(struct mtrace *m, char op, uint64_t address, uint64_t size, uint32_t stack) {
        uint64_t old = m->old_address;

        if (op == '<') {
                m->old_address = address;
                return 0;
        }
        if (op == '>') {
                m->old_address = 0;
                return address ? import_trace_reallocate(m->t, 0, 0, old, address, size, stack) : 0;
        }
        if (op == '+' && address)
                return import_trace_allocate(m->t, 0, 0, address, size, stack);
        if (op == '-')
                return import_trace_release(m->t, 0, 0, address);
        return 0;
}

static int take_line(struct mtrace *m, char *line) {
        uint64_t address = 0, size = 0;
        const char *at = line;
        uint32_t stack = 0;
        char op;
        int r;

        if (!*line || *line == '=')
                return 0;
        if (*line == '@') {
                char *where = line + 1 + strspn(line + 1, " "), *end = strstr(where, "] ");

                if (!end)
                        return refuse_line(m, line);
                end[1] = '\0';
                at = end + 2;
                r = take_caller(m, where, &stack);
                if (r < 0)
                        return r;
        }
        op = *at;
        if (!op || !strchr("+-<>!", op))
                return refuse_line(m, at);
        at++;
        if (!take_number(&at, &address) || (strchr("+>!", op) && !take_number(&at, &size)))
                return refuse_line(m, at);
        r = put_event(m, op, address, size, stack);
        return r < 0 ? import_input_refuse(m->in, m->reterr, "a block is too large") : 0;
}

static int read_log(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct mtrace m = {.in = in, .t = t, .reterr = reterr};
        const struct import_begin begin = {.has_no_threads = true, .has_no_time = true};
        int r = import_trace_begin(t, &begin, reterr);
        char *line;
        size_t n;

        while (r >= 0) {
                uint64_t before = in->taken_bytes;

                r = import_input_line(in, &line, &n, reterr);
                if (r <= 0)
                        break;
                if (in->taken_bytes - before == n) /* cut off: it may have said something else */
                        break;
                r = take_line(&m, line);
        }
        map_done(&m.bases);
        return r < 0 ? r : 0; /* programs often end without muntrace() */
}

static bool matches(const uint8_t *head, size_t n) {
        static const char start[] = "= Start\n";
        const uint8_t *end = memchr(head, '\n', n);
        const char *ops[] = {"] + 0x", "] - 0x", "] < 0x"};

        if (n >= strlen(start) && memcmp(head, start, strlen(start)) == 0)
                return true;
        if (n < 2 || memcmp(head, "@ ", 2) != 0 || !end)
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
                if (memmem(head, (size_t)(end - head), ops[i], strlen(ops[i])))
                        return true;
        return false;
}

const struct import_format import_mtrace = {
        .name = "mtrace",
        .title = "an mtrace log",
        .lacks = "no threads, of call paths only the caller, and no times: events are numbered",
        .ends_with_line = true,
        .matches = matches,
        .read = read_log,
};
