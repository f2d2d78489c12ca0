// SPDX-License-Identifier: MIT
// Large state per object in C++: state (an array inside of a class), buffers (a vector in every request). Not large per unit:
// texts (strings of all lengths).
#include <memory>
#include <string>
#include <vector>

#include "shape.h"

static long n_units, unit_bytes;

struct MqttState {
        char inbox[256 * 1024];
        char outbox[40 * 1024];
        long id;
};

class Server {
      public:
        NAMED void accept() {
                clients.emplace_back(new MqttState);
        }
        std::vector<std::unique_ptr<MqttState>> clients;
};

struct Request {
        NAMED Request() : body(unit_bytes) {}
        std::vector<char> body;
};

NAMED static std::string any_text() {
        return std::string(unit_bytes / 50 + chance(unit_bytes * 2), 't');
}

int main(int argc, char **argv) {
        Server server;
        std::vector<std::unique_ptr<Request>> requests;
        std::vector<std::string> texts;
        long n = 0;

        shape_start(argc, argv);
        n_units = param("units");
        unit_bytes = param("unit_bytes");
        long up_steps = shape_n_steps * param("up_pct") / 100 + 1;
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                for (; n < n_units && n <= n_units * i / up_steps; n++) {
                        if (shape_is("state"))
                                server.accept();
                        else if (shape_is("buffers"))
                                requests.push_back(std::make_unique<Request>());
                        else if (shape_is("texts"))
                                texts.push_back(any_text());
                        else
                                return 96;
                }
        }
        tell_text("culprit", shape_is("state") ? "Server::accept" : "Request::Request");
        tell("unit_bytes", shape_is("state") ? sizeof(MqttState) : unit_bytes);
        tell("alive", n_units);
        server.clients.clear();
        requests.clear();
        texts.clear();
        shape_end();
        return 0;
}
