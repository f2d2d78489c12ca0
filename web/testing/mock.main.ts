// SPDX-License-Identifier: MIT
// Serves the page with answers that are made up: node mock.mjs DIR PORT, where DIR has page.js, page.css and page.html.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { madeUp } from "./made_up";

const [dir = ".", port = "8080"] = process.argv.slice(2);
const TYPES: Readonly<Record<string, string>> = { "page.js": "text/javascript", "page.css": "text/css", "page.html": "text/html" };

http.createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const send = (status: number, type: string, body: string | Buffer): void => void response.writeHead(status, { "Content-Type": `${type}; charset=utf-8` }).end(body);
  const name = url.pathname === "/" ? "page.html" : url.pathname.slice(1);
  if (name in TYPES) return send(200, TYPES[name], fs.readFileSync(path.join(dir, name)));
  const body = name.startsWith("api/1/") ? madeUp(name.slice(6), [...url.searchParams.entries()]) : undefined;
  return send(body === undefined ? 404 : 200, "application/json", JSON.stringify(body ?? { schema: "silt.error/1", error: `no answer '${name}' was made up`, key: null, fix: null }));
}).listen(Number(port), "127.0.0.1");
