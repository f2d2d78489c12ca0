/* SPDX-License-Identifier: MIT */
/* Damaged and hostile programs: copies of a small library with bits flipped, fields set to what no linker writes, and ends cut off.
 * Whoever looks at one gets an answer or one line, in time, and lives on. SILT_HOSTILE_CASES sets how many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/system_clock.h"
#include "patch/given.h"
#include "patch/isolated.h"
#include "patch/survey.h"

enum { MAX_PREY_BYTES = 1 << 20, MAX_MS = 30000, N_BATCH = 100 };

static uint8_t prey[MAX_PREY_BYTES], copy[MAX_PREY_BYTES];
static size_t n_prey, n_copy;
static uint32_t machine;
static char path[64];
static int fd = -1;

static uint64_t draw(uint64_t *state, uint64_t below) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        return below ? (*state >> 33) % below : 0;
}

/* Where damage tells: headers, tables of segments, sections and symbols. */
static size_t pick_place(uint64_t *r) {
        const Elf64_Ehdr *e = (const Elf64_Ehdr *)prey;
        const Elf64_Shdr *sections = (const Elf64_Shdr *)(prey + e->e_shoff);
        const Elf64_Shdr *s = &sections[draw(r, e->e_shnum)];

        switch (draw(r, 6)) {
        case 0: return draw(r, sizeof(*e));
        case 1: return e->e_phoff + draw(r, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr));
        case 2:
        case 3: return e->e_shoff + draw(r, (uint64_t)e->e_shnum * sizeof(Elf64_Shdr));
        case 4: return s->sh_type == SHT_NOBITS ? 0 : s->sh_offset + draw(r, s->sh_size);
        default: return draw(r, n_prey);
        }
}

static void damage(uint64_t *r) {
        static const uint64_t extremes[] = {0,
                                            1,
                                            0x7f,
                                            0xff,
                                            0xffff,
                                            0x10000,
                                            0x7fffffff,
                                            0xffffffff,
                                            UINT64_MAX,
                                            INT64_MAX,
                                            (uint64_t)1 << 63,
                                            1 << 20};

        memcpy(copy, prey, n_prey);
        n_copy = n_prey;
        for (uint64_t k = 0, n = 1 + draw(r, 5); k < n; k++) {
                size_t at = pick_place(r), width = (size_t)1 << draw(r, 4);
                uint64_t value = extremes[draw(r, sizeof(extremes) / sizeof(extremes[0]))];

                at = at / width * width;
                if (at + width > n_prey)
                        continue;
                if (draw(r, 3) == 0)
                        copy[at] ^= (uint8_t)(1u << draw(r, 8));
                else
                        memcpy(copy + at, &value, width);
        }
        if (draw(r, 4) == 0)
                n_copy = draw(r, n_prey);
}

static void write_copy(void) {
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(fs_write_all(fd, copy, n_copy), 0);
}

static void assert_one_line(int r, const struct err *err) {
        if (r < 0) {
                assert_true(err->text[0]);
                assert_null(strchr(err->text, '\n'));
        }
}

static void look(uint64_t *r) {
        uint64_t begin_ms = clock_now_ms();
        struct err err = {0};
        struct given given = {.n = 0};
        struct survey survey;
        char text[64];
        int said = survey_make(path, machine, &survey, &err);

        assert_one_line(said, &err);
        if (said == 0)
                survey_done(&survey);
        if (draw(r, 2))
                snprintf(text, sizeof(text), "alloc=prey_malloc");
        else
                snprintf(text, sizeof(text), "free=0x%llx", (unsigned long long)draw(r, n_prey));
        err = (struct err){0};
        assert_one_line(given_add(&given, text, path, &err), &err);
        assert_true(clock_now_ms() - begin_ms < MAX_MS);
}

static unsigned long count_cases(unsigned long usual) {
        const char *wanted = getenv("SILT_HOSTILE_CASES");

        return wanted ? strtoul(wanted, NULL, 10) : usual;
}

/* As the recorder, the doctor and --hook look at them. */
static void test_apart(void **state) {
        uint64_t r = 7;

        (void)state;
        for (unsigned long i = 0, n = count_cases(100); i < n; i++) {
                damage(&r);
                write_copy();
                look(&r);
        }
}

/* The same code in this process, where a sanitizer sees it: what elfutils itself does not survive is counted. */
static void read_many(uint64_t seed) {
        for (int i = 0; i < N_BATCH; i++) {
                struct allocators a;
                struct err err = {0};

                damage(&seed);
                write_copy();
                if (allocators_read_here(path, (enum allocators_of)(i % 3), &a, &err) == 0)
                        allocators_done(&a);
        }
}

static void test_here(void **state) {
        unsigned long n_died = 0;

        (void)state;
        for (unsigned long i = 0, n = count_cases(3000) / N_BATCH; i < n; i++) {
                int status;
                pid_t pid = fork();

                if (pid == 0) {
                        alarm(60);
                        read_many(1000 + i);
                        _exit(0);
                }
                assert_int_equal(waitpid(pid, &status, 0), pid);
                if (status)
                        print_message("batch %lu: status %d\n", i, status);
                n_died += status != 0;
        }
        assert_int_equal(n_died, 0);
}

static void die(void *ctx, size_t i) {
        uint64_t *seen = ctx;

        seen[i]++;
        if (i == 1)
                raise(SIGSEGV);
        for (size_t k = 0; i == 2 && k < 64; k++)
                if (mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                         0) == MAP_FAILED)
                        _exit(3);
}

static void never_end(void *ctx, size_t i) {
        for (;;)
                ((volatile uint64_t *)ctx)[i]++;
}

/* What dies, eats memory or never ends takes nothing with it. */
static void test_deaths(void **state) {
        static const struct isolated_limits patient = {.time_ms = 60000, .memory_bytes = 256 << 20};
        static const struct isolated_limits hasty = {.time_ms = 200, .memory_bytes = 256 << 20};
        uint64_t *seen = isolated_share(4 * sizeof(*seen)), begin_ms;
        bool is_done[4];

        (void)state;
        assert_true(isolated_run(4, die, seen, &patient, is_done));
        assert_true(is_done[0]);
        assert_false(is_done[1]);
        assert_false(is_done[2]);
        assert_true(is_done[3]);
        assert_int_equal(seen[0], 1);
        begin_ms = clock_now_ms();
        assert_false(isolated_run(2, never_end, seen, &hasty, is_done));
        assert_false(is_done[0] || is_done[1]);
        assert_true(clock_now_ms() - begin_ms < MAX_MS);
        isolated_unshare(seen, 4 * sizeof(*seen));
}

static int word_fds[2];

static void await_word(void *ctx, size_t i) {
        volatile uint64_t *seen = ctx;
        char word = 0;

        seen[i] = i > 0 || (read(word_fds[0], &word, 1) == 1 && word == 'w');
        if (i == 0)
                raise(SIGSEGV);
}

/* The child works while its caller goes on: what it waits for comes after it was begun. */
static void test_meanwhile(void **state) {
        static const struct isolated_limits patient = {.time_ms = 60000, .memory_bytes = 256 << 20};
        volatile uint64_t *seen = isolated_share(3 * sizeof(*seen));
        struct isolated_work w;
        bool is_done[3];

        (void)state;
        assert_int_equal(pipe2(word_fds, O_CLOEXEC), 0);
        isolated_begin(&w, 3, await_word, (void *)seen, &patient);
        assert_int_equal(seen[0], 0);
        assert_int_equal(write(word_fds[1], "w", 1), 1);
        assert_true(isolated_end(&w, is_done));
        assert_true(seen[0] && seen[1] && seen[2]);
        assert_false(is_done[0]);
        assert_true(is_done[1] && is_done[2]);
        isolated_unshare((void *)seen, 3 * sizeof(*seen));
        close(word_fds[0]);
        close(word_fds[1]);
}

/* What was read before the program ran is not read again, and what could not be read is not taken for known. */
static void test_kept(void **state) {
        static struct known_files memory; /* kept to the end, as the recorder's is */
        struct allocators found;
        struct imprint imprint;
        struct survey survey;
        struct stat st;

        (void)state;
        memcpy(copy, prey, n_prey);
        n_copy = n_prey;
        write_copy();
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(survey_end(survey_begin(path, path, false), machine, &memory, &survey,
                                    NULL),
                         0);
        survey_done(&survey);
        assert_true(known_files_recall(&memory, &st, ALLOCATORS_OF_PROGRAM, &found));
        allocators_done(&found);
        assert_true(known_files_is_plain(&memory, &st)); /* as a loader */
        assert_int_equal(memory.imprints.n, 1);
        assert_int_equal(known_files_imprint(&memory, path, &imprint), 0);
        assert_int_equal(memory.imprints.n, 1);

        n_copy = 10;
        write_copy();
        assert_int_equal(stat(path, &st), 0);
        assert_true(survey_end(survey_begin(path, "", false), machine, &memory, &survey, NULL) < 0);
        assert_false(known_files_recall(&memory, &st, ALLOCATORS_OF_PROGRAM, &found));
        assert_false(known_files_is_plain(&memory, &st));
        assert_int_equal(memory.imprints.n, 1);
}

int main(int argc, char **argv) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_deaths), cmocka_unit_test(test_meanwhile),
                cmocka_unit_test(test_kept),   cmocka_unit_test(test_here),
                cmocka_unit_test(test_apart),
        };
        int from = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
        ssize_t n = from < 0 ? -1 : fs_read_at(from, prey, sizeof(prey), 0);

        if (n < (ssize_t)sizeof(Elf64_Ehdr))
                return 2;
        n_prey = (size_t)n;
        machine = ((const Elf64_Ehdr *)prey)->e_machine;
        fd = memfd_create("prey", MFD_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
