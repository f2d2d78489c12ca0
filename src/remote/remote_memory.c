/* SPDX-License-Identifier: MIT */
#include "remote/remote_memory.h"

#include <errno.h>
#include <sys/uio.h>

void remote_memory_init(struct remote_memory *m, pid_t pid, uint64_t begin, const uint8_t *bytes,
                        size_t n_bytes) {
        m->pid = pid;
        m->begin = begin;
        m->bytes = bytes;
        m->n_bytes = n_bytes;
        m->is_cut = false;
        m->page_begin = 0;
        m->n_page_bytes = 0;
}

size_t remote_memory_peek(const struct remote_memory *m, uint64_t addr, void *ret, size_t n_bytes) {
        struct iovec to = {ret, n_bytes};
        struct iovec from = {(void *)addr, n_bytes}; /* NOLINT: of the other process */
        ssize_t n = process_vm_readv(m->pid, &to, 1, &from, 1, 0);

        return n > 0 ? (size_t)n : 0;
}

bool remote_memory_beyond(struct remote_memory *m, uint64_t addr, uint64_t *ret) {
        uint64_t page = addr & -(uint64_t)REMOTE_PAGE_BYTES;

        if (m->n_bytes) {
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
