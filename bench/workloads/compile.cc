// SPDX-License-Identifier: MIT
// A compiler's everyday file: about a second of work, and few enough stacks that heaptrack survives it.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

struct Node {
        std::string name;
        std::vector<std::unique_ptr<Node>> children;
        std::unordered_map<std::string, std::string> tags;
};

static int depth(const Node &n) {
        int deepest = 0;

        for (const auto &child : n.children)
                deepest = std::max(deepest, depth(*child));
        return deepest + 1;
}

int count(std::vector<std::string> words, Node &root) {
        std::map<std::string, int> counts;
        int sum = 0;

        std::sort(words.begin(), words.end());
        for (const auto &word : words) {
                counts[word]++;
                root.tags[word] = word + "!";
                root.children.push_back(std::make_unique<Node>());
                root.children.back()->name = word;
        }
        for (const auto &one : counts)
                sum += one.second;
        return sum + depth(root);
}
