/* SPDX-License-Identifier: MIT */
#include "hook/join.h"

#include <elf.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "hook/patched.h"
#include "hook/runtime.h"
#include "hook/silence.h"
#include "wire/hello.h"

enum { RENDEZVOUS_TOKEN_BYTES = 16 };

#if defined(__aarch64__)
enum { RENDEZVOUS_MACHINE = EM_AARCH64 };
#else
enum { RENDEZVOUS_MACHINE = EM_X86_64 };
#endif

static int rendezvous_hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return -1;
}

static bool rendezvous_read_token(const char *hex, uint8_t *ret_token) {
        for (unsigned i = 0; i < RENDEZVOUS_TOKEN_BYTES; i++) {
                int high = rendezvous_hex_digit(hex[2 * i]);
                int low = high < 0 ? -1 : rendezvous_hex_digit(hex[2 * i + 1]);

                if (low < 0)
                        return false;
                ret_token[i] = (uint8_t)(high << 4 | low);
        }
        return true;
}

/* A system call that a signal handler of the program may interrupt. */
static long rendezvous_call(long nr, long a, long b, long c) {
        long r;

        for (unsigned i = 0; i < 1000; i++) {
                r = sys_call3(nr, a, b, c);
                if (r != -EINTR)
                        return r;
        }
        return r;
}

/* For the next call on the socket: a short time first, to notice that the recorder is silent. */
static void rendezvous_set_patience(long fd, const struct silence *silence) {
        const uint64_t notice_ns = SILENCE_NOTICE_MS * UINT64_C(1000000);
        uint64_t left_ns = silence_left_ns(silence);
        struct timeval patience = {.tv_usec = 1}; /* zero would be for ever */

        if (!silence->is_known && left_ns > notice_ns)
                left_ns = notice_ns;
        if (left_ns >= 1000) {
                patience.tv_sec = (time_t)(left_ns / 1000000000u);
                patience.tv_usec = (suseconds_t)(left_ns % 1000000000u / 1000);
        }
        sys_call6(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&patience, sizeof(patience),
                  0);
        sys_call6(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&patience, sizeof(patience),
                  0);
}

/* A call that waits for the recorder. */
static long rendezvous_await(struct silence *silence, long nr, long fd, long b, long c) {
        long r;

        rendezvous_set_patience(fd, silence);
        r = rendezvous_call(nr, fd, b, c);
        if (r != -EAGAIN || silence->is_known)
                return r;
        silence_tell(silence);
        rendezvous_set_patience(fd, silence);
        return rendezvous_call(nr, fd, b, c);
}

/* A connected socket or -errno. When the time is up nothing waits any more, but the recorder still finds the hello. */
static int rendezvous_connect(struct silence *silence, const char *name, size_t name_len) {
        int type = SOCK_SEQPACKET | SOCK_CLOEXEC;
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        size_t path_off = name[0] == '/' ? 0 : 1; /* an abstract name begins with NUL */
        long fd, r;

        if (name_len == 0 || name_len + path_off > sizeof(addr.sun_path))
                return -EINVAL;
        for (size_t i = 0; i < name_len; i++)
                addr.sun_path[path_off + i] = name[i];
        if (silence_left_ns(silence) == 0)
                type |= SOCK_NONBLOCK;
        fd = sys_call3(SYS_socket, AF_UNIX, type, 0);
        if (fd < 0)
                return (int)fd;
        /* A path is given with its NUL: the length of the address is the rest of it. */
        r = rendezvous_await(silence, SYS_connect, fd, (long)&addr,
                             (long)(offsetof(struct sockaddr_un, sun_path) + name_len + 1));
        if (r < 0) {
                sys_close((int)fd);
                return (int)r;
        }
        return (int)fd;
}

/* The names are tried in order: an abstract one is not seen from another network namespace, a
 * path not from another mount namespace. */
static int rendezvous_connect_any(struct silence *silence, const char *names, size_t len) {
        int fd = -ENOENT;

        while (len > 0 && fd < 0) {
                size_t n = 0;

                while (n < len && names[n] != ';')
                        n++;
                fd = rendezvous_connect(silence, names, n);
                n += n < len;
                names += n;
                len -= n;
        }
        return fd;
}

enum { RENDEZVOUS_MAX_FDS = 2 }; /* the arena's, a plan's */

/* How many descriptors came; those that did not are -1. */
static unsigned rendezvous_received_fds(struct msghdr *msg, int *ret_fds) {
        struct cmsghdr *c = msg->msg_controllen >= sizeof(*c) ? msg->msg_control : NULL;
        unsigned n = 0;

        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
                n = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
        if (n > RENDEZVOUS_MAX_FDS)
                n = RENDEZVOUS_MAX_FDS;
        for (unsigned i = 0; i < RENDEZVOUS_MAX_FDS; i++)
                ret_fds[i] = i < n ? ((const int *)CMSG_DATA(c))[i] : -1;
        return n;
}

static void rendezvous_close_fds(const int *fds) {
        for (unsigned i = 0; i < RENDEZVOUS_MAX_FDS; i++)
                if (fds[i] >= 0)
                        sys_close(fds[i]);
}

/* 0, with the arena's descriptor and a plan's or -1; or -errno. */
static int rendezvous_talk(struct silence *silence, int fd, const uint8_t *token, bool is_again,
                           struct wire_welcome *ret_welcome, int *ret_fds) {
        struct wire_hello hello;
        union {
                char bytes[CMSG_SPACE(RENDEZVOUS_MAX_FDS * sizeof(int))];
                struct cmsghdr align;
        } control;
        struct iovec asked = {&hello, sizeof(hello)}, iov = {ret_welcome, sizeof(*ret_welcome)};
        struct msghdr question = {.msg_iov = &asked, .msg_iovlen = 1};
        struct msghdr msg = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
        long r;

        /* field by field: an initialiser would call memset */
        hello.magic = WIRE_MAGIC;
        hello.version = WIRE_VERSION;
        hello.pid = (uint32_t)sys_getpid();
        hello.parent_pid = (uint32_t)sys_getppid();
        hello.machine = RENDEZVOUS_MACHINE;
        hello.now = clock_counter();
        hello.is_again = is_again;
        for (unsigned i = 0; i < RENDEZVOUS_TOKEN_BYTES; i++)
                hello.token[i] = token[i];
        patched_introduce(&hello);
        r = rendezvous_call(SYS_sendmsg, fd, (long)&question, MSG_NOSIGNAL);
        if (r != (long)sizeof(hello))
                return r < 0 ? (int)r : -EPROTO;
        r = rendezvous_await(silence, SYS_recvmsg, fd, (long)&msg, MSG_CMSG_CLOEXEC);
        if (r < 0)
                return (int)r;
        if ((rendezvous_received_fds(&msg, ret_fds) > 0 || is_again) &&
            r == (long)sizeof(*ret_welcome) && ret_welcome->magic == WIRE_MAGIC &&
            ret_welcome->accepted)
                return 0;
        rendezvous_close_fds(ret_fds);
        return -EPROTO;
}

static bool rendezvous_header_is_known(const struct wire_header *h,
                                       const struct wire_welcome *welcome) {
        return h->magic == WIRE_MAGIC && h->version == WIRE_VERSION &&
               h->chunk_bytes == WIRE_CHUNK_BYTES && h->n_lent == WIRE_N_LENT &&
               h->n_processes == WIRE_N_PROCESSES && h->n_slots == WIRE_N_SLOTS &&
               h->n_chunks == WIRE_N_CHUNKS && h->size_bytes == welcome->size_bytes &&
               h->chunk_off + (uint64_t)WIRE_N_CHUNKS * WIRE_CHUNK_BYTES <= h->size_bytes &&
               welcome->process_idx < WIRE_N_PROCESSES;
}

static int rendezvous_map(int arena_fd, const struct wire_welcome *welcome) {
        struct wire_header *h;
        long base = sys_mmap(NULL, welcome->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                             arena_fd, 0);

        if (sys_is_error(base))
                return (int)base;
        h = (struct wire_header *)base;
        if (!rendezvous_header_is_known(h, welcome) ||
            !atomic_load_explicit(&h->recording, memory_order_acquire)) {
                sys_munmap(h, welcome->size_bytes);
                return -EPROTO;
        }
        sys_madvise(h, welcome->size_bytes,
                    MADV_DONTDUMP); /* the arena is no part of the program's core */
        runtime.header = h;
        runtime.process_idx = welcome->process_idx;
        runtime.process =
                (struct wire_process *)(base + (long)h->process_off) + welcome->process_idx;
        return 0;
}

/* How long a tick is: for bounding waits without asking the kernel. The handshake is long enough
 * to measure by where the CPU does not say. */
static uint32_t rendezvous_tick_q16(uint64_t ticks, uint64_t ns) {
#if defined(__aarch64__)
        uint64_t hz;

        __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
        if (hz)
                return (uint32_t)((UINT64_C(1000000000) << 16) / hz);
#endif
        return ticks ? (uint32_t)((ns << 16) / ticks) : 1u << 16;
}

static void rendezvous_set_clock(uint64_t begin_ticks, uint64_t begin_ns) {
        uint64_t ns = ring_clock_monotonic_ns() - begin_ns, ticks = clock_counter() - begin_ticks;

        runtime.clock.base = runtime.header->clock_base;
        runtime.clock.kind = runtime.header->clock;
        runtime.clock.ns_per_tick_q16 = 1u << 16;
        if (runtime.clock.kind == WIRE_CLOCK_COUNTER)
                runtime.clock.ns_per_tick_q16 = rendezvous_tick_q16(ticks, ns);
}

/* Asks whoever is at the names of value. 0 with the answer and its descriptors, or -errno. */
static int rendezvous_ask(const char *value, bool is_again, struct wire_welcome *ret_welcome,
                          int *ret_fds) {
        uint8_t token[RENDEZVOUS_TOKEN_BYTES];
        struct silence silence;
        size_t colon = 0;
        int fd, r;

        for (size_t i = 0; value[i]; i++)
                if (value[i] == ':')
                        colon = i;
        if (colon == 0 || !rendezvous_read_token(value + colon + 1, token))
                return -EINVAL;
        silence_look(&silence, value, colon);
        fd = rendezvous_connect_any(&silence, value, colon);
        if (fd == -EAGAIN && !is_again)
                silence_count(&silence);
        if (fd < 0)
                return fd;
        r = rendezvous_talk(&silence, fd, token, is_again, ret_welcome, ret_fds);
        sys_close(fd);
        return r;
}

bool join_is_open(const char *value) {
        struct silence silence;
        size_t colon = 0;
        int fd;

        for (size_t i = 0; value[i]; i++)
                if (value[i] == ':')
                        colon = i;
        silence.path[0] = '\0';
        silence.began_ns = 0;
        silence.is_known = true;
        fd = rendezvous_connect_any(&silence, value, colon);
        if (fd >= 0)
                sys_close(fd);
        return fd != -ECONNREFUSED && fd != -ENOENT && fd != -EINVAL;
}

int join_recorder(const char *value) {
        uint64_t begin_ns = ring_clock_monotonic_ns(), begin_ticks = clock_counter();
        int fds[RENDEZVOUS_MAX_FDS] = {-1, -1}, r;
        struct wire_welcome welcome = {0};

        r = rendezvous_ask(value, false, &welcome, fds);
        if (r < 0)
                return r;
        if (fds[1] >= 0) /* before anything else takes the room that was planned for */
                patched_apply(fds[1], welcome.plan_bytes);
        r = rendezvous_map(fds[0], &welcome);
        if (r == 0) {
                rendezvous_set_clock(begin_ticks, begin_ns);
                patched_tell();
        }
        rendezvous_close_fds(fds);
        return r;
}

int join_plan_again(const char *value) {
        int fds[RENDEZVOUS_MAX_FDS] = {-1, -1}, r;
        struct wire_welcome welcome = {0};

        r = rendezvous_ask(value, true, &welcome, fds);
        if (r < 0)
                return r;
        if (fds[0] >= 0 && welcome.plan_bytes) {
                patched_apply(fds[0], welcome.plan_bytes);
                patched_tell();
        }
        rendezvous_close_fds(fds);
        return 0;
}
