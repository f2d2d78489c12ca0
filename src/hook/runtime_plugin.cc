// SPDX-License-Identifier: MIT
// A plugin in C++ for a program in C: its operator new is in no scope but its own.
#include <new>

extern "C" int plugin_use(int n);

extern "C" int plugin_use(int n) {
        int sum = 0;

        for (int i = 0; i < n; i++) {
                int *one = new int(1);
                char *many = new char[100];

                __asm__ volatile("" : : "r"(one), "r"(many));
                sum += *one;
                delete one;
                delete[] many;
        }
        return sum;
}
