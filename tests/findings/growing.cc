// SPDX-License-Identifier: MIT
// Containers of C++ that are only ever added to: sessions (unordered_map), metrics (map of strings), cycles (shared_ptr
// that hold each other), backlog (deque of unique_ptr whose reader is too slow).
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "shape.h"

static long size, per_step, warm_steps, depth;
static bool is_torn_down;

struct Session {
        explicit Session(size_t n) : state(new char[n]) {}
        std::unique_ptr<char[]> state;
        std::shared_ptr<Session> peer;
};

class Sessions {
      public:
        NAMED void open(long id) {
                by_id.emplace(id, std::make_unique<Session>(size));
                grown(size, 1);
                /* the object, its node, its share of the table, which may have room for twice as many */
                grown_beside_bytes += sizeof(Session) + 24 + 24;
        }
        std::unordered_map<long, std::unique_ptr<Session>> by_id;
};

class Metrics {
      public:
        NAMED void count(long id) {
                std::string name = "requests_total{path=\"/" + std::to_string(id) + "\"";

                name.resize(size - 1, ' ');
                by_name[std::move(name)]++;
                grown(size, 1);
                grown_beside_bytes += 32 + 8 + sizeof(std::string); /* its node */
        }
        std::map<std::string, long> by_name;
};

class Chat {
      public:
        NAMED void join(long) {
                auto a = std::make_shared<Session>(size);

                grown(size, 1);
                grown_beside_bytes += 16 + sizeof(Session);
                a->peer = a; // is never released
        }
};

class Backlog {
      public:
        NAMED void put(long) {
                waiting.emplace_back(new char[size]);
                grown(size, 1);
                grown_beside_bytes += 3 * sizeof(char *);
        }
        void take() {
                waiting.pop_front();
                grown(-size, -1);
        }
        std::deque<std::unique_ptr<char[]>> waiting;
};

static Sessions *sessions;
static Metrics *metrics;
static Chat *chat;
static Backlog *backlog;
static long n_done;
static volatile long n_puts = 2;

static void open_sessions(long) {
        for (long k = 0; k < per_step; k++)
                sessions->open(n_done++);
}

static void count_metrics(long) {
        for (long k = 0; k < per_step; k++)
                metrics->count(n_done++);
}

static void join_chats(long) {
        for (long k = 0; k < per_step; k++)
                chat->join(n_done++);
}

static void put_and_take(long) {
        for (long k = 0; k < per_step; k++) {
                for (long j = 0; j < n_puts; j++)
                        backlog->put(n_done++);
                backlog->take();
        }
}

static void rise(step_fn step) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                if (i >= warm_steps)
                        relay(depth, step, i);
        }
}

int main(int argc, char **argv) {
        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        depth = param("depth");
        is_torn_down = param("torn_down") != 0;
        warm_steps = shape_n_steps * param("warm_pct") / 100;
        sessions = new Sessions;
        metrics = new Metrics;
        chat = new Chat;
        backlog = new Backlog;
        if (shape_is("sessions")) {
                rise(open_sessions);
                tell_growth("Sessions::open");
        } else if (shape_is("metrics")) {
                rise(count_metrics);
                tell_growth("Metrics::count");
        } else if (shape_is("cycles")) {
                rise(join_chats);
                tell_growth("Chat::join");
        } else if (shape_is("backlog")) {
                rise(put_and_take);
                tell_growth("Backlog::put");
        } else {
                return 96;
        }
        if (is_torn_down) {
                delete sessions;
                delete metrics;
                delete chat;
                delete backlog;
        }
        shape_end();
        return 0;
}
