// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactly, parsePick, plainText } from "./pick";

test("a name's pattern matches that name alone", () => {
  const name = "std::vector<int*, A (*)(B&)>::operator[](unsigned long) const";
  assert.match(name, new RegExp(exactly(name)));
  assert.doesNotMatch(`${name}x`, new RegExp(exactly(name)));
  assert.equal(plainText(exactly(name)), name);
  assert.equal(plainText("^Cache::"), "^Cache::");
  assert.equal(plainText("a.*b"), "a.*b");
});

test("picks", () => {
  assert.deepEqual(parsePick("site:12"), { key: "site", value: "12", kind: "site", name: "" });
  assert.deepEqual(parsePick("function:a::b(int)"), { key: "function", value: "^a::b\\(int\\)$", kind: "function", name: "a::b(int)" });
  assert.deepEqual(parsePick("module:^/lib/libc\\.so$"), { key: "module", value: "^/lib/libc\\.so$", kind: "module", name: "/lib/libc.so" });
  assert.deepEqual(parsePick("process:4711"), { key: "process", value: "4711", kind: "process", name: "4711" });
  for (const bad of [undefined, "", "site", "site:", "site:x", ":3", "shape:tree"]) assert.equal(parsePick(bad), undefined);
});
