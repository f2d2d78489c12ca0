/* SPDX-License-Identifier: MIT */
#include "remote/remote_memory.h"

#include <errno.h>
#include <sys/uio.h>

#include "base/macros.h"

void remote_memory_init(struct remote_memory *m, pid_t pid, uint64_t begin, const uint8_t *bytes,
                        size_t n_bytes) {
        m->pid = pid;
        m->begin = begin;
        m->bytes = bytes;
        m->n_bytes = n_bytes;
        m->n_noted = 0;
        m->has_checked = m->is_same = m->is_doubtful = m->is_cut = false;
        m->page_begin = 0;
        m->n_page_bytes = 0;
}

/* Are these words of the process still so? */
static bool are_same(const struct remote_memory *m, const uint64_t *at, const uint64_t *words,
                     uint32_t n) {
        uint64_t now[REMOTE_NOTED_MAX];
        struct iovec to = {now, n * sizeof(now[0])}, from[REMOTE_NOTED_MAX];

        for (uint32_t i = 0; i < n; i++)
                from[i] = (struct iovec){(void *)at[i], /* NOLINT: of the other process */
                                         sizeof(now[0])};
        return process_vm_readv(m->pid, &to, 1, from, n, 0) == (ssize_t)to.iov_len &&
               memcmp(now, words, to.iov_len) == 0;
}

/* If the last words that led outwards have changed, their frames have returned, and what is beyond belongs to others. If they
 * have not, that may be because nobody has come so deep again since. Only if the first ones are the same, too, the thread is
 * where it was. */
static bool is_unchanged(struct remote_memory *m) {
        uint32_t n = MIN(m->n_noted, (uint32_t)REMOTE_NOTED_MAX);

        if (m->n_bytes == 0)
                return true; /* there was no copy: the caller knows that the thread stands still */
        if (n == 0 || !are_same(m, m->noted_at, m->noted, n))
                return false;
        m->is_doubtful = !are_same(m, m->first_at, m->first, n);
        return true;
}

size_t remote_memory_peek(const struct remote_memory *m, uint64_t addr, void *ret, size_t n_bytes) {
        struct iovec to = {ret, n_bytes};
        struct iovec from = {(void *)addr, n_bytes}; /* NOLINT: of the other process */
        ssize_t n = process_vm_readv(m->pid, &to, 1, &from, 1, 0);

        return n > 0 ? (size_t)n : 0;
}

bool remote_memory_beyond(struct remote_memory *m, uint64_t addr, uint64_t *ret) {
        uint64_t page = addr & -(uint64_t)REMOTE_PAGE_BYTES;

        if (!m->has_checked) {
                m->has_checked = true;
                m->is_same = is_unchanged(m);
        }
        if (!m->is_same) {
                m->is_cut = true;
                return false;
        }
        if (addr % sizeof(*ret) != 0)
                return false;
        if (page != m->page_begin || m->n_page_bytes == 0) {
                errno = 0;
                m->page_begin = page;
                m->n_page_bytes = (uint32_t)remote_memory_peek(m, page, m->page, sizeof(m->page));
                m->is_cut |= m->n_page_bytes == 0 && errno != EFAULT;
        }
        if (addr - page + sizeof(*ret) > m->n_page_bytes)
                return false;
        memcpy(ret, m->page + (addr - page), sizeof(*ret));
        return true;
}
