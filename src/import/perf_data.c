/* SPDX-License-Identifier: MIT */
/* perf's own file, perf.data, the smallest byte first:
 *
 *   "PERFILE2", sizes, where the sections are
 *   attributes: what each event is, and what its samples carry
 *   data: records of mappings, forks, samples …, each with type, flags and size before it
 *
 * Samples are counted, of the first event alone. Mappings are read first, of all the time together: samples need them, and perf writes
 * them in no strict order. What perf compressed or the hardware traced is refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "import/import_format.h"
#include "import/import_maps.h"

enum {
        PERF_HEAD_BYTES = 104,
        PERF_MIN_ATTR_BYTES = 48,
        PERF_RECORD_HEAD_BYTES = 8,
        PERF_MAX_PROCESSES = 4096,
        PERF_MAX_PARENTS = 16,
        /* records */
        PERF_MMAP = 1,
        PERF_FORK = 7,
        PERF_SAMPLE = 9,
        PERF_MMAP2 = 10,
        PERF_AUXTRACE = 71,
        PERF_COMPRESSED = 81,
        PERF_COMPRESSED2 = 83,
        PERF_MISC_DATA = 1 << 13, /* a mapping that holds no code */
        PERF_MISC_CPU = 7,        /* where the sample was: 1 in the kernel */
        /* what samples carry */
        PERF_HAS_IP = 1 << 0,
        PERF_HAS_TID = 1 << 1,
        PERF_HAS_TIME = 1 << 2,
        PERF_HAS_ADDR = 1 << 3,
        PERF_HAS_READ = 1 << 4,
        PERF_HAS_CALLCHAIN = 1 << 5,
        PERF_HAS_ID = 1 << 6,
        PERF_HAS_CPU = 1 << 7,
        PERF_HAS_PERIOD = 1 << 8,
        PERF_HAS_STREAM_ID = 1 << 9,
        PERF_HAS_STACK_USER = 1 << 13,
        PERF_HAS_IDENTIFIER = 1 << 16,
        PERF_READ_GROUP = 1 << 3,
};

#define PERF_CONTEXT_MAX ((uint64_t)-4095) /* from here on numbers are marks within call chains */
#define PERF_CONTEXT_USER ((uint64_t)-512)

struct perf_process {
        struct import_maps maps;
        uint32_t parent; /* index + 1; 0: none */
};

struct perf_data {
        struct import_input *in;
        struct import_trace *t;
        bytes_buf bytes;
        uint64_t sample_type, read_format;
        struct map ids; /* of the first event */
        size_t n_events;
        VEC(struct perf_process) processes;
        struct map by_pid; /* → index in processes */
        uint64_t n_samples, n_others;
};

static bool matches(const uint8_t *head, size_t n) {
        return n >= 16 && memcmp(head, "PERFILE2", 8) == 0;
}

static int refuse(const struct perf_data *p, uint64_t at, struct err *reterr, const char *why) {
        return err_set(reterr, -EINVAL, "'%s', byte %llu: %s", p->in->path, (unsigned long long)at,
                       why);
}

static bool is_inside(const struct perf_data *p, uint64_t offset, uint64_t n) {
        return offset <= p->bytes.n && n <= p->bytes.n - offset;
}

/* ---- head and attributes ------------------------------------------------------------------------ */

static int read_attributes(struct perf_data *p, struct err *reterr) {
        const uint8_t *b = p->bytes.items;
        uint64_t each = bytes_le64(b + 16), at = bytes_le64(b + 24), size = bytes_le64(b + 32);
        uint64_t ids_at, ids_bytes;
        bool is_new;

        if (each < PERF_MIN_ATTR_BYTES + 16 || size < each || !is_inside(p, at, size))
                return refuse(p, 16, reterr, "the attributes of events are not in the file");
        p->n_events = size / each;
        p->sample_type = bytes_le64(b + at + 24);
        p->read_format = bytes_le64(b + at + 32);
        ids_at = bytes_le64(b + at + each - 16), ids_bytes = bytes_le64(b + at + each - 8);
        if (!is_inside(p, ids_at, ids_bytes))
                return refuse(p, at, reterr, "the ids of an event are not in the file");
        for (uint64_t i = 0; i + 8 <= ids_bytes; i += 8)
                map_put(&p->ids, bytes_le64(b + ids_at + i), 1, &is_new);
        return 0;
}

/* ---- mappings ----------------------------------------------------------------------------------- */

static int find_process(struct perf_data *p, uint32_t pid, uint64_t at, size_t *ret,
                        struct err *reterr) {
        bool is_new;
        uint64_t *place = map_put(&p->by_pid, pid, p->processes.n, &is_new);

        if (is_new && p->processes.n == PERF_MAX_PROCESSES)
                return refuse(p, at, reterr, "too many processes");
        if (is_new)
                import_maps_init(&vec_add(&p->processes)->maps);
        *ret = *place;
        return 0;
}

static int take_mapping(struct perf_data *p, uint64_t at, size_t n, uint32_t type,
                        struct err *reterr) {
        const uint8_t *r = p->bytes.items + at;
        size_t name_at = type == PERF_MMAP2 ? 72 : 40;
        uint64_t begin, len;
        char path[4096];
        size_t process;
        int x;

        if (n <= name_at)
                return refuse(p, at, reterr, "a mapping is cut off");
        begin = bytes_le64(r + 16), len = bytes_le64(r + 24);
        if (bytes_le32(r + 4) & PERF_MISC_DATA || begin + len < begin)
                return 0;
        snprintf(path, sizeof(path), "%.*s", (int)(n - name_at), (const char *)r + name_at);
        x = find_process(p, bytes_le32(r + 8), at, &process, reterr);
        if (x >= 0 && path[0] == '/' && path[1] != '/')
                import_maps_add(&p->processes.items[process].maps, begin, begin + len,
                                bytes_le64(r + 32), path);
        return x;
}

static int take_fork(struct perf_data *p, uint64_t at, size_t n, struct err *reterr) {
        const uint8_t *r = p->bytes.items + at;
        size_t child, parent;
        int x;

        if (n < 16)
                return refuse(p, at, reterr, "a fork is cut off");
        if (bytes_le32(r + 8) == bytes_le32(r + 12))
                return 0; /* a thread */
        x = find_process(p, bytes_le32(r + 8), at, &child, reterr);
        if (x >= 0)
                x = find_process(p, bytes_le32(r + 12), at, &parent, reterr);
        if (x >= 0)
                p->processes.items[child].parent = (uint32_t)parent + 1;
        return x;
}

/* A process that forked has what its parent had mapped. */
static const char *find_place(struct perf_data *p, uint32_t pid, uint64_t address, uint64_t *ret) {
        uint64_t process;
        const char *path = NULL;

        *ret = address;
        if (!map_get(&p->by_pid, pid, &process))
                return NULL;
        for (size_t i = 0; i < PERF_MAX_PARENTS; i++) {
                struct perf_process *x = &p->processes.items[process];

                path = import_maps_find(&x->maps, address, ret);
                if (path || !x->parent)
                        break;
                process = x->parent - 1;
        }
        return path;
}

/* ---- samples ------------------------------------------------------------------------------------ */

struct perf_sample {
        uint64_t id, ip;
        uint32_t pid;
        const uint8_t *chain;
        uint64_t n_chain;
};

/* The values of counters that a sample may carry. */
static void skip_read(struct bytes_reader *r, uint64_t format) {
        uint64_t n_each = 1 + !!(format & 4) + !!(format & 16);
        uint64_t n_times = !!(format & 1) + !!(format & 2), n = 1;

        if (format & PERF_READ_GROUP)
                n = bytes_u64(r);
        if (n > bytes_left(r))
                r->bad = true;
        else
                bytes_take(r, (n_times + n * n_each) * 8);
}

static bool parse_sample(const struct perf_data *p, const uint8_t *bytes, size_t n,
                         struct perf_sample *s) {
        struct bytes_reader r = bytes_reader_of(bytes, n);
        uint64_t type = p->sample_type;

        *s = (struct perf_sample){0};
        if (type & PERF_HAS_IDENTIFIER)
                s->id = bytes_u64(&r);
        if (type & PERF_HAS_IP)
                s->ip = bytes_u64(&r);
        if (type & PERF_HAS_TID) {
                s->pid = bytes_u32(&r);
                bytes_u32(&r);
        }
        if (type & PERF_HAS_TIME)
                bytes_u64(&r);
        if (type & PERF_HAS_ADDR)
                bytes_u64(&r);
        if (type & PERF_HAS_ID)
                s->id = bytes_u64(&r);
        if (type & PERF_HAS_STREAM_ID)
                bytes_u64(&r);
        if (type & PERF_HAS_CPU)
                bytes_u64(&r);
        if (type & PERF_HAS_PERIOD)
                bytes_u64(&r);
        if (type & PERF_HAS_READ)
                skip_read(&r, p->read_format);
        if (type & PERF_HAS_CALLCHAIN) {
                s->n_chain = bytes_u64(&r);
                if (s->n_chain > bytes_left(&r) / 8)
                        return false;
                s->chain = bytes_take(&r, s->n_chain * 8);
        }
        return !r.bad;
}

static int add_frame(struct perf_data *p, const struct perf_sample *s, uint64_t ip, bool is_leaf,
                     bool is_kernel, uint32_t *stack, struct err *reterr) {
        struct import_place place = {.module = "[kernel]", .address = ip};
        uint32_t location;
        int r;

        if (!is_kernel) /* the leaf is no return address: that would be behind it */
                place.module = find_place(p, s->pid, ip + is_leaf, &place.address);
        r = import_trace_place(p->t, &place, &location, reterr);
        if (r < 0)
                return r;
        r = import_trace_stack(p->t, *stack, location, stack);
        return r < 0 ? err_set_errno(reterr, r, "too many call paths") : 0;
}

/* Marks stand before the part of a chain they are about, which is innermost first. */
static bool is_in_kernel(const struct perf_sample *s, uint64_t i, bool starts_in_kernel) {
        while (i-- > 0) {
                uint64_t mark = bytes_le64(s->chain + i * 8);

                if (mark >= PERF_CONTEXT_MAX)
                        return mark != PERF_CONTEXT_USER;
        }
        return starts_in_kernel;
}

static int put_sample(struct perf_data *p, uint64_t at, size_t n, struct err *reterr) {
        const uint8_t *head = p->bytes.items + at;
        bool is_kernel = (bytes_le32(head + 4) & PERF_MISC_CPU) == 1, was_kernel = false;
        struct perf_sample s;
        uint32_t stack = 0;
        uint64_t first = 0, one;
        int r = 0;

        if (!parse_sample(p, head + PERF_RECORD_HEAD_BYTES, n - PERF_RECORD_HEAD_BYTES, &s))
                return refuse(p, at, reterr, "a sample is cut off");
        if (p->n_events > 1 && !map_get(&p->ids, s.id, &one)) {
                p->n_others++;
                return 0;
        }
        p->n_samples++;
        while (first < s.n_chain && bytes_le64(s.chain + first * 8) >= PERF_CONTEXT_MAX)
                first++;
        for (uint64_t i = s.n_chain; i-- > first && r >= 0;) {
                uint64_t ip = bytes_le64(s.chain + i * 8);

                if (ip >= PERF_CONTEXT_MAX)
                        continue;
                if (i + 1 == s.n_chain || bytes_le64(s.chain + (i + 1) * 8) >= PERF_CONTEXT_MAX)
                        was_kernel = is_in_kernel(&s, i, is_kernel);
                r = add_frame(p, &s, ip, i == first, was_kernel, &stack, reterr);
        }
        if (first >= s.n_chain && p->sample_type & PERF_HAS_IP)
                r = add_frame(p, &s, s.ip, true, is_kernel, &stack, reterr);
        return r < 0 ? r : import_trace_total(p->t, stack, &(struct import_total){1, 1, 0, 0});
}

/* ---- records ------------------------------------------------------------------------------------ */

static int take_record(struct perf_data *p, uint64_t at, size_t n, bool wants_samples,
                       struct err *reterr) {
        uint32_t type = bytes_le32(p->bytes.items + at);

        if (type == PERF_COMPRESSED || type == PERF_COMPRESSED2)
                return refuse(p, at, reterr, "compressed records: record without -z");
        if (type == PERF_AUXTRACE)
                return refuse(p, at, reterr, "a trace of the hardware, which silt does not read");
        if (wants_samples)
                return type == PERF_SAMPLE ? put_sample(p, at, n, reterr) : 0;
        if (type == PERF_MMAP || type == PERF_MMAP2)
                return take_mapping(p, at, n, type, reterr);
        return type == PERF_FORK ? take_fork(p, at, n, reterr) : 0;
}

static int each_record(struct perf_data *p, bool wants_samples, struct err *reterr) {
        uint64_t at = bytes_le64(p->bytes.items + 40), size = bytes_le64(p->bytes.items + 48), end;
        int r = 0;

        if (!size)
                return refuse(p, 48, reterr, "no data: perf was not ended properly");
        if (!is_inside(p, at, size))
                return refuse(p, 40, reterr, "the records are not in the file: it is cut off");
        for (end = at + size; end - at >= PERF_RECORD_HEAD_BYTES && r >= 0;) {
                size_t n = bytes_le32(p->bytes.items + at + 4) >> 16;

                if (n < PERF_RECORD_HEAD_BYTES || n > end - at)
                        return refuse(p, at, reterr, "a record is longer than the file");
                r = take_record(p, at, n, wants_samples, reterr);
                at += n;
        }
        return r;
}

static void tell(const struct perf_data *p) {
        char text[120];

        if (p->n_others) {
                snprintf(text, sizeof(text), "%llu samples of other events are left out",
                         (unsigned long long)p->n_others);
                import_trace_limit(p->t, text);
        }
        if (p->sample_type & PERF_HAS_STACK_USER)
                import_trace_limit(
                        p->t,
                        "Copies of stacks (--call-graph dwarf) are not unwound: use perf script for them");
}

static int read_all(struct perf_data *p, struct err *reterr) {
        int r;

        if (p->bytes.n < PERF_HEAD_BYTES || bytes_le64(p->bytes.items + 8) < PERF_HEAD_BYTES)
                return refuse(p, 8, reterr, "the head is cut off, or perf wrote to a pipe");
        r = read_attributes(p, reterr);
        if (r >= 0)
                r = each_record(p, false, reterr);
        if (r >= 0)
                r = import_trace_begin(p->t,
                                       &(struct import_begin){.is_totals = true,
                                                              .has_no_time = true,
                                                              .has_no_blocks = true,
                                                              .unit = TRACE_UNIT_SAMPLES},
                                       reterr);
        if (r >= 0)
                r = each_record(p, true, reterr);
        if (r < 0)
                return r;
        tell(p);
        return import_trace_moment(p->t, 0, reterr);
}

static int read_perf_data(struct import_input *in, struct import_trace *t, struct err *reterr) {
        struct perf_data p = {.in = in, .t = t};
        int r = import_input_all(in, &p.bytes, reterr);

        if (r >= 0)
                r = read_all(&p, reterr);
        for (size_t i = 0; i < p.processes.n; i++)
                import_maps_done(&p.processes.items[i].maps);
        vec_free(&p.processes);
        map_done(&p.by_pid);
        map_done(&p.ids);
        vec_free(&p.bytes);
        return r;
}

const struct import_format import_perf_data = {
        .name = "perf",
        .title = "a recording of perf",
        .lacks =
                "samples by call path, but nothing about memory; when they were taken is not kept, and functions of the kernel have no names here",
        .matches = matches,
        .read = read_perf_data,
};
