/* SPDX-License-Identifier: MIT */
#include "record/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/macros.h"

static void shm_fill_header(struct wire_header *h, uint32_t flags, uint32_t clock,
                            uint64_t clock_base) {
        uint64_t processes = ALIGN_UP(sizeof(struct wire_header), 4096ul);
        uint64_t slots = processes + WIRE_N_PROCESSES * sizeof(struct wire_process);
        uint64_t chunks = ALIGN_UP(slots + WIRE_N_SLOTS * sizeof(struct wire_slot), 4096ul);

        h->version = WIRE_VERSION;
        h->chunk_bytes = WIRE_CHUNK_BYTES;
        h->n_lent = WIRE_N_LENT;
        h->n_processes = WIRE_N_PROCESSES;
        h->n_slots = WIRE_N_SLOTS;
        h->n_chunks = WIRE_N_CHUNKS;
        h->process_off = processes;
        h->slot_off = slots;
        h->chunk_off = chunks;
        h->size_bytes = chunks + (uint64_t)WIRE_N_CHUNKS * WIRE_CHUNK_BYTES;
        h->clock_base = clock_base;
        h->clock = clock;
        h->flags = flags;
        atomic_init(&h->recording, 1);
        atomic_init(&h->patience.left_ns, WIRE_PATIENCE_MAX_MS * UINT64_C(1000000));
        h->magic = WIRE_MAGIC;
}

/* Where memfd_create is forbidden or missing: a file that never had a name, or has none any more. */
static int shm_open_file(void) {
        static const char *const folders[] = {"/dev/shm", "/tmp", "/var/tmp"};
        int fd = -1;

        for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(folders); i++) {
                char name[64];

                fd = open(folders[i], O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
                if (fd >= 0)
                        break;
                snprintf(name, sizeof(name), "%s/silt-XXXXXX", folders[i]);
                fd = mkostemp(name, O_CLOEXEC);
                if (fd >= 0)
                        unlink(name);
        }
        return fd;
}

/* A target holds the descriptor for a moment: it must not be able to pull pages away from the others. A file cannot be
 * sealed: there the targets are trusted with this one thing. */
static int shm_seal(int fd) {
        const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
        int have = fcntl(fd, F_GET_SEALS);

        if (have < 0 || (have & F_SEAL_SEAL))
                return 0;
        return fcntl(fd, F_ADD_SEALS, seals) < 0 ? -errno : 0;
}

int shm_open_arena(struct shm *s, uint32_t flags, uint32_t clock, uint64_t clock_base,
                   struct err *reterr) {
        struct wire_header h;
        int r;

        memset(s, 0, sizeof(*s));
        memset(&h, 0, sizeof(h));
        shm_fill_header(&h, flags, clock, clock_base);

        s->fd = memfd_create("silt", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        r = -errno;
        if (s->fd < 0 && r != -EMFILE && r != -ENFILE)
                s->fd = shm_open_file();
        if (s->fd < 0)
                return err_set_errno(
                        reterr, r,
                        "cannot create shared memory (see ulimit -n and the sandbox's rules)");
        if (ftruncate(s->fd, (off_t)h.size_bytes) < 0 ||
            fallocate(s->fd, 0, 0, (off_t)h.chunk_off) < 0) {
                r = err_set_errno(reterr, -errno,
                                  "cannot set the size of shared memory (raise ulimit -f)");
                goto fail;
        }
        r = shm_seal(s->fd);
        if (r < 0) {
                err_set_errno(reterr, r, "cannot seal shared memory");
                goto fail;
        }
        s->base = mmap(NULL, h.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
        if (s->base == MAP_FAILED) {
                s->base = NULL;
                r = err_set_errno(reterr, -errno, "cannot map shared memory (raise ulimit -v)");
                goto fail;
        }
        s->size_bytes = h.size_bytes;
        s->process_off = h.process_off;
        s->slot_off = h.slot_off;
        s->chunk_off = h.chunk_off;
        memcpy(s->base, &h, sizeof(h));
        return 0;
fail:
        shm_done(s);
        return r;
}

void shm_set_sampling(struct shm *s, uint64_t sample_bytes) {
        struct wire_header *h = shm_header(s);

        /* what is not random is different at least */
        if (getrandom(&h->sample_seed, sizeof(h->sample_seed), GRND_NONBLOCK) < 0)
                h->sample_seed = h->clock_base ^ (uint64_t)getpid() << 32;
        atomic_store_explicit(&h->sample_bytes, sample_bytes, memory_order_relaxed);
}

void shm_done(struct shm *s) {
        if (s->base)
                munmap(s->base, s->size_bytes);
        if (s->fd >= 0)
                close(s->fd);
        memset(s, 0, sizeof(*s));
        s->fd = -1;
}

int shm_back_chunks(struct shm *s, uint32_t n_chunks) {
        uint64_t begin = s->chunk_off + (uint64_t)s->n_chunks_backed * WIRE_CHUNK_BYTES;

        if (n_chunks <= s->n_chunks_backed)
                return 0;
        if (n_chunks > WIRE_N_CHUNKS)
                return -ENOSPC;
        if (fallocate(s->fd, 0, (off_t)begin,
                      (off_t)(n_chunks - s->n_chunks_backed) * WIRE_CHUNK_BYTES) < 0)
                return -errno;
        s->n_chunks_backed = n_chunks;
        return 0;
}

static void shm_wake_all(_Atomic uint32_t *word) {
        atomic_fetch_add_explicit(word, 1, memory_order_release);
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void shm_stop_recording(const struct shm *s) {
        struct wire_header *h = shm_header(s);
        uint32_t n = atomic_load_explicit(&h->n_slots_used, memory_order_acquire);

        /* release: a waiter that sees the bumped lent_seq must see this first */
        atomic_store_explicit(&h->recording, 0, memory_order_release);
        for (uint32_t i = 0; i < MIN(n, (uint32_t)WIRE_N_SLOTS); i++)
                shm_wake_all(&shm_slot(s, i)->lent_seq);
        shm_wake_all(&h->wake);
}
