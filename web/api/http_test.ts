// SPDX-License-Identifier: MIT
// Against a server that is a function: what is asked, cancelled and refused.
import assert from "node:assert/strict";
import test from "node:test";
import { madeUp } from "../testing/made_up";
import { Refused } from "./ask";
import { httpSource } from "./http";

interface Served {
  readonly asked: string[];
  readonly restore: () => void;
}

type Reply = { readonly status?: number; readonly body?: unknown; readonly after_ms?: number; readonly isDown?: boolean; readonly isCut?: boolean };

/** Takes the place of fetch; replies are chosen by the address. */
function serve(reply: (address: string) => Reply): Served {
  const real = globalThis.fetch;
  const asked: string[] = [];
  const fake = (address: string, init?: { signal?: AbortSignal }): Promise<unknown> => {
    asked.push(address);
    const { status = 200, body = {}, after_ms = 0, isDown = false, isCut = false } = reply(address);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        if (isDown) reject(new TypeError("fetch failed"));
        else resolve({ ok: status < 300, status, json: () => (isCut ? Promise.reject(new SyntaxError("cut")) : Promise.resolve(body)) });
      }, after_ms);
      init?.signal?.addEventListener("abort", () => {
        clearTimeout(timer);
        reject(new DOMException("aborted", "AbortError"));
      });
    });
  };
  globalThis.fetch = fake as unknown as typeof fetch;
  return { asked, restore: () => (globalThis.fetch = real) };
}

async function refusal(reply: Reply): Promise<Refused> {
  const served = serve(() => reply);
  try {
    await httpSource().answer("trace", [], new AbortController().signal);
    assert.fail("was answered");
  } catch (failure: unknown) {
    assert.ok(failure instanceof Refused, String(failure));
    return failure;
  } finally {
    served.restore();
  }
}

test("a question is an address with its keys encoded", async () => {
  const served = serve(() => ({ body: madeUp("table", []) }));
  const answer = await httpSource().answer("table", [["function", "operator<<(a&, b=c)"], ["rows", "5"]], new AbortController().signal);
  served.restore();
  assert.equal(answer.rows, 3);
  assert.deepEqual(served.asked, ["api/1/table?function=operator%3C%3C(a%26%2C%20b%3Dc)&rows=5"]);
});

test("what the server says of an error reaches the page", async () => {
  const said = await refusal({ status: 400, body: { schema: "silt.error/1", error: "'5x' is not a time", key: "from", fix: "write 5s or @NAME" } });
  assert.deepEqual([said.message, said.fix, said.key, said.status], ["'5x' is not a time", "write 5s or @NAME", "from", 400]);
});

test("errors without words become one sentence with a remedy", async () => {
  for (const [reply, message] of [
    [{ status: 401, body: null }, /no access/], [{ status: 500, body: "<html>" }, /status 500/], [{ isDown: true }, /does not answer/], [{ isCut: true }, /cut off/],
    [{ body: { schema: "silt.trace/1" } }, /not what this page expects: version/],
  ] as const) {
    const said = await refusal(reply);
    assert.match(said.message, message);
    assert.ok(said.fix, said.message);
  }
});

test("a question that is superseded is cancelled, and is no error", async () => {
  const served = serve(() => ({ after_ms: 10_000 }));
  const controller = new AbortController();
  const asked = httpSource().answer("trace", [], controller.signal);
  controller.abort();
  await assert.rejects(asked, (failure: unknown) => !(failure instanceof Refused) && (failure as Error).name === "AbortError");
  served.restore();
});

const EARLY = { kind: "growing", severity: "problem", function: "open_session", text: "open_session: 3 blocks." };

test("a question that takes long says how far it is and what is known already, by its own id", async () => {
  const served = serve((address) => (address.includes("progress") ? { body: { schema: "silt.progress/1", id: "a1", state: "answering", done: 32, total: 80, parts: [EARLY], questions_waiting: 0, questions_answering: 1, answered: 3, cancelled: 0, late: 0 } } : { body: madeUp("trace", []), after_ms: 700 }));
  const shares: (number | null)[] = [];
  await httpSource().answer("trace", [], new AbortController().signal, (share, parts) => {
    shares.push(share);
    assert.deepEqual(parts, [EARLY]);
  });
  const progress = served.asked.filter((address) => address.includes("progress"));
  const own = /id=([a-z0-9]+)/.exec(served.asked[0]);
  assert.ok(own && progress.length >= 1 && progress.length <= 3, served.asked.join(" "));
  assert.ok(progress.every((address) => address === `api/1/progress?id=${own[1]}`));
  assert.ok(shares.length > 0 && shares.every((share) => share === 0.4));
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(served.asked.filter((address) => address.includes("progress")).length, progress.length, "still asked after the answer");
  served.restore();
});

test("a quick question asks for no progress", async () => {
  const served = serve(() => ({ body: madeUp("trace", []) }));
  await httpSource().answer("trace", [], new AbortController().signal, () => assert.fail("progress"));
  await new Promise((resolve) => setTimeout(resolve, 350));
  assert.equal(served.asked.length, 1);
  served.restore();
});
