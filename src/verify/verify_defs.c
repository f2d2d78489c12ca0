/* SPDX-License-Identifier: MIT */
#include "verify/verify_state.h"

static void skip_string(struct bytes_reader *r) {
        const uint8_t *end = memchr(r->pos, 0, bytes_left(r));

        r->bad |= !end;
        if (end)
                r->pos = end + 1;
}

static bool bad_id(struct verify *v, const char *what, uint64_t id, uint64_t row) {
        return verify_bad(v, TRACE_E_BAD_ID, "row %llu names %s %llu, which is not defined",
                          (unsigned long long)row, what, (unsigned long long)id);
}

static bool check_meta(struct verify *v, struct bytes_reader *r) {
        uint32_t flags, n_args;

        if (bytes_le32(v->head) != TRACE_FORMAT_VERSION)
                return verify_bad(v, TRACE_E_TOO_NEW, "format version %u", bytes_le32(v->head));
        if (v->has_meta)
                verify_bad(v, TRACE_E_BAD_ORDER, "a second META");
        v->has_meta = true;
        bytes_take(r, 12);
        flags = bytes_u32(r);
        bytes_take(r, 16);
        n_args = bytes_u32(r);
        if (!trace_flags_are_valid(flags, bytes_u32(r)))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                  "flags or a unit that are unknown or do not go together");
        v->meta_flags = flags;
        for (uint64_t i = 0; i < 3 + (uint64_t)n_args && !r->bad; i++)
                skip_string(r);
        return true;
}

static bool check_modules(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint8_t len;

                bytes_u64(r);
                len = bytes_u8(r);
                if (len > TRACE_MAX_BUILD_ID_BYTES)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "row %u: a build-id of %u bytes",
                                          i, len);
                bytes_take(r, len);
                skip_string(r);
        }
        v->n_modules += n;
        return true;
}

static bool check_locations(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) {
                uint64_t module = bytes_varint(r);

                if (module > v->n_modules)
                        return bad_id(v, "module", module - 1, i);
        }
        for (uint32_t i = 0; i < n; i++)
                bytes_varint(r);
        v->n_locations += n;
        return true;
}

static bool check_stacks(struct verify *v, struct bytes_reader *r, uint32_t n) {
        uint64_t location = 0;

        for (uint32_t i = 0; i < n; i++) {
                uint64_t up = bytes_varint(r);

                if (up == 0 || up > v->n_stacks + i)
                        return bad_id(v, "a parent up by", up, i);
        }
        for (uint32_t i = 0; i < n; i++) {
                location += (uint64_t)bytes_unzigzag(bytes_varint(r));
                if (location >= v->n_locations)
                        return bad_id(v, "location", location, i);
        }
        v->n_stacks += n;
        return true;
}

static bool check_processes(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                struct verify_process p = {0};
                uint32_t n_args;

                bytes_u32(r);
                p.parent = bytes_u32(r);
                bytes_u32(r);
                n_args = bytes_u32(r);
                bytes_u64(r);
                for (uint64_t k = 0; k < 1 + (uint64_t)n_args && !r->bad; k++)
                        skip_string(r);
                if (p.parent != TRACE_NO_PROCESS && p.parent >= v->processes.n)
                        return bad_id(v, "parent process", p.parent, i);
                vec_push(&v->processes, p);
        }
        return true;
}

static bool check_process_ends(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t process = bytes_u32(r), ended = bytes_u32(r);

                bytes_take(r, 40);
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                if (ended > TRACE_ENDED_EXEC)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "row %u: ended is %u", i, ended);
        }
        return true;
}

static bool check_threads(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t process = bytes_u32(r);

                bytes_take(r, 12);
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                vec_push(&v->thread_process, process);
                vec_push(&v->last_seq, 0);
                v->n_threads++;
        }
        return true;
}

static bool check_thread_names(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t thread = bytes_u32(r);

                skip_string(r);
                if (thread >= v->n_threads)
                        return bad_id(v, "thread", thread, i);
        }
        return true;
}

static bool check_titles(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t process = bytes_u32(r);

                skip_string(r);
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
        }
        return true;
}

static bool check_notes(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                bytes_u64(r);
                skip_string(r);
        }
        return true;
}

static bool check_costs(struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++)
                bytes_take(r, 24);
        return true;
}

/* Sums: they only grow. */
static bool check_tallies(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint64_t process = bytes_u64(r), f[8];

                for (size_t k = 0; k < ARRAY_SIZE(f); k++)
                        f[k] = bytes_u64(r);
                if (r->bad)
                        break;
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                if (!(v->meta_flags & TRACE_IS_SAMPLED))
                        return verify_bad(
                                v, TRACE_E_BAD_PAYLOAD,
                                "row %u: a tally, but META says that everything is recorded", i);
                for (size_t k = 0; k < 6; k++) { /* time, allocations, … , samples not kept */
                        uint64_t *last = &v->processes.items[process].tally[k];

                        if (f[k] < *last)
                                return verify_bad(v, TRACE_E_BAD_ORDER,
                                                  "row %u: a sum of process %llu shrinks", i,
                                                  (unsigned long long)process);
                        *last = f[k];
                }
        }
        return true;
}

static bool check_allocators(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t process = bytes_u32(r);

                bytes_take(r, 16);
                for (int k = 0; k < 3; k++)
                        skip_string(r);
                if (!r->bad && process >= v->processes.n)
                        return bad_id(v, "process", process, i);
        }
        return true;
}

/* What must hold of any row: docs/trace-format.md, "PRIO". */
static bool check_priors(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t process = bytes_u32(r), flags = bytes_u32(r);
                uint64_t f[7];

                for (size_t k = 0; k < ARRAY_SIZE(f); k++)
                        f[k] = bytes_u64(r);
                skip_string(r);
                if (r->bad)
                        break;
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                if (flags > 7 || (flags & 3) == 2 || f[3] > f[2] ||
                    (!(flags & 1) && (f[2] || f[6])) || (!(flags & 4) && (f[4] || f[5])))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "row %u: the memory held before is impossible", i);
        }
        return true;
}

/* What must hold of any row: docs/trace-format.md, "ROOM". */
static bool check_rooms(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t process = bytes_u32(r), flags = bytes_u32(r), version = bytes_u32(r);
                const uint8_t *path;

                bytes_take(r, 8 + 16 * 8);
                path = r->pos;
                skip_string(r);
                if (r->bad)
                        break;
                if (process != TRACE_NO_PROCESS && process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                if (flags > 1 || version > 2 || (version == 0) != (r->pos == path + 1))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD,
                                          "row %u: a group or machine that cannot be", i);
        }
        return true;
}

static bool check_samples(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint64_t process = bytes_varint(r);

                for (int k = 0; k < 8; k++)
                        bytes_varint(r);
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
        }
        return true;
}

/* What must hold of any row: docs/trace-format.md, "RESI". */
static bool residency_can_be(const uint64_t *f, uint64_t time_ns, uint64_t ago_ns) {
        const uint64_t *now = f, *peak = f + 3, *seen = f + 6, max_touched_bytes = f[9];

        for (int k = 0; k < 3; k++)
                if (now[k] > seen[k] || peak[k] > seen[k])
                        return false;
        return ago_ns <= time_ns && now[1] <= peak[1] && seen[2] <= seen[1] &&
               now[2] <= max_touched_bytes && peak[2] <= max_touched_bytes &&
               max_touched_bytes <= peak[1];
}

static bool check_residency(struct verify *v, struct bytes_reader *r, uint32_t n) {
        uint64_t time_ns = 0;

        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint64_t process = bytes_varint(r), stack = bytes_varint(r), ago_ns, fields[10];

                time_ns += (uint64_t)bytes_unzigzag(bytes_varint(r));
                ago_ns = bytes_varint(r);
                for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
                        fields[k] = bytes_varint(r);
                if (r->bad)
                        return true;
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                if (stack >= v->n_stacks)
                        return bad_id(v, "stack", stack, i);
                if (!residency_can_be(fields, time_ns, ago_ns))
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "row %u: impossible figures", i);
        }
        return true;
}

static bool check_mappings(struct verify *v, struct bytes_reader *r, uint32_t n) {
        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint64_t process = bytes_varint(r), thread = bytes_varint(r),
                         stack = bytes_varint(r);
                uint64_t op = bytes_varint(r);

                for (int k = 0; k < 7; k++)
                        bytes_varint(r);
                if (process >= v->processes.n)
                        return bad_id(v, "process", process, i);
                if (thread > v->n_threads)
                        return bad_id(v, "thread", thread - 1, i);
                if (stack >= v->n_stacks)
                        return bad_id(v, "stack", stack, i);
                if (op >= TRACE_N_MAPPING_OPS)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "row %u: op %llu", i,
                                          (unsigned long long)op);
        }
        return true;
}

static bool check_symbols(struct verify *v, struct bytes_reader *r, uint32_t n) {
        uint64_t n_strings = bytes_varint(r), text_bytes = bytes_varint(r), location = 0, last = 0;
        const uint8_t *text =
                text_bytes <= bytes_left(r) ? bytes_take(r, (size_t)text_bytes) : NULL;
        uint64_t n_ends = 0;

        if (!text)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "its strings are longer than the chunk");
        for (uint64_t i = 0; i < text_bytes; i++)
                n_ends += text[i] == 0;
        if (n_ends != n_strings || (text_bytes && text[text_bytes - 1]))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "%llu strings, but the head says %llu",
                                  (unsigned long long)n_ends, (unsigned long long)n_strings);
        for (uint32_t i = 0; i < n; i++, last = location) {
                location += (uint64_t)bytes_unzigzag(bytes_varint(r));
                if (location >= v->n_locations)
                        return bad_id(v, "location", location, i);
                if (location < last)
                        return verify_bad(v, TRACE_E_BAD_ORDER, "row %u is not sorted", i);
        }
        for (uint64_t i = 0; i < 2 * (uint64_t)n && !r->bad; i++)
                if (bytes_varint(r) >= n_strings)
                        return bad_id(v, "a string beyond", n_strings, i % n);
        for (uint32_t i = 0; i < n; i++)
                bytes_varint(r);
        for (uint32_t i = 0; i < n; i++)
                r->bad |= bytes_u8(r) > (TRACE_SYMBOL_INLINED | TRACE_SYMBOL_GUESS);
        return true;
}

static bool check_module_names(struct verify *v, struct bytes_reader *r, uint32_t n) {
        uint64_t next = 0;

        for (uint32_t i = 0; i < n && !r->bad; i++) {
                uint32_t module = bytes_u32(r), naming = bytes_u8(r);

                skip_string(r);
                skip_string(r);
                if (module >= v->n_modules)
                        return bad_id(v, "module", module, i);
                if (module < next)
                        return verify_bad(v, TRACE_E_BAD_ORDER, "row %u is not sorted", i);
                if (naming >= TRACE_N_NAMINGS)
                        return verify_bad(v, TRACE_E_BAD_PAYLOAD, "row %u: naming is %u", i,
                                          naming);
                next = (uint64_t)module + 1;
        }
        return true;
}

/* Ids go on where the last chunk of the kind ended; kinds without ids have 0 there. */
static bool check_first_id(struct verify *v, uint32_t first_id) {
        uint64_t expected = v->kind == TRACE_MODS   ? v->n_modules
                            : v->kind == TRACE_LOCS ? v->n_locations
                            : v->kind == TRACE_STKS ? v->n_stacks
                            : v->kind == TRACE_PROC ? v->processes.n
                            : v->kind == TRACE_THRD ? v->n_threads
                            : v->kind == TRACE_SYMS ? v->next_generation
                            : v->kind == TRACE_NSRC ? v->next_generation - 1
                                                    : 0;

        if (v->kind == TRACE_META)
                return true;
        if (first_id != expected)
                return verify_bad(v, TRACE_E_BAD_ORDER, "begins at id %u, but %llu is next",
                                  first_id, (unsigned long long)expected);
        if (v->kind == TRACE_SYMS)
                v->next_generation++;
        return true;
}

static bool check_rows(struct verify *v, struct bytes_reader *r, uint32_t n) {
        switch (v->kind) {
        case TRACE_META: return check_meta(v, r);
        case TRACE_MODS: return check_modules(v, r, n);
        case TRACE_LOCS: return check_locations(v, r, n);
        case TRACE_STKS: return check_stacks(v, r, n);
        case TRACE_PROC: return check_processes(v, r, n);
        case TRACE_PEND: return check_process_ends(v, r, n);
        case TRACE_THRD: return check_threads(v, r, n);
        case TRACE_TITL: return check_titles(v, r, n);
        case TRACE_TNAM: return check_thread_names(v, r, n);
        case TRACE_NOTE: return check_notes(v, r, n);
        case TRACE_COST: return check_costs(r, n);
        case TRACE_PRIO: return check_priors(v, r, n);
        case TRACE_ROOM: return check_rooms(v, r, n);
        case TRACE_TALY: return check_tallies(v, r, n);
        case TRACE_ALOC: return check_allocators(v, r, n);
        case TRACE_SMPL: return check_samples(v, r, n);
        case TRACE_RESI: return check_residency(v, r, n);
        case TRACE_MAPS: return check_mappings(v, r, n);
        case TRACE_NSRC: return check_module_names(v, r, n);
        default: return check_symbols(v, r, n);
        }
}

bool verify_definitions(struct verify *v) {
        struct bytes_reader r = bytes_reader_of(v->raw.items, v->raw.n);
        uint32_t n = bytes_le32(v->head + 4);

        if (v->head_bytes != TRACE_DEFS_HEAD_BYTES)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "a head of %u bytes", v->head_bytes);
        if (!check_first_id(v, bytes_le32(v->head)))
                return false;
        if (n > v->raw.n)
                return verify_bad(v, TRACE_E_TOO_LARGE, "claims %u rows in %zu bytes", n, v->raw.n);
        if (v->kind == TRACE_META && n)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "reserved bytes that are not zero");
        if (!check_rows(v, &r, n))
                return false;
        if (r.bad)
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "ends inside a row");
        if (bytes_left(&r))
                return verify_bad(v, TRACE_E_BAD_PAYLOAD, "%zu bytes are left over",
                                  bytes_left(&r));
        return true;
}
