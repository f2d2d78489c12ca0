// SPDX-License-Identifier: MIT
import assert from "node:assert/strict";
import test from "node:test";
import type { Rows, SqlColumn, SqlValue } from "../api/rows";
import { setHasTimes } from "./units";
import { exactText, linkOf, readWords, resultChart, resultColumns, rowLink, valueText } from "./result";

type Name = string | Partial<SqlColumn>;

function answerOf(names: readonly Name[], rows: readonly (readonly SqlValue[])[]): Rows {
  const columns = names.map((one): SqlColumn => ({ name: "x", trace: "main", table: null, column: null, ...(typeof one === "string" ? { name: one } : one) }));
  return { schema: "silt.rows/1", columns, rows, has_more: false, doubts: null, says: undefined, threads: [{ id: 3, tid: 4712, name: "worker" }], processes: [{ id: 0, word: "4711", name: "server" }] };
}

const AROUND = { duration_s: 100 };

test("sizes, times, counts and numbers that name something", () => {
  const answer = answerOf(["end_bytes", "lifetime_ns", "allocations", "stack", "share", "name"], [[2048, 1500000, 1234567, 1234567, 0.123456789, "a"], [-1024, null, 5, 2, 2, null]]);
  const columns = resultColumns(answer);
  assert.deepEqual(columns.map((column) => column.unit), ["bytes", "ns", "count", "id", "real", "text"]);
  assert.deepEqual(columns.map((column, i) => valueText(column, answer.rows[0]![i]!)), ["2.0 KiB", "1.5 ms", "1,234,567", "1234567", "0.123457", "a"]);
  assert.deepEqual(columns.map((column, i) => valueText(column, answer.rows[1]![i]!)), ["-1.0 KiB", "NULL", "5", "2", "2", "NULL"]);
  assert.deepEqual(columns.map((column, i) => exactText(column, answer.rows[0]![i]!)), ["2048 bytes", "1500000 ns", "1234567", "1234567", "0.123456789", "a"]);
  assert.equal(exactText(columns[1]!, null), "NULL");
});

test("a column that was given another name is what it was in its table", () => {
  const columns = resultColumns(answerOf([{ name: "left", table: "sites", column: "end_bytes" }, { name: "n_bytes" }], [[4096, 4096]]));
  assert.deepEqual(columns.map((column) => column.unit), ["bytes", "bytes"]);
});

test("figures that are written out sort and are drawn by what they say", () => {
  assert.deepEqual(readWords("12.5 KiB"), { value: 12800, measure: "bytes" });
  assert.deepEqual(readWords("-1,023 B"), { value: -1023, measure: "bytes" });
  assert.deepEqual(readWords("1.25 s"), { value: 1.25e9, measure: "ns" });
  assert.deepEqual(readWords("3 min 05 s"), { value: 185e9, measure: "ns" });
  assert.deepEqual(readWords("1,234"), { value: 1234, measure: "count" });
  assert.equal(readWords("main"), null);
  const [grown, mixed] = resultColumns(answerOf(["grown", "mixed"], [["1.0 MiB", "1 s"], [null, "1 B"]]));
  assert.equal(grown!.unit, "words");
  assert.deepEqual([...grown!.numbers!], [2 ** 20, NaN]);
  assert.equal(mixed!.unit, "text");
});

test("of a trace without times moments are numbered, and lengths of time are unknown", () => {
  const answer = answerOf(["time_ns", "lifetime_ns", "span_ns", { name: "born", table: "allocations", column: "begin_ns" }, "said"], [[12e9, null, 3e9, 2e9, "event 12"], [2e9, null, 0, 1e9, "event 2"]]);
  const columns = resultColumns(answer);
  assert.deepEqual(columns.map((column) => column.unit), ["at", "text", "ns", "at", "words"]);
  assert.deepEqual([...columns[4]!.numbers!], [12e9, 2e9]); // and so they sort
  const texts = (): string[] => columns.map((column, i) => valueText(column, answer.rows[0]![i]!));
  try {
    setHasTimes(false, "event");
    assert.deepEqual(texts(), ["event 12", "NULL", "unknown", "event 2", "event 12"]);
    assert.equal(exactText(columns[0]!, 12e9), "event 12");
    assert.equal(exactText(columns[2]!, 3e9), "unknown");
    setHasTimes(false, "moment");
    assert.deepEqual(texts().slice(0, 1), ["moment 12"]);
  } finally {
    setHasTimes(true);
  }
  assert.deepEqual(texts(), ["12 s", "NULL", "3 s", "2 s", "event 12"]);
  assert.equal(exactText(columns[0]!, 12e9), "12000000000 ns");
});

test("numbers that a browser would round are shown as they are", () => {
  const answer = answerOf(["allocations"], [["9007199254740993"], [1]]);
  const [column] = resultColumns(answer);
  assert.ok(column!.isNumber);
  assert.equal(valueText(column!, answer.rows[0]![0]!), "9007199254740993");
});

test("each value leads to the view it is about", () => {
  const answer = answerOf(["stack", "function", "time_ns", "thread", "process", "name"], [[12, "Cache::insert(int)", 50e9, 3, 0, "x"]]);
  const row = answer.rows[0]!;
  assert.deepEqual(linkOf(answer, 0, row, AROUND)?.change, { set: { pick: "site:12" } });
  assert.deepEqual(linkOf(answer, 1, row, AROUND)?.change, { view: "sites", add: [["function", "^Cache::insert\\(int\\)$"]] });
  assert.deepEqual(linkOf(answer, 2, row, AROUND)?.change, { view: "sites", set: { from: "49.5", to: "50.5", at: null } });
  assert.deepEqual(linkOf(answer, 3, row, AROUND)?.change, { view: "threads", set: { thread: "4712" } });
  assert.deepEqual(linkOf(answer, 4, row, AROUND)?.change, { view: "overview", set: { process: "4711" } });
  assert.equal(linkOf(answer, 5, row, AROUND), null);
  assert.deepEqual(rowLink(answer, row, AROUND)?.change, { set: { pick: "site:12" } });
});

test("a stretch leads to its own window, and a moment at the end stays inside", () => {
  const answer = answerOf(["begin_ns", "end_ns", "live_bytes"], [[10e9, 20e9, 5]]);
  const window = { view: "sites", set: { from: "10", to: "20", at: null } };
  assert.deepEqual(linkOf(answer, 0, answer.rows[0]!, AROUND)?.change, window);
  assert.deepEqual(linkOf(answer, 1, answer.rows[0]!, AROUND)?.change, window);
  const moment = answerOf(["time_ns"], [[100e9]]);
  assert.deepEqual(linkOf(moment, 0, moment.rows[0]!, AROUND)?.change, { view: "sites", set: { from: "99.5", to: "100", at: null } });
});

test("numbers of the other trace, or of nobody knows which, lead nowhere; unknown ones too", () => {
  const answer = answerOf([{ name: "stack", trace: "other" }, { name: "stack", trace: null }, "thread", "stack", "function"], [[1, 2, 9, null, "(unknown)"]]);
  answer.columns.forEach((_, i) => assert.equal(linkOf(answer, i, answer.rows[0]!, AROUND), null, String(i)));
  assert.equal(rowLink(answer, answer.rows[0]!, AROUND), null);
});

test("the name of a site leads to its call path, without one to the function", () => {
  const name = { name: "name", table: "sites", column: "name" };
  assert.deepEqual(linkOf(answerOf([name, "stack"], [["f", 12]]), 0, ["f", 12], { duration_s: 1 })!.change, { set: { pick: "site:12" } });
  assert.deepEqual(linkOf(answerOf([name], [["f"]]), 0, ["f"], { duration_s: 1 })!.change, { view: "sites", add: [["function", "^f$"]] });
  assert.equal(linkOf(answerOf([name], [["git+0x1d7c7d"]]), 0, ["git+0x1d7c7d"], { duration_s: 1 }), null);
});

test("threads.id under another name is a thread", () => {
  const answer = answerOf([{ name: "who", table: "threads", column: "id" }], [[3]]);
  assert.deepEqual(linkOf(answer, 0, answer.rows[0]!, AROUND)?.change.set, { thread: "4712" });
});

test("moments make lines, names make bars, other answers no chart", () => {
  const lines = answerOf(["begin_ns", "end_ns", "live_bytes", "rss_bytes", "allocations"], [[2e9, 3e9, 7, null, 1], [1e9, 2e9, 5, 9, 2]]);
  const chart = resultChart(lines, resultColumns(lines))!;
  assert.equal(chart.kind, "lines");
  assert.deepEqual([chart.at_s, chart.rows, chart.measure], [[1, 2], [1, 0], "bytes"]);
  assert.deepEqual(chart.series.map((series) => [series.name, series.values]), [["live_bytes", [5, 7]], ["rss_bytes", [9, null]]]);
  const bars = answerOf(["function", "stack", "grown"], [["a", 1, "1.0 KiB"], ["b", 2, "2.0 KiB"]]);
  const named = resultChart(bars, resultColumns(bars))!;
  assert.deepEqual([named.kind, named.names, named.series[0]!.values], ["bars", ["a", "b"], [1024, 2048]]);
  for (const none of [answerOf(["lifetime_ns", "end_bytes"], [[1, 2], [3, 4]]), answerOf(["function", "stack"], [["a", 1], ["b", 2]]), answerOf(["function", "end_bytes"], [["a", 1]]), answerOf([], [])])
    assert.equal(resultChart(none, resultColumns(none)), null);
});
