/* SPDX-License-Identifier: MIT */
#include "attach/runtime_check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/macros.h"
#include "wire/identity_number.h"
#include "wire/runtime_identity.h"

enum {
        IDENTITY_MAX_BYTES = 16 << 20, /* of a file or a mapping that are looked through */
        IDENTITY_PIECE_BYTES = 64 << 10,
};

enum identity { IDENTITY_NONE = 0, IDENTITY_OTHER, IDENTITY_OWN };

static enum identity identity_in(const uint8_t *bytes, size_t n) {
        struct wire_identity found;
        const uint8_t *at = n ? memmem(bytes, n, WIRE_IDENTITY_MARK, sizeof(found.mark)) : NULL;

        if (!at || (size_t)(bytes + n - at) < sizeof(found))
                return IDENTITY_NONE;
        memcpy(&found, at, sizeof(found));
        return found.layouts == WIRE_IDENTITY ? IDENTITY_OWN : IDENTITY_OTHER;
}

/* Piece by piece: fresh memory for all of it would take longer than reading. Pieces overlap, so that one of them has the whole
 * mark. */
static enum identity identity_at(int fd, uint64_t off, size_t n) {
        const size_t overlap = sizeof(struct wire_identity) - 1;
        _cleanup_free_ uint8_t *bytes = malloc(IDENTITY_PIECE_BYTES);
        enum identity found = IDENTITY_NONE;

        for (size_t done = 0; bytes && done < n && !found;) {
                size_t wanted = MIN(n - done, (size_t)IDENTITY_PIECE_BYTES);
                ssize_t got = fs_read_at(fd, bytes, wanted, off + done);

                if (got <= 0)
                        break;
                found = identity_in(bytes, (size_t)got);
                if ((size_t)got < wanted)
                        break;
                done += wanted == n - done ? wanted : wanted - overlap;
        }
        return found;
}

int runtime_check_file(const char *path, struct err *reterr) {
        _cleanup_close_ int fd = fs_open(path, O_RDONLY, 0);

        if (fd < 0)
                return err_set_errno(reterr, fd, "runtime '%s'", path);
        switch (identity_at(fd, 0, IDENTITY_MAX_BYTES)) {
        case IDENTITY_OWN: return 0;
        case IDENTITY_OTHER:
                return err_set(
                        reterr, -ELIBBAD,
                        "runtime '%s' comes from another build of silt: use the libsilt.so that came with this one",
                        path);
        case IDENTITY_NONE: break;
        }
        return err_set(
                reterr, -ELIBBAD,
                "runtime '%s' is not silt's runtime, or an older one: use the libsilt.so that came with this silt",
                path);
}

int runtime_check_target(const struct target *t, struct err *reterr) {
        const struct mapping *first = target_file(t, "libsilt.so");

        if (!first)
                return 0;
        for (size_t i = 0; i < t->maps.list.n; i++) {
                const struct mapping *m = &t->maps.list.items[i];

                if (m->is_readable && !strcmp(m->path, first->path) &&
                    identity_at(t->mem_fd, m->begin,
                                (size_t)MIN(m->end - m->begin, IDENTITY_MAX_BYTES)) == IDENTITY_OWN)
                        return 0;
        }
        return err_set(
                reterr, -ELIBBAD,
                "process %d (%s) contains the runtime of another build of silt: attach with that build, or restart the program",
                (int)t->pid, t->name);
}
