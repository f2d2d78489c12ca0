// SPDX-License-Identifier: MIT
// For tests: a page in a browser, with what is asked of it again and again.
import { createRequire } from "node:module";
import path from "node:path";
import type { BrowserContext, chromium as Chromium, Page } from "playwright-core";

export interface Arguments {
  readonly url: string;
  readonly browser: string;
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
  readonly offline?: boolean;
  /** A host name that a name server of somebody else's says is this machine. */
  readonly name?: string;
  /** Where to put a picture of a page that failed. */
  readonly picture?: string;
  readonly [more: string]: unknown;
}

export interface Tab {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly errors: string[];
  readonly dialogs: string[];
  /** What left the page, beside its own file. */
  readonly requests: string[];
  close(): Promise<void>;
}

/** Playwright finds parts of itself beside its own files, so it is not in the bundle. */
function chromium(): typeof Chromium {
  const require = createRequire(path.join(process.env["SILT_WEB"] ?? ".", "package.json"));
  return (require("playwright-core") as { chromium: typeof Chromium }).chromium;
}

export async function openBrowser(args: Arguments): Promise<Tab> {
  const named = args.name ? [`--host-resolver-rules=MAP ${args.name} 127.0.0.1`] : [];
  const browser = await chromium().launch({ executablePath: args.browser, args: ["--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", ...named] });
  const context = await browser.newContext({
    viewport: { width: args.width ?? 1280, height: args.height ?? 900 },
    colorScheme: args.dark ? "dark" : "light",
    reducedMotion: "reduce",
    offline: args.offline ?? false,
  });
  context.setDefaultTimeout(20000);
  const tab: Tab = { page: await context.newPage(), context, errors: [], dialogs: [], requests: [], close: () => browser.close() };
  // The page copies; what it copied is read here.
  await context.addInitScript(() => {
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text: string) => void ((window as unknown as { copied: string }).copied = text) } });
  });
  tab.page.on("pageerror", (error) => tab.errors.push(error.stack ?? String(error)));
  tab.page.on("console", (message) => message.type() === "error" && tab.errors.push(message.text()));
  tab.page.on("dialog", (dialog) => {
    tab.dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  tab.page.on("request", (request) => !/^(file|data|blob):/.test(request.url()) && tab.requests.push(request.url().replace(/token=\w+/, "token=…")));
  return tab;
}

/** Loads the page, with a fragment, and waits until it shows something. */
export async function load(tab: Tab, url: string, fragment = ""): Promise<void> {
  await tab.page.goto(url + fragment);
  await tab.page.waitForSelector(".views");
  await settle(tab.page);
}

/** Until nothing is on its way, for three frames in a row. */
export async function settle(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    const w = window as unknown as { calm: number };
    const isBusy = document.querySelector('[aria-busy="true"], .is-stale, .alone') !== null;
    w.calm = isBusy ? 0 : (w.calm || 0) + 1;
    return w.calm > 3;
  }, undefined, { polling: "raf" });
  await page.evaluate(() => void ((window as unknown as { calm: number }).calm = 0));
}

/** To another state, as a link would. */
export async function go(page: Page, fragment: string): Promise<void> {
  await page.evaluate((to) => void (location.hash = to), fragment);
  await settle(page);
}

/** The address's fragment, in parts. */
export function stateOf(page: Page): { view: string; keys: Record<string, string> } {
  const hash = new URL(page.url()).hash.slice(1);
  const cut = hash.indexOf("?");
  return { view: cut < 0 ? hash : hash.slice(0, cut), keys: cut < 0 ? {} : Object.fromEntries(new URLSearchParams(hash.slice(cut + 1))) };
}

/** A table as it is copied: the headings, then rows of whole figures. */
export async function copied(page: Page, label: RegExp): Promise<string[][]> {
  const grid = page.getByRole("grid", { name: label });
  await page.evaluate(() => void ((window as unknown as { copied: string }).copied = ""));
  await grid.focus();
  await page.keyboard.press("c");
  await page.waitForFunction(() => (window as unknown as { copied: string }).copied !== "");
  const text = await page.evaluate(() => (window as unknown as { copied: string }).copied);
  return text.trimEnd().split("\n").map((line) => line.split("\t"));
}

export async function textOf(page: Page, selector: string): Promise<string> {
  return (await page.locator(selector).first().innerText()).trim();
}

/** Drags over the timeline from one part of its width to another. */
export async function dragTimeline(page: Page, from: number, to: number): Promise<void> {
  const box = await page.locator("#timeline .u-over").boundingBox();
  if (!box) throw new Error("there is no timeline");
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * from, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * ((from + to) / 2), y, { steps: 4 });
  await page.mouse.move(box.x + box.width * to, y, { steps: 4 });
  await page.mouse.up();
  await settle(page);
}
