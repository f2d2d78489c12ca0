/* SPDX-License-Identifier: MIT */
/* Writes the seeds of perf_data_fuzz: mappings of both kinds, a fork, samples with call chains in kernel and program, one and two events,
 * names, programs that begin and end, copies of stacks, packed records, a pipe, what is refused.
 * usage: perf_data_seeds DIRECTORY */
#include <string.h>
#include <zstd.h>

#include "base/bytes.h"
#include "import/testing/import_fuzzing.h"

enum {
        SEED_TYPE = 1 << 16 | 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 |
                    1 << 7 | 1 << 8 | 1 << 9 | 1 << 13,
        SEED_N_ATTR_BYTES = 144,
};

static void put_head(bytes_buf *b, uint32_t n_events, uint64_t data_bytes) {
        uint64_t attrs = 104 + 16, data = attrs + (uint64_t)n_events * SEED_N_ATTR_BYTES;
        const uint64_t head[] = {104,   SEED_N_ATTR_BYTES,
                                 attrs, (uint64_t)n_events * SEED_N_ATTR_BYTES,
                                 data,  data_bytes,
                                 0,     0,
                                 0,     0,
                                 0,     0};

        buf_bytes(b, (const uint8_t *)"PERFILE2", 8);
        for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
                buf_u64(b, head[i]);
        buf_u64(b, 77); /* ids */
        buf_u64(b, 78);
        for (uint32_t i = 0; i < n_events; i++) {
                size_t begin = b->n;

                buf_u32(b, 1);
                buf_u32(b, SEED_N_ATTR_BYTES - 16);
                buf_u64(b, 0);
                buf_u64(b, 250000);
                buf_u64(b, SEED_TYPE);
                buf_u64(b, 1 | 2 | 4 | 8);
                while (b->n < begin + SEED_N_ATTR_BYTES - 16)
                        buf_u64(b, 0);
                buf_u64(b, 104);
                buf_u64(b, 8);
        }
}

static void put_record(bytes_buf *b, uint32_t type, uint32_t misc, const bytes_buf *body) {
        buf_u32(b, type);
        buf_u32(b, misc | (uint32_t)(body->n + 8) << 16);
        buf_bytes(b, body->items, body->n);
}

static void put_mapping(bytes_buf *b, uint32_t type, uint32_t misc, const char *path) {
        bytes_buf r = {0};
        char name[32] = {0};

        memcpy(name, path, strlen(path) + 1);
        buf_u32(&r, 42);
        buf_u32(&r, 42);
        buf_u64(&r, 0x400000);
        buf_u64(&r, 0x10000);
        buf_u64(&r, 0);
        for (int i = 0; i < 4 && type == 10; i++)
                buf_u64(&r, 0);
        buf_bytes(&r, (const uint8_t *)name, sizeof(name));
        put_record(b, type, misc, &r);
        vec_free(&r);
}

static void put_sample(bytes_buf *b, uint64_t id, uint32_t pid, uint64_t n_chain) {
        static const uint64_t chain[] = {(uint64_t)-128, 0xffffffff81000000, (uint64_t)-512,
                                         0x401136,       0x401180,           0x99};
        bytes_buf r = {0};

        buf_u64(&r, id);
        buf_u64(&r, 0x401136);
        buf_u32(&r, pid);
        buf_u32(&r, pid);
        for (uint64_t i = 1; i <= 2; i++) /* time, address */
                buf_u64(&r, i);
        buf_u64(&r, id);
        for (uint64_t i = 1; i <= 3; i++) /* stream, CPU, period */
                buf_u64(&r, i);
        buf_u64(&r, 1); /* a group of one: times, value, id */
        for (uint64_t i = 1; i <= 4; i++)
                buf_u64(&r, i);
        buf_u64(&r, n_chain);
        for (uint64_t i = 0; i < n_chain; i++)
                buf_u64(&r, chain[i]);
        put_record(b, 9, 2, &r);
        vec_free(&r);
}

static void put_fork(bytes_buf *b, uint32_t pid, uint32_t parent) {
        bytes_buf r = {0};

        buf_u32(&r, pid);
        buf_u32(&r, parent);
        put_record(b, 7, 0, &r);
        vec_free(&r);
}

static void put(const char *directory, const char *name, uint32_t n_events, uint32_t last_type) {
        bytes_buf data = {0}, file = {0}, none = {0}, hardware = {0};

        buf_u64(&hardware, 8);
        put_mapping(&data, 1, 0, "/proc/self/exe");
        put_mapping(&data, 10, 0, "/nowhere/lib.so");
        put_mapping(&data, 10, 1 << 13, "//anon");
        put_fork(&data, 43, 42);
        put_fork(&data, 42, 42);
        put_sample(&data, 77, 42, 6);
        put_sample(&data, 77, 43, 6);
        put_sample(&data, 78, 44, 4);
        put_sample(&data, 77, 42, 0);
        put_record(&data, last_type, 0, last_type == 71 ? &hardware : &none);
        if (last_type == 71)
                buf_u64(&data, 0); /* the bytes behind it */
        put_head(&file, n_events, data.n);
        buf_bytes(&file, data.items, data.n);
        import_fuzz_put_seed(directory, name, file.items, file.n);
        vec_free(&data);
        vec_free(&file);
        vec_free(&hardware);
}

/* ---- records of time, as perf itself has them: with what is behind them ---------------------------- */

enum { TIMED_TYPE = 1 << 16 | 1 << 0 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 8 | 1 << 12 | 1 << 13 };

static void put_behind(bytes_buf *r, uint32_t pid, uint64_t time) {
        buf_u32(r, pid);
        buf_u32(r, pid);
        buf_u64(r, time);
        buf_u64(r, 77);
}

static void put_timed(bytes_buf *b, uint32_t type, uint32_t misc, uint32_t pid, uint64_t time,
                      const void *body, size_t n) {
        bytes_buf r = {0};

        buf_bytes(&r, body, n);
        put_behind(&r, pid, time);
        put_record(b, type, misc, &r);
        vec_free(&r);
}

static void put_timed_sample(bytes_buf *b, uint32_t pid, uint64_t time) {
        bytes_buf r = {0};

        buf_u64(&r, 77);
        buf_u64(&r, 0x401136);
        buf_u32(&r, pid);
        buf_u32(&r, pid + 1);
        buf_u64(&r, time);
        buf_u64(&r, 250000);
        buf_u64(&r, 2);
        buf_u64(&r, (uint64_t)-512);
        buf_u64(&r, 0x401136);
        buf_u64(&r, 2); /* registers of 64 bits: rbp, rsp, rip */
        buf_u64(&r, 0x7ff0);
        buf_u64(&r, 0x7fe0);
        buf_u64(&r, 0x401136);
        buf_u64(&r, 16); /* the stack, all of it filled */
        buf_u64(&r, 0x7fe8);
        buf_u64(&r, 0x401180);
        buf_u64(&r, 16);
        put_record(b, 9, 2, &r);
        vec_free(&r);
}

static void put_story(bytes_buf *b) {
        static const uint32_t name[] = {42, 42, 'p' | 'a' << 8, 0}, fork[] = {43, 42, 43, 42, 9, 0};
        static const uint32_t leave[] = {43, 43, 43, 43, 9, 0};
        bytes_buf m = {0};

        put_timed(b, 3, 0, 42, 0, name, sizeof(name));
        buf_u32(&m, 42);
        buf_u32(&m, 42);
        buf_u64(&m, 0x400000);
        buf_u64(&m, 0x10000);
        buf_u64(&m, 0);
        buf_u32(&m, 20); /* a build-id */
        for (int i = 0; i < 5; i++)
                buf_u32(&m, 0x01020304);
        buf_u64(&m, 5);
        buf_bytes(&m, (const uint8_t *)"/proc/self/exe\0", 16);
        put_timed(b, 10, 2 | 1 << 14, 42, 10, m.items, m.n);
        put_timed_sample(b, 43, 3000000);
        put_timed_sample(b, 42, 1000000);
        put_timed(b, 7, 0, 42, 2000000, fork, sizeof(fork));
        put_timed(b, 3, 1 << 13, 42, 2500000, name, sizeof(name));
        put_timed(b, 4, 0, 43, 4000000, leave, sizeof(leave));
        put_timed_sample(b, 42, 5000000);
        vec_free(&m);
}

static void put_timed_attribute(bytes_buf *b) {
        size_t begin = b->n;

        buf_u32(b, 1); /* cpu-clock */
        buf_u32(b, SEED_N_ATTR_BYTES - 16);
        buf_u64(b, 0);
        buf_u64(b, 4000);
        buf_u64(b, TIMED_TYPE);
        buf_u64(b, 4);
        buf_u64(b, 1 << 10 | 1 << 12 | 1 << 18);
        while (b->n < begin + 80)
                buf_u64(b, 0);
        buf_u64(b, 1 << 6 | 1 << 7 | 1 << 8);
        buf_u64(b, 16);
        while (b->n < begin + SEED_N_ATTR_BYTES - 16)
                buf_u64(b, 0);
}

static void put_pipe(const char *directory) {
        bytes_buf file = {0}, attribute = {0}, feature = {0};

        buf_bytes(&file, (const uint8_t *)"PERFILE2", 8);
        buf_u64(&file, 16);
        put_timed_attribute(&attribute);
        buf_u64(&attribute, 77);
        put_record(&file, 64, 0, &attribute);
        buf_u64(&feature, 3);
        buf_u32(&feature, 8);
        buf_bytes(&feature, (const uint8_t *)"host\0\0\0", 8);
        put_record(&file, 80, 0, &feature);
        put_story(&file);
        import_fuzz_put_seed(directory, "pipe", file.items, file.n);
        vec_free(&file);
        vec_free(&attribute);
        vec_free(&feature);
}

/* One stream of zstd, cut into records. */
static void put_stream(const char *directory) {
        bytes_buf file = {0}, attribute = {0}, plain = {0};
        uint8_t packed[4096];
        size_t n;

        put_story(&plain);
        n = ZSTD_compress(packed, sizeof(packed), plain.items, plain.n, 1);
        buf_bytes(&file, (const uint8_t *)"PERFILE2", 8);
        buf_u64(&file, 16);
        put_timed_attribute(&attribute);
        buf_u64(&attribute, 77);
        put_record(&file, 64, 0, &attribute);
        for (size_t at = 0; at < n && !ZSTD_isError(n); at += 64) {
                bytes_buf part = {0};

                buf_bytes(&part, packed + at, n - at < 64 ? n - at : 64);
                put_record(&file, 81, 0, &part);
                vec_free(&part);
        }
        import_fuzz_put_seed(directory, "stream", file.items, file.n);
        vec_free(&file);
        vec_free(&attribute);
        vec_free(&plain);
}

int main(int argc, char **argv) {
        if (argc != 2)
                return 2;
        put(argv[1], "one", 1, 68);
        put(argv[1], "two", 2, 68);
        put(argv[1], "packed", 1, 81);
        put(argv[1], "traced", 1, 71);
        put_pipe(argv[1]);
        put_stream(argv[1]);
        return 0;
}
