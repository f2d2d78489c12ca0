// SPDX-License-Identifier: MIT
// Containers of libstdc++ that grow, one to a function; moves.py knows by how much.
#include <string>
#include <vector>

#define ALONE __attribute__((noinline, noclone))

// Capacities 1, 2, 4 .. 1,024 of four bytes each: ten steps.
ALONE static void vector_of_int() {
        std::vector<int> v;

        for (int i = 0; i < 1000; i++)
                v.push_back(i);
}

// Capacities 15 (in itself), 30, 60 .. 1,920, and one byte more: six steps.
ALONE static void string_of_chars() {
        std::string s;

        for (int i = 0; i < 1000; i++)
                s.push_back('x');
}

// Strings of 100 characters made before they are moved in: 1, 2, 4, 8, 16 of 32 bytes: four steps.
ALONE static void vector_of_strings() {
        std::vector<std::string> v;

        for (int i = 0; i < 16; i++) {
                std::string s(100, 'x');

                v.push_back(std::move(s));
        }
}

// Made in their place, when the new array is there and the old one is not gone yet: not seen.
ALONE static void vector_of_emplaced() {
        std::vector<std::string> v;

        for (int i = 0; i < 16; i++)
                v.emplace_back(100, 'x');
}

struct Copied {
        char *block;

        Copied() : block(new char[10]) {}
        Copied(const Copied &) : block(new char[10]) {}
        ~Copied() {
                delete[] block;
        }
};

// Elements that allocate while they are copied: not seen.
ALONE static void vector_of_copied() {
        std::vector<Copied> v;

        for (int i = 0; i < 16; i++)
                v.push_back(Copied());
}

// The right size at once.
ALONE static void vector_reserved() {
        std::vector<int> v;

        v.reserve(1000);
        for (int i = 0; i < 1000; i++)
                v.push_back(i);
}

int main() {
        vector_of_int();
        string_of_chars();
        vector_of_strings();
        vector_of_emplaced();
        vector_of_copied();
        vector_reserved();
        return 0;
}
