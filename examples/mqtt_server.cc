// SPDX-License-Identifier: MIT
// A message server whose memory decides how many clients fit: each connection gets an MqttState, and that reserves room
// for as many unanswered messages as the protocol allows, 293 KiB a client, where ten would do.
// `mqtt_server N` has N clients; `mqtt_server N --inflight 64` is the mended program.
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace mqtt {

struct Publish {
        uint64_t sent_at_ms = 0;
        uint32_t topic = 0;
        uint16_t packet = 0;
        uint8_t qos = 0, retries = 0;
        char *payload = nullptr;
};

// What the server must remember of one client.
class MqttState {
      public:
        NOINLINE explicit MqttState(size_t n_inflight)
                : outgoing_(n_inflight),     // messages that were sent
                  released_(n_inflight / 2), // and half of them acknowledged
                  read_buffer_(16384) {}

        void sent(uint16_t packet, uint32_t topic) {
                Publish &slot = outgoing_[packet % outgoing_.size()];
                slot.packet = packet;
                slot.topic = topic;
        }

        char *buffer() {
                return read_buffer_.data();
        }
        size_t buffer_bytes() const {
                return read_buffer_.size();
        }

      private:
        std::vector<Publish> outgoing_;
        std::vector<uint64_t> released_;
        std::vector<char> read_buffer_;
};

class Connection {
      public:
        Connection(int fd, size_t n_inflight) : fd_(fd), state_(n_inflight) {}
        ~Connection() {
                close(fd_);
        }
        Connection(const Connection &) = delete;
        Connection &operator=(const Connection &) = delete;

        // False when the client has gone.
        NOINLINE bool serve_packet() {
                ssize_t n = read(fd_, state_.buffer(), state_.buffer_bytes());
                if (n <= 0)
                        return false;
                std::string topic(state_.buffer(), static_cast<size_t>(n));
                state_.sent(next_packet_++, static_cast<uint32_t>(std::hash<std::string>{}(topic)));
                return write(fd_, "ack", 3) == 3;
        }

      private:
        int fd_;
        uint16_t next_packet_ = 0;
        MqttState state_;
};

class Server {
      public:
        explicit Server(size_t n_inflight) : n_inflight_(n_inflight) {}

        NOINLINE void accept_client(int fd) {
                connections_.emplace(fd, std::make_unique<Connection>(fd, n_inflight_));
        }

        NOINLINE size_t serve_all() {
                size_t n = 0;
                for (auto &[fd, connection] : connections_)
                        n += connection->serve_packet();
                return n;
        }

        size_t n_connections() const {
                return connections_.size();
        }

      private:
        size_t n_inflight_;
        std::map<int, std::unique_ptr<Connection>> connections_;
};

} // namespace mqtt

int main(int argc, char **argv) {
        size_t n_clients = 400, n_inflight = 10000, n_packets = 0;
        std::vector<int> clients;

        for (int i = 1; i < argc; i++)
                if (!std::strcmp(argv[i], "--inflight") && i + 1 < argc)
                        n_inflight = std::strtoul(argv[++i], nullptr, 10);
                else
                        n_clients = std::strtoul(argv[i], nullptr, 10);

        mqtt::Server server(n_inflight);
        for (size_t i = 0; i < n_clients; i++) {
                int pair[2];
                if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
                        std::perror("mqtt_server: socketpair");
                        return 1;
                }
                clients.push_back(pair[0]);
                server.accept_client(pair[1]);
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        for (int round = 0; round < 20; round++) {
                for (int client : clients)
                        if (write(client, "plant/hall-7/pump-12/pressure", 29) != 29)
                                return 1;
                n_packets += server.serve_all();
                std::this_thread::sleep_for(std::chrono::milliseconds(40));
        }
        std::printf("%zu clients connected, %zu packets served\n", server.n_connections(),
                    n_packets);
        for (int client : clients)
                close(client);
}
