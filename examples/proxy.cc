// SPDX-License-Identifier: MIT
// A proxy that answers requests and loses one small block in a thousand of them: a request without a host takes a way
// out that forgets the header it had copied. A few kilobytes in the lifetime of this example, the whole machine in a
// month. `proxy N` serves N thousand requests; `proxy N --mend` does not lose any.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unordered_map>

#define NOINLINE __attribute__((noinline))

namespace proxy {

static bool is_mended;

struct Header {
        char name[24];
        char value[72];
};

static NOINLINE Header *copy_header(const std::string &line) {
        auto *header = static_cast<Header *>(std::malloc(sizeof(Header)));
        size_t colon = line.find(':');
        std::snprintf(header->name, sizeof(header->name), "%.*s", static_cast<int>(colon),
                      line.c_str());
        std::snprintf(header->value, sizeof(header->value), "%s", line.c_str() + colon + 1);
        return header;
}

class Routes {
      public:
        Routes() {
                for (int i = 0; i < 2000; i++)
                        routes_["service-" + std::to_string(i)] =
                                "10.0.0." + std::to_string(i % 250);
        }

        const std::string *find(const std::string &host) const {
                auto found = routes_.find(host);
                return found == routes_.end() ? nullptr : &found->second;
        }

      private:
        std::unordered_map<std::string, std::string> routes_;
};

static NOINLINE int handle_request(const Routes &routes, unsigned number) {
        std::string line = number % 1000 == 999 ? std::string("x-trace: 1")
                                                : "host: service-" + std::to_string(number % 2000);
        Header *header = copy_header(line);
        if (std::strcmp(header->name, "host") != 0) {
                if (is_mended)
                        std::free(header);
                return 400;
        }
        std::string answer = "HTTP/1.1 200 OK\r\nvia: ";
        const std::string *route = routes.find(header->value + 1);
        answer += route ? *route : std::string("nowhere");
        std::free(header);
        return answer.size() > 30 ? 200 : 502;
}

} // namespace proxy

int main(int argc, char **argv) {
        unsigned n_thousands = 200, n_bad = 0;

        for (int i = 1; i < argc; i++)
                if (!std::strcmp(argv[i], "--mend"))
                        proxy::is_mended = true;
                else
                        n_thousands = static_cast<unsigned>(std::strtoul(argv[i], nullptr, 10));

        proxy::Routes routes;
        for (unsigned i = 0; i < n_thousands; i++) {
                for (unsigned k = 0; k < 1000; k++)
                        n_bad += proxy::handle_request(routes, i * 1000 + k) == 400;
                std::this_thread::sleep_for(std::chrono::milliseconds(15));
        }
        std::printf("%u,000 requests, %u without a host\n", n_thousands, n_bad);
}
