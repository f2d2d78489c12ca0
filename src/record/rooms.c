/* SPDX-License-Identifier: MIT */
#include "record/rooms.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/macros.h"
#include "record/graph_schedule.h"
#include "record/recorder_state.h"
#include "trace/kernel_line.h"
#include "trace/writer.h"

#define MS 1000000ull

/* So long the end of who was killed is waited for. */
#define ROOMS_KILL_NS (5000 * MS)

enum {
        ROOMS_READ_NS = 1000 * MS,     /* between two readings of everything */
        ROOMS_NEAR_READ_NS = 250 * MS, /* when little is left */
        ROOMS_NEAR_PART = 4,           /* of the limit */
        ROOMS_MOVED_PART = 16,    /* of the limit: so far from what was read it is read again, */
        ROOMS_MOVED_NS = 50 * MS, /* but not more often */
        ROOMS_ROW_NS = 1000 * MS, /* a row at least so often, ever more rarely: */
        ROOMS_ROW_SHARE = 256,    /* of the time that has passed */
        ROOMS_STEP_PART = 128,    /* of the limit: a row for each, */
        ROOMS_STEP_NS = 50 * MS,  /* but not more often; n rows come after n² × 50 us */
        ROOMS_STEP_SLOWER_NS = 100000,
        ROOMS_MAX_LINES = 4096, /* of the kernel's log, at once */
        ROOMS_N_WAITS = 10,
        ROOMS_WAIT_MS = 5,
};

static size_t rooms_n(const struct rooms *rooms) {
        return MIN(rooms->n, (size_t)ROOMS_MAX);
}

struct rooms_one *rooms_tightest(struct rooms *rooms) {
        struct rooms_one *tightest = NULL;
        uint64_t least = ROOM_UNKNOWN;

        for (size_t i = 0; i < rooms_n(rooms); i++) {
                uint64_t left = memory_room_left(&rooms->all[i].now);

                if (left < least && !rooms->all[i].is_gone) {
                        least = left;
                        tightest = &rooms->all[i];
                }
        }
        return tightest;
}

static uint64_t apart(uint64_t a, uint64_t b) {
        return a > b ? a - b : b - a;
}

/* ---- into the trace ------------------------------------------------------------------------------ */

static void put_row(struct recorder *r, struct rooms_one *one, uint64_t now_ns, uint32_t process,
                    uint32_t flags) {
        struct trace_room row = {.process = process,
                                 .flags = flags,
                                 .version = one->group.version,
                                 .time_ns = now_ns,
                                 .path = one->group.version ? one->group.path : ""};

        memcpy(row.of, one->now.of, sizeof(row.of));
        trace_put_room(r->writer, &row);
        one->written_ns = now_ns;
        one->written_bytes = one->now.of[ROOM_USAGE];
        one->n_rows++;
}

static bool is_row_due(const struct rooms_one *one, uint64_t now_ns) {
        uint64_t passed_ns = now_ns - MIN(one->written_ns, now_ns);
        uint64_t usage = one->now.of[ROOM_USAGE], limit = one->now.of[ROOM_LIMIT];
        uint64_t step = apart(usage, one->written_bytes);

        if (!one->n_rows || passed_ns >= MAX(now_ns / ROOMS_ROW_SHARE, ROOMS_ROW_NS))
                return true;
        return limit != ROOM_UNKNOWN && step > limit / ROOMS_STEP_PART &&
               passed_ns >= MAX(one->n_rows * ROOMS_STEP_SLOWER_NS, ROOMS_STEP_NS);
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Memory of the recorder, without the rings, is the group's where it shares it. */
static uint64_t own_bytes(const struct memory_group *above) {
        const struct memory_roots *roots = memory_roots();
        struct memory_group own;
        char text[8192];
        uint64_t anon;

        if (above->version &&
            (!memory_group_find(getpid(), roots->proc, roots->cgroup, &own) ||
             own.version != above->version || !memory_group_is_within(own.path, above->path)))
                return 0;
        if (fs_read_text("/proc/self/status", text, sizeof(text)) <= 0)
                return ROOM_UNKNOWN;
        anon = memory_field(text, "RssAnon");
        return anon == ROOM_UNKNOWN ? ROOM_UNKNOWN : anon << 10;
}

void rooms_take_reading(struct rooms_one *one, const struct memory_room *seen, uint64_t now_ns) {
        uint64_t n_kills = seen->of[ROOM_N_KILLS], n_before = one->read.of[ROOM_N_KILLS];

        /* the kernel counts a kill before it takes the memory */
        if (one->last_read_ns && n_kills != ROOM_UNKNOWN && n_before != ROOM_UNKNOWN &&
            n_kills > n_before) {
                one->before_kill = one->read;
                one->kill_seen_ns = now_ns;
        }
        one->now = one->read = *seen;
        one->last_read_ns = now_ns;
        one->read_bytes = seen->of[ROOM_USAGE];
}

static bool is_kill_fresh(const struct rooms_one *one, uint64_t now_ns) {
        return one->kill_seen_ns && now_ns < one->kill_seen_ns + ROOMS_KILL_NS;
}

static bool has_fallen(const struct rooms_one *one) {
        uint64_t limit = one->now.of[ROOM_LIMIT], usage = one->now.of[ROOM_USAGE];

        return limit != ROOM_UNKNOWN && usage != ROOM_UNKNOWN && one->read_bytes > usage &&
               one->read_bytes - usage > limit / ROOMS_MOVED_PART;
}

bool rooms_is_after_kill(const struct rooms_one *one, uint64_t now_ns) {
        return is_kill_fresh(one, now_ns) || (one->last_read_ns && has_fallen(one));
}

struct memory_room rooms_before_kill(const struct rooms_one *one, uint64_t now_ns) {
        if (is_kill_fresh(one, now_ns))
                return one->before_kill;
        return one->last_read_ns && has_fallen(one) ? one->read : one->now;
}

/* Memory that the rings are in: the recorder allocates it, so it is charged where the recorder is. */
static uint64_t ring_bytes(const struct recorder *r) {
        struct stat st;

        return r->config->shm && fstat(r->config->shm->fd, &st) == 0 ? (uint64_t)st.st_blocks * 512
                                                                     : 0;
}

/* Nothing of silt's counts as the program's shared memory. */
static void take_own(const struct recorder *r, const struct memory_group *g,
                     struct memory_room *seen) {
        uint64_t own = own_bytes(g), rings = ring_bytes(r);

        seen->of[ROOM_SILT] = own == ROOM_UNKNOWN || !own ? own : own + rings;
        if (own && seen->of[ROOM_SHMEM] != ROOM_UNKNOWN)
                seen->of[ROOM_SHMEM] -= MIN(rings, seen->of[ROOM_SHMEM]);
}

static void read_all(struct recorder *r, struct rooms_one *one, uint64_t now_ns) {
        const struct memory_roots *roots = memory_roots();
        struct memory_room seen;
        bool is_near;

        if (!one->group.version ? !memory_room_read_machine(roots->proc, &seen)
                                : !memory_room_read(&one->group, &seen)) {
                one->is_gone = true;
                return;
        }
        if (one->group.version)
                memory_room_recount(&one->group, roots->proc, &seen);
        take_own(r, &one->group, &seen);
        rooms_take_reading(one, &seen, now_ns);
        is_near = memory_room_left(&seen) < seen.of[ROOM_LIMIT] / ROOMS_NEAR_PART;
        one->next_read_ns = now_ns + (is_near ? ROOMS_NEAR_READ_NS : ROOMS_READ_NS);
}

static bool is_read_due(const struct rooms_one *one, uint64_t now_ns) {
        uint64_t limit = one->now.of[ROOM_LIMIT];

        return now_ns >= one->next_read_ns ||
               (limit != ROOM_UNKNOWN && now_ns >= one->last_read_ns + ROOMS_MOVED_NS &&
                apart(one->now.of[ROOM_USAGE], one->read_bytes) > limit / ROOMS_MOVED_PART);
}

static void add_group(struct rooms *rooms, const struct memory_group *g,
                      const struct memory_room *now) {
        for (size_t i = 0; i < rooms_n(rooms); i++)
                if (strcmp(rooms->all[i].group.folder, g->folder) == 0)
                        return;
        rooms->all[rooms->n++ % ROOMS_MAX] = (struct rooms_one){.group = *g, .now = *now};
}

void rooms_follow(struct recorder *r, pid_t pid) {
        const struct memory_roots *roots = memory_roots();
        struct memory_group g;
        struct memory_room now;

        if (!memory_group_find(pid, roots->proc, roots->cgroup, &g))
                return;
        do
                if (memory_room_look(&g, &now) && now.of[ROOM_LIMIT] != ROOM_UNKNOWN) {
                        add_group(&r->rooms, &g, &now);
                        recorder_log(r, "pid %d: its memory is limited to %llu bytes by %s",
                                     (int)pid, (unsigned long long)now.of[ROOM_LIMIT], g.folder);
                }
        while (memory_group_rise(&g));
}

static void hear_kernel(struct recorder *r);

bool rooms_sample(struct recorder *r, uint64_t now_ns) {
        struct rooms *rooms = &r->rooms;
        struct rooms_one *tightest = rooms_tightest(rooms);
        uint64_t before = tightest ? tightest->now.of[ROOM_USAGE] : 0;
        bool is_read = false;

        for (size_t i = 0; i < rooms_n(rooms); i++) {
                struct rooms_one *one = &rooms->all[i];
                struct memory_room seen;

                if (one->is_gone)
                        continue;
                if (one == tightest && memory_room_look(&one->group, &seen)) {
                        one->now.of[ROOM_LIMIT] = seen.of[ROOM_LIMIT];
                        one->now.of[ROOM_USAGE] = seen.of[ROOM_USAGE];
                }
                if (is_read_due(one, now_ns)) {
                        read_all(r, one, now_ns);
                        is_read = true;
                }
                /* rows are of what there was; after a kill they go on with what is left */
                if (!one->is_gone && !rooms_is_after_kill(one, now_ns) && is_row_due(one, now_ns))
                        put_row(r, one, now_ns, TRACE_NO_PROCESS, 0);
        }
        if (!tightest && !rooms->machine.is_gone && now_ns >= rooms->machine.next_read_ns) {
                read_all(r, &rooms->machine, now_ns);
                is_read = true;
                if (!rooms->machine.is_gone && is_row_due(&rooms->machine, now_ns))
                        put_row(r, &rooms->machine, now_ns, TRACE_NO_PROCESS, 0);
        }
        if (is_read)
                hear_kernel(r);
        return tightest && apart(tightest->now.of[ROOM_USAGE], before) >
                                   tightest->now.of[ROOM_LIMIT] / ROOMS_STEP_PART / 4;
}

/* ---- the kernel's words --------------------------------------------------------------------------- */

static void put_line(struct recorder *r, const char *line) {
        char note[KERNEL_LOG_LINE_BYTES + 16];

        if (r->rooms.n_kernel_notes++ >= ROOMS_MAX_KERNEL_NOTES)
                return;
        snprintf(note, sizeof(note), KERNEL_NOTE "%s", line);
        trace_put_note(r->writer, recorder_now_ns(r), note);
        recorder_log(r, "%s", note);
}

static bool is_own_group(const struct rooms *rooms, const struct kernel_line *reason) {
        for (size_t i = 0; i < rooms_n(rooms) && reason->full_group[0]; i++)
                if (strcmp(rooms->all[i].group.path, reason->full_group) == 0)
                        return true;
        return false;
}

/* A group whose members were never looked at. What is in it now is what the kill left: it had its peak. */
static void add_full_group(struct recorder *r, const char *path) {
        static const enum room_figure contents[] = {ROOM_SWAP, ROOM_ANON, ROOM_FILE, ROOM_SHMEM,
                                                    ROOM_KERNEL};
        const struct memory_roots *roots = memory_roots();
        char text[KERNEL_PATH_BYTES * 2 + 32];
        struct rooms *rooms = &r->rooms;
        struct rooms_one *added;
        struct memory_room now;
        struct memory_group g;
        size_t n_before = rooms->n;

        /* in a container the tree may begin at another group, which is not that one */
        snprintf(text, sizeof(text), "0:memory:%s\n0::%s\n", path, path);
        if (!memory_group_parse(text, roots->cgroup, &g) ||
            strcmp(g.folder + g.n_tree, path) != 0 || !memory_room_read(&g, &now) ||
            now.of[ROOM_LIMIT] == ROOM_UNKNOWN)
                return;
        memory_room_recount(&g, roots->proc, &now);
        now.of[ROOM_USAGE] = MIN(now.of[ROOM_PEAK], now.of[ROOM_LIMIT]);
        for (size_t i = 0; i < ARRAY_SIZE(contents); i++)
                now.of[contents[i]] = ROOM_UNKNOWN;
        add_group(rooms, &g, &now);
        if (rooms->n == n_before)
                return;
        /* a look before the process is over finds what is left */
        added = &rooms->all[n_before % ROOMS_MAX];
        added->before_kill = now;
        added->kill_seen_ns = recorder_now_ns(r);
}

/* Of a process that is recorded; or of another one, whose memory was in a group of theirs that was full. */
static void take_line(struct recorder *r, const char *line) {
        struct rooms *rooms = &r->rooms;
        struct kernel_line l, reason = {0};
        bool has_reason, is_ours;
        uint64_t images;

        if (!kernel_line_parse(line, &l))
                return;
        if (l.kind == KERNEL_REASON) {
                snprintf(rooms->reason, sizeof(rooms->reason), "%s", line);
                return;
        }
        has_reason = kernel_line_parse(rooms->reason, &reason) && reason.pid == l.pid;
        is_ours = map_get(&r->images.last_by_pid, l.pid, &images);
        if (is_ours || (has_reason && is_own_group(rooms, &reason))) {
                if (has_reason)
                        put_line(r, rooms->reason);
                put_line(r, line);
                if (is_ours)
                        rooms->told[rooms->n_told++ % ROOMS_MAX_TOLD] = l.pid;
                if (is_ours && has_reason && reason.is_group && !is_own_group(rooms, &reason))
                        add_full_group(r, reason.full_group);
        }
        rooms->reason[0] = 0;
}

static void hear_kernel(struct recorder *r) {
        char line[KERNEL_LOG_LINE_BYTES];

        for (int i = 0; i < ROOMS_MAX_LINES && kernel_log_next(&r->rooms.log, line); i++)
                take_line(r, line);
}

/* Numbers of processes in the log are the machine's. */
static bool is_numbered_as_machine(void) {
        char name[64];
        ssize_t n = readlink("/proc/self/ns/pid", name, sizeof(name) - 1);

        name[MAX(n, (ssize_t)0)] = 0;
        return strcmp(name, "pid:[4026531836]") == 0; /* PROC_PID_INIT_INO */
}

bool rooms_heard_of(struct recorder *r, pid_t pid) {
        struct rooms *rooms = &r->rooms;

        hear_kernel(r);
        for (size_t i = 0; i < MIN(rooms->n_told, (size_t)ROOMS_MAX_TOLD); i++)
                if (rooms->told[i] == (uint32_t)pid) {
                        rooms->told[i] = 0; /* another process may have the number later */
                        return is_numbered_as_machine();
                }
        return false;
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* What was charged to it is gone with the process: how much there was is what was read before. */
void rooms_take_kill(struct recorder *r, const struct image *one) {
        const struct memory_roots *roots = memory_roots();
        uint64_t now_ns = recorder_now_ns(r);

        r->rooms.n_kills++;
        for (size_t i = 0; i < rooms_n(&r->rooms); i++) {
                struct rooms_one *room = &r->rooms.all[i];

                room->now = rooms_before_kill(room, now_ns);
                memory_room_recount(&room->group, roots->proc, &room->now);
                put_row(r, room, now_ns, one->trace_process, TRACE_ROOM_KILL);
        }
        if (!rooms_n(&r->rooms) && r->rooms.machine.n_rows)
                put_row(r, &r->rooms.machine, now_ns, one->trace_process, TRACE_ROOM_KILL);
        recorder_note_no_graph(r);
        hear_kernel(r);
}

/* The kernel writes its line when it has sent the signal. */
void rooms_end(struct recorder *r) {
        struct pollfd log = {.fd = r->rooms.log.fd, .events = POLLIN};

        for (int i = 0; i < ROOMS_N_WAITS; i++) {
                hear_kernel(r);
                if (r->rooms.log.fd < 0 || r->rooms.n_told >= r->rooms.n_kills)
                        break;
                poll(&log, 1, ROOMS_WAIT_MS);
        }
        kernel_log_close(&r->rooms.log);
}

void rooms_begin(struct recorder *r) {
        kernel_log_open(&r->rooms.log, memory_roots()->log);
        rooms_follow(r, r->config->target);
}
