// SPDX-License-Identifier: MIT
// Serves the page to whoever works on it: node mock.main.mjs DIR PORT [ASK TRACE], where DIR has page.js, page.css and page.html.
// Answers are made up, or those of build/src/answer/testing/answer_ask about a trace. It has no token: for a machine of one's own.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { madeUp } from "./made_up";

const [dir = ".", port = "8080", ask, trace] = process.argv.slice(2);
const TYPES: Readonly<Record<string, string>> = { "page.js": "text/javascript", "page.css": "text/css", "page.html": "text/html" };

http.createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const send = (status: number, type: string, body: string | Buffer): void => void response.writeHead(status, { "Content-Type": `${type}; charset=utf-8` }).end(body);
  const name = url.pathname === "/" ? "page.html" : url.pathname.slice(1);
  if (name in TYPES) return send(200, TYPES[name], fs.readFileSync(path.join(dir, name)));
  if (ask && trace && name.startsWith("api/1/")) {
    url.searchParams.delete("id");
    const done = spawnSync(ask, [trace, name.slice(6), url.search.slice(1)], { maxBuffer: 2 ** 28 });
    return done.status === 0 ? send(200, "application/json", done.stdout) : send(400, "application/json", JSON.stringify({ schema: "silt.error/1", error: String(done.stderr).trim().split("\n").pop(), key: null, fix: null }));
  }
  const body = name.startsWith("api/1/") ? madeUp(name.slice(6), [...url.searchParams.entries()]) : undefined;
  return send(body === undefined ? 404 : 200, "application/json", JSON.stringify(body ?? { schema: "silt.error/1", error: `no answer '${name}' was made up`, key: null, fix: null }));
}).listen(Number(port), "127.0.0.1");
