/* SPDX-License-Identifier: MIT */
/* Anything at the recorder's desk: each message of the input comes from a caller of its own. Only whole requests are heard, the names
 * they get are text, differ, and everybody is answered once.
 * The input: u8 choice, u8 length, bytes, and so on. Bit 0 makes magic and version right, bit 1 the kind and the name's length, bit 2
 * hangs up before the answer, bit 3 makes the cut, bit 4 lets time pass and memory grow.
 *
 * seeds: src/record/desk_seeds
 * covers: src/record/desk.c src/record/moments.c src/record/ask.c */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/desk.h"
#include "record/moments.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RIGHT_MAGIC = 1, RIGHT_KIND = 2, HANG_UP = 4, CUT = 8, TIME = 16 };

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static int call(const struct desk *d) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        memcpy(addr.sun_path, d->path, sizeof(addr.sun_path));
        expect(fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
        return fd;
}

static void answer_all(struct desk *d, struct moments *m) {
        struct ask_answer a = {.magic = ASK_MAGIC, .version = ASK_VERSION, .result = ASK_DONE};

        moments_begin(m);
        for (size_t i = 0; i < m->current.n; i++) {
                const struct moment_wish *w = &m->current.items[i];

                expect(ask_check_name(w->name, strlen(w->name), NULL) == 0);
                if (w->caller >= 0)
                        desk_answer(d, w->caller, &a);
        }
        moments_end(m, 0, 0);
}

static void check_names(const struct moments *m) {
        for (size_t i = 0; i < m->names.n; i++)
                for (size_t k = i + 1; k < m->names.n; k++)
                        expect(strcmp(m->names.items[i], m->names.items[k]) != 0);
}

static void visit(struct desk *d, struct moments *m, uint8_t choice, const uint8_t *bytes,
                  size_t n) {
        union {
                struct ask_request q;
                uint8_t bytes[256];
        } x = {0};
        struct ask_request q;
        int fd = call(d), caller;
        struct err e = {0};

        memcpy(x.bytes, bytes, n);
        if (choice & RIGHT_MAGIC) {
                x.q.magic = ASK_MAGIC;
                x.q.version = ASK_VERSION;
        }
        if (choice & RIGHT_KIND) {
                memset(&x.q.name, 0, sizeof(x.q.name));
                memcpy(x.q.name, bytes, n < ASK_NAME_BYTES ? n : ASK_NAME_BYTES);
                x.q.kind = ASK_SNAPSHOT;
                x.q.name_bytes = (uint32_t)(n < ASK_NAME_BYTES ? n : ASK_NAME_BYTES);
                n = sizeof(x.q);
        }
        expect(send(fd, x.bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
        if (choice & HANG_UP) {
                close(fd);
                fd = -1;
        }
        caller = desk_hear(d, &q);
        expect(caller < 0 || (q.magic == ASK_MAGIC && q.name_bytes <= ASK_NAME_BYTES));
        expect((choice & (RIGHT_MAGIC | RIGHT_KIND)) != (RIGHT_MAGIC | RIGHT_KIND) || caller >= 0);
        if (caller >= 0 && moments_wish(m, q.name, q.name_bytes, caller, &e) < 0) {
                expect(e.text[0] && !strchr(e.text, '\n'));
                desk_answer(d, caller, &(struct ask_answer){.result = ASK_REFUSED});
        }
        if (fd >= 0)
                close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint64_t now_ns = 0, live_bytes = 0;
        char folder[] = "/tmp/silt-desk-XXXXXX";
        struct moments m;
        struct desk d;
        bool is_last;

        expect(mkdtemp(folder) != NULL && desk_open(&d, folder) == 0);
        moments_init(&m, 1000, 10);
        for (size_t at = 0; at + 2 <= size;) {
                size_t n = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;

                visit(&d, &m, data[at], data + at + 2, n);
                if (data[at] & TIME) {
                        now_ns += 100u << (data[at + 1] & 15);
                        live_bytes += 1000u << (data[at + 1] & 15);
                        moments_keep_time(&m, now_ns, live_bytes, &is_last);
                }
                if ((data[at] & CUT) || d.n_callers >= DESK_N_CALLERS / 2)
                        answer_all(&d, &m);
                at += 2 + n;
        }
        answer_all(&d, &m);
        expect(d.n_callers == 0);
        check_names(&m);
        desk_close(&d);
        moments_done(&m);
        expect(rmdir(folder) == 0);
        return 0;
}
