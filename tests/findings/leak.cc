// SPDX-License-Identifier: MIT
// Memory that C++ programs lose: throwing (an exception passes a plain new), reset (a raw member is set to null
// without a delete), replaced (a raw pointer in a map is overwritten). Not lost: smart (the same with unique_ptr), singletons (made at the
// start, never destroyed).
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "shape.h"

static long size, per_step, one_in, depth;
static unsigned long lost_bytes, lost_blocks;

static void lost(size_t bytes) {
        lost_bytes += bytes;
        lost_blocks++;
}

struct Document {
        NAMED static char *read() {
                char *text = new char[size];

                if (chance(one_in) == 0) {
                        lost(size);
                        throw std::runtime_error("no such document, nor anything like it");
                }
                return text;
        }
};

static void read_documents(long) {
        for (long k = 0; k < per_step; k++) {
                try {
                        char *text = Document::read();
                        std::string summary(100, *text);

                        delete[] text;
                } catch (const std::runtime_error &) {}
        }
}

struct Polygon {
        NAMED Polygon() : points(new double[size / 8]) {}
        ~Polygon() {
                delete[] points;
        }
        double *points;
};

static void draw(long) {
        for (long k = 0; k < per_step; k++) {
                Polygon *polygon = new Polygon;
                std::string caption(60, 'c');

                if (chance(one_in) == 0) {
                        lost(size / 8 * 8);
                        polygon->points = nullptr;
                }
                delete polygon;
        }
}

class Registry {
      public:
        NAMED void put(long key) {
                char *&entry = entries[key];

                if (entry && chance(one_in))
                        delete[] entry;
                else if (entry)
                        lost(size);
                entry = new char[size];
        }
        ~Registry() {
                for (auto &e : entries)
                        delete[] e.second;
        }
        std::map<long, char *> entries;
};

static Registry *registry;

static void put_entries(long) {
        for (long k = 0; k < per_step; k++)
                registry->put(chance(4));
}

static std::vector<std::unique_ptr<std::string>> kept;

NAMED static void put_smart(long) {
        for (long k = 0; k < per_step; k++)
                kept[chance(kept.size())] = std::make_unique<std::string>(size + chance(size), 's');
}

struct Singleton {
        NAMED static Singleton *make() {
                return new Singleton;
        }
        std::vector<std::string> names = std::vector<std::string>(size, std::string(50, 'n'));
};

static Singleton *singleton;

static void nothing(long) {}

static void work(step_fn step) {
        for (long i = 0; i < shape_n_steps; i++) {
                shape_step(i);
                relay(depth, step, i);
        }
}

int main(int argc, char **argv) {
        const char *culprit = nullptr;

        shape_start(argc, argv);
        size = param("size");
        per_step = param("per_step");
        one_in = param("one_in");
        depth = param("depth");
        if (shape_is("throwing")) {
                work(read_documents);
                culprit = "Document::read";
        } else if (shape_is("reset")) {
                work(draw);
                culprit = "Polygon::Polygon";
        } else if (shape_is("replaced")) {
                registry = new Registry;
                work(put_entries);
                delete registry;
                culprit = "Registry::put";
        } else if (shape_is("smart")) {
                kept.resize(between(20, 300));
                work(put_smart);
        } else if (shape_is("singletons")) {
                singleton = Singleton::make();
                work(nothing);
        } else {
                return 96;
        }
        if (culprit) {
                tell_text("culprit", culprit);
                tell("bytes", lost_bytes);
                tell("blocks", lost_blocks);
        }
        shape_end();
        return 0;
}
