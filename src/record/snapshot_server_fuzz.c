/* SPDX-License-Identifier: MIT */
/* Anything at the recorder's snapshot server: each message of the input comes from a caller of its own. Only whole requests are heard, the names
 * they get are text, differ, and everybody is answered once.
 * The input: u8 choice, u8 length, bytes, and so on. Bit 0 makes magic and version right, bit 1 the kind and the name's length, bit 2
 * hangs up before the answer, bit 3 makes the cut, bit 4 lets time pass and memory grow.
 *
 * seeds: src/record/snapshot_server_seeds
 * covers: src/record/snapshot_server.c src/record/snapshots.c src/record/snapshot_protocol.c */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "record/snapshot_server.h"
#include "record/snapshots.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RIGHT_MAGIC = 1, RIGHT_KIND = 2, HANG_UP = 4, CUT = 8, TIME = 16 };

static void expect(bool is_so) {
        if (!is_so)
                abort();
}

static int call(const struct snapshot_server *d) {
        struct sockaddr_un addr = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        memcpy(addr.sun_path, d->path, sizeof(addr.sun_path));
        expect(fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0);
        return fd;
}

static void answer_all(struct snapshot_server *d, struct snapshots *m) {
        struct snapshot_answer a = {.magic = SNAPSHOT_MAGIC,
                                    .version = SNAPSHOT_VERSION,
                                    .result = SNAPSHOT_DONE};

        snapshots_begin(m);
        for (size_t i = 0; i < m->current.n; i++) {
                const struct snapshot_wish *w = &m->current.items[i];

                expect(snapshot_check_name(w->name, strlen(w->name), NULL) == 0);
                if (w->caller >= 0)
                        snapshot_server_answer(d, w->caller, &a);
        }
        snapshots_end(m, 0, 0);
}

static void check_names(const struct snapshots *m) {
        for (size_t i = 0; i < m->names.n; i++)
                for (size_t k = i + 1; k < m->names.n; k++)
                        expect(strcmp(m->names.items[i], m->names.items[k]) != 0);
}

static void visit(struct snapshot_server *d, struct snapshots *m, uint8_t choice,
                  const uint8_t *bytes, size_t n) {
        union {
                struct snapshot_request q;
                uint8_t bytes[256];
        } x = {0};
        struct snapshot_request q;
        int fd = call(d), caller;
        struct err e = {0};

        memcpy(x.bytes, bytes, n);
        if (choice & RIGHT_MAGIC) {
                x.q.magic = SNAPSHOT_MAGIC;
                x.q.version = SNAPSHOT_VERSION;
        }
        if (choice & RIGHT_KIND) {
                memset(&x.q.name, 0, sizeof(x.q.name));
                memcpy(x.q.name, bytes, n < SNAPSHOT_NAME_BYTES ? n : SNAPSHOT_NAME_BYTES);
                x.q.kind = SNAPSHOT_TAKE;
                x.q.name_bytes = (uint32_t)(n < SNAPSHOT_NAME_BYTES ? n : SNAPSHOT_NAME_BYTES);
                n = sizeof(x.q);
        }
        expect(send(fd, x.bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
        if (choice & HANG_UP) {
                close(fd);
                fd = -1;
        }
        caller = snapshot_server_hear(d, &q);
        expect(caller < 0 || (q.magic == SNAPSHOT_MAGIC && q.name_bytes <= SNAPSHOT_NAME_BYTES));
        expect((choice & (RIGHT_MAGIC | RIGHT_KIND)) != (RIGHT_MAGIC | RIGHT_KIND) || caller >= 0);
        if (caller >= 0 && snapshots_wish(m, q.name, q.name_bytes, caller, &e) < 0) {
                expect(e.text[0] && !strchr(e.text, '\n'));
                snapshot_server_answer(d, caller,
                                       &(struct snapshot_answer){.result = SNAPSHOT_REFUSED});
        }
        if (fd >= 0)
                close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        uint64_t now_ns = 0, live_bytes = 0;
        char folder[] = "/tmp/silt-server-XXXXXX";
        struct snapshots m;
        struct snapshot_server d;
        bool is_last;

        expect(mkdtemp(folder) != NULL && snapshot_server_open(&d, folder) == 0);
        snapshots_init(&m, 1000, 10);
        for (size_t at = 0; at + 2 <= size;) {
                size_t n = data[at + 1] < size - at - 2 ? data[at + 1] : size - at - 2;

                visit(&d, &m, data[at], data + at + 2, n);
                if (data[at] & TIME) {
                        now_ns += 100u << (data[at + 1] & 15);
                        live_bytes += 1000u << (data[at + 1] & 15);
                        snapshots_keep_time(&m, now_ns, live_bytes, &is_last);
                }
                if ((data[at] & CUT) || d.n_callers >= SNAPSHOT_SERVER_N_CALLERS / 2)
                        answer_all(&d, &m);
                at += 2 + n;
        }
        answer_all(&d, &m);
        expect(d.n_callers == 0);
        check_names(&m);
        snapshot_server_close(&d);
        snapshots_done(&m);
        expect(rmdir(folder) == 0);
        return 0;
}
