/* SPDX-License-Identifier: MIT */
#include "patch/imprint.h"

#include <ctype.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "patch/isolated.h"

enum {
        IMPRINT_STEP_BYTES = 1 << 20,
        IMPRINT_OVERLAP_BYTES = 256, /* longer than any message looked for */
};

#define IMPRINT_MAX_BYTES ((uint64_t)1 << 30)

/* Apart, so that silt does not carry them itself. */
static const struct {
        char first;
        const char *rest;
        unsigned mark;
} imprint_texts[] = {
        {'<', "jemalloc>: ", IMPRINT_JEMALLOC},
        {'m', "imalloc: warning: ", IMPRINT_MIMALLOC},
        {'T', "CMALLOC_SAMPLE_PARAMETER", IMPRINT_TCMALLOC},
        {'N', "o error information", IMPRINT_MUSL}, /* its strerror(0) */
        {'G', "LIBC_TUNABLES", IMPRINT_GLIBC},
        {'P', "YTHONMALLOCSTATS", IMPRINT_PYTHON},
        {'v', "erify_asan_link_order", IMPRINT_ASAN},
        {'H', "WASAN_OPTIONS", IMPRINT_HWASAN},
        {'T', "SAN_OPTIONS", IMPRINT_TSAN},
        {'M', "SAN_OPTIONS", IMPRINT_MSAN},
        {'L', "SAN_OPTIONS", IMPRINT_LSAN}, /* AddressSanitizer has it too */
};

static bool has_text(const char *begin, const char *end, char first, const char *rest) {
        const char *at = begin;

        while ((at = memmem(at, (size_t)(end - at), rest, strlen(rest)))) {
                if (at > begin && at[-1] == first)
                        return true;
                at++;
        }
        return false;
}

/* "5.3.0-0-g<40 digits>" with the "-g" at `at`: how jemalloc says its version, and nobody else. */
static void take_jemalloc_version(const char *begin, const char *at, const char *end,
                                  struct imprint *ret) {
        const char *first = at, *dash;
        int n_dots = 0;

        for (int i = 2; i < 42; i++)
                if (at + i >= end || !isxdigit((unsigned char)at[i]))
                        return;
        while (first > begin && isdigit((unsigned char)first[-1]))
                first--;
        if (first == at || first == begin || first[-1] != '-')
                return;
        dash = --first;
        while (first > begin && (isdigit((unsigned char)first[-1]) || first[-1] == '.'))
                n_dots += *--first == '.';
        if (n_dots == 2 && dash - first < (long)sizeof(ret->jemalloc_version))
                snprintf(ret->jemalloc_version, sizeof(ret->jemalloc_version), "%.*s",
                         (int)(dash - first), first);
}

static void take_gperftools_version(const char *at, const char *end, struct imprint *ret) {
        size_t n = 0;

        while (at + n < end && (isdigit((unsigned char)at[n]) || at[n] == '.'))
                n++;
        if (n == 0 || n >= sizeof(ret->gperftools_version))
                return;
        ret->marks |= IMPRINT_GPERFTOOLS;
        snprintf(ret->gperftools_version, sizeof(ret->gperftools_version), "%.*s", (int)n, at);
}

static void look_at_bytes(const char *begin, const char *end, struct imprint *ret) {
        static const char gperftools[] = "gperftools ";
        const char *at;

        for (size_t i = 0; i < ARRAY_SIZE(imprint_texts); i++)
                if (!(ret->marks & imprint_texts[i].mark) &&
                    has_text(begin, end, imprint_texts[i].first, imprint_texts[i].rest))
                        ret->marks |= imprint_texts[i].mark;
        at = memmem(begin, (size_t)(end - begin), gperftools, strlen(gperftools));
        if (at)
                take_gperftools_version(at + strlen(gperftools), end, ret);
        for (at = begin; !ret->jemalloc_version[0]; at++) {
                at = memmem(at, (size_t)(end - at), "-g", 2);
                if (!at)
                        break;
                take_jemalloc_version(begin, at, end, ret);
        }
}

static int look_at_file(int fd, uint64_t off, uint64_t n_bytes, struct imprint *ret) {
        _cleanup_free_ char *bytes = malloc(IMPRINT_STEP_BYTES);
        uint64_t n_left = MIN(n_bytes, IMPRINT_MAX_BYTES);

        if (!bytes)
                return -ENOMEM;
        while (n_left > 0) {
                ssize_t n = fs_read_at(fd, bytes, MIN(n_left, (uint64_t)IMPRINT_STEP_BYTES), off);

                if (n < 0)
                        return (int)n;
                look_at_bytes(bytes, bytes + n, ret);
                if (n < IMPRINT_STEP_BYTES)
                        break;
                n_left -= IMPRINT_STEP_BYTES - IMPRINT_OVERLAP_BYTES;
                off += IMPRINT_STEP_BYTES - IMPRINT_OVERLAP_BYTES;
        }
        return 0;
}

static void look_at_needed(const char *needed, struct imprint *ret) {
        static const char *const libraries[] = {"libjemalloc", "libtcmalloc", "libmimalloc",
                                                "libsnmalloc"};
        static const struct {
                const char *library;
                unsigned mark;
        } sanitizers[] = {
                {"libasan", IMPRINT_ASAN},     {"libclang_rt.asan", IMPRINT_ASAN},
                {"libhwasan", IMPRINT_HWASAN}, {"libclang_rt.hwasan", IMPRINT_HWASAN},
                {"libtsan", IMPRINT_TSAN},     {"libclang_rt.tsan", IMPRINT_TSAN},
                {"liblsan", IMPRINT_LSAN},
        };

        for (size_t k = 0; k < ARRAY_SIZE(libraries); k++)
                if (!strncmp(needed, libraries[k], strlen(libraries[k])))
                        snprintf(ret->library, sizeof(ret->library), "%s", needed);
        for (size_t k = 0; k < ARRAY_SIZE(sanitizers); k++)
                if (!strncmp(needed, sanitizers[k].library, strlen(sanitizers[k].library)))
                        ret->marks |= sanitizers[k].mark;
}

static void look_at_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, size_t names,
                            struct imprint *ret) {
        const char *name = elf_strptr(elf, names, shdr->sh_name);
        Elf_Data *data;
        GElf_Dyn dyn;

        if (name && (!strcmp(name, ".go.buildinfo") || !strcmp(name, ".note.go.buildid")))
                ret->marks |= IMPRINT_GO;
        if (shdr->sh_type != SHT_DYNAMIC || !(data = elf_getdata(scn, NULL)))
                return;
        for (int i = 0; gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
                const char *needed = dyn.d_tag == DT_NEEDED
                                             ? elf_strptr(elf, shdr->sh_link, dyn.d_un.d_val)
                                             : NULL;

                if (needed)
                        look_at_needed(needed, ret);
        }
}

/* Messages lie beside the code, not in it: half of a large program need not be read. Where sections are not told, or only code is,
 * -ENOENT. */
static int look_at_sections(Elf *elf, int fd, struct imprint *ret) {
        Elf_Scn *scn = NULL;
        GElf_Shdr shdr;
        uint64_t n_left = IMPRINT_MAX_BYTES;
        size_t names;
        int r = -ENOENT;

        if (elf_getshdrstrndx(elf, &names) < 0)
                return r;
        while ((scn = elf_nextscn(elf, scn))) {
                if (!gelf_getshdr(scn, &shdr))
                        continue;
                look_at_section(elf, scn, &shdr, names, ret);
                if (shdr.sh_type != SHT_PROGBITS || !(shdr.sh_flags & SHF_ALLOC) ||
                    (shdr.sh_flags & SHF_EXECINSTR) || (r < 0 && r != -ENOENT))
                        continue;
                r = look_at_file(fd, shdr.sh_offset, MIN(shdr.sh_size, n_left), ret);
                n_left -= MIN(shdr.sh_size, n_left);
        }
        return r;
}

static int look_at_segments(Elf *elf, int fd, size_t n, struct imprint *ret) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++) {
                GElf_Phdr phdr;

                if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_LOAD)
                        r = look_at_file(fd, phdr.p_offset, phdr.p_filesz, ret);
        }
        return r;
}

static int look_at_elf(Elf *elf, int fd, struct imprint *ret) {
        const void *id;
        ssize_t n_id;
        size_t n;
        int r;

        if (!elf || elf_kind(elf) != ELF_K_ELF || elf_getphdrnum(elf, &n) < 0)
                return -ENOEXEC;
        n_id = dwelf_elf_gnu_build_id(elf, &id);
        if (n_id > 0) {
                ret->build_id_bytes = (uint32_t)MIN(n_id, (ssize_t)sizeof(ret->build_id));
                memcpy(ret->build_id, id, ret->build_id_bytes);
        }
        r = look_at_sections(elf, fd, ret);
        return r == -ENOENT ? look_at_segments(elf, fd, n, ret) : r;
}

static int imprint_read_here(const char *path, struct imprint *ret, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        Elf *elf;
        int r;

        memset(ret, 0, sizeof(*ret));
        if (fd < 0)
                return err_set_errno(reterr, fd, "'%s'", path);
        if (elf_version(EV_CURRENT) == EV_NONE)
                return err_set(reterr, -ENOTSUP, "'%s': libelf is too old", path);
        elf = elf_begin(fd, ELF_C_READ, NULL);
        r = look_at_elf(elf, fd, ret);
        elf_end(elf);
        if (ret->marks & IMPRINT_GPERFTOOLS) /* which has the same variables */
                ret->marks &= ~(unsigned)IMPRINT_TCMALLOC;
        return r < 0 ? err_set_errno(reterr, r, "'%s'", path) : 0;
}

struct imprint_reading {
        const char *path;
        int r;
        struct imprint imprint;
        char why[200];
};

struct imprint_reading *imprint_reading_new(const char *path) {
        struct imprint_reading *shared = isolated_share(sizeof(*shared));

        if (shared) {
                shared->path = path;
                shared->r = -ENODATA;
        }
        return shared;
}

void imprint_reading_do(struct imprint_reading *to) {
        struct err err = {0};

        if (!to)
                return;
        to->r = imprint_read_here(to->path, &to->imprint, &err);
        snprintf(to->why, sizeof(to->why), "%.199s", err.text);
}

int imprint_reading_end(struct imprint_reading *shared, bool is_done, bool is_in_time,
                        struct imprint *ret, struct err *reterr) {
        int r;

        memset(ret, 0, sizeof(*ret));
        if (!shared)
                return err_set(reterr, -ENOMEM, "out of memory");
        r = is_done ? shared->r : -EBADMSG;
        if (r < 0) {
                err_set(reterr, r, "%.*s", (int)sizeof(shared->why) - 1,
                        is_done      ? shared->why
                        : is_in_time ? "it is damaged"
                                     : "reading it took too long");
        } else {
                *ret = shared->imprint;
                ret->jemalloc_version[sizeof(ret->jemalloc_version) - 1] = '\0';
                ret->gperftools_version[sizeof(ret->gperftools_version) - 1] = '\0';
                ret->library[sizeof(ret->library) - 1] = '\0';
                ret->build_id_bytes = MIN(ret->build_id_bytes, (uint32_t)sizeof(ret->build_id));
        }
        isolated_unshare(shared, sizeof(*shared));
        return r < 0 ? r : 0;
}

static void imprint_read_apart(void *ctx, size_t i) {
        (void)i;
        imprint_reading_do(ctx);
}

int imprint_read(const char *path, struct imprint *ret, struct err *reterr) {
        struct imprint_reading *reading = imprint_reading_new(path);
        bool is_done = false, is_in_time = true;

        if (reading)
                is_in_time = isolated_run(1, imprint_read_apart, reading, &isolated_limits_usual,
                                          &is_done);
        return imprint_reading_end(reading, is_done, is_in_time, ret, reterr);
}

const char *imprint_sanitizer(const struct imprint *i) {
        if (i->marks & IMPRINT_HWASAN)
                return "HWAddressSanitizer";
        if (i->marks & IMPRINT_ASAN)
                return "AddressSanitizer";
        if (i->marks & IMPRINT_TSAN)
                return "ThreadSanitizer";
        if (i->marks & IMPRINT_MSAN)
                return "MemorySanitizer";
        return i->marks & IMPRINT_LSAN ? "LeakSanitizer" : NULL;
}

const char *imprint_allocator(const struct imprint *i, unsigned k) {
        static const struct {
                unsigned mark;
                const char *family;
        } names[] = {
                {IMPRINT_JEMALLOC, "jemalloc"},
                {IMPRINT_MIMALLOC, "mimalloc"},
                {IMPRINT_GPERFTOOLS, "gperftools"},
                {IMPRINT_TCMALLOC, "tcmalloc"},
        };

        for (size_t n = 0; n < ARRAY_SIZE(names); n++)
                if (i->marks & names[n].mark && k-- == 0)
                        return names[n].family;
        return NULL;
}

const char *imprint_name(const struct imprint *i, const char *family) {
        const char *only = imprint_allocator(i, 0);

        return !strcmp(family, "malloc") && only && !imprint_allocator(i, 1) ? only : family;
}

const char *imprint_version(const struct imprint *i, const char *family) {
        if (!strcmp(family, "jemalloc"))
                return i->jemalloc_version;
        return !strcmp(family, "gperftools") ? i->gperftools_version : "";
}

void imprint_say_version(uint32_t number, char *ret, size_t cap) {
        if (number >= 100 && number < 1000)
                snprintf(ret, cap, "%u.%u.%u", number / 100, number / 10 % 10, number % 10);
}
