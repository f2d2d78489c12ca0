// SPDX-License-Identifier: MIT
// For tests and bench/page.py: frames a second while a large table scrolls and a large flame graph zooms.
import type { Page } from "playwright-core";
import { load, settle, textOf, type Arguments, type Tab } from "./browse_tab";

/** So many are measured unless told. */
const FRAMES = 120;

interface Pace {
  readonly frames: number;
  readonly seconds: number;
  readonly per_s: number;
  /** The longest between two frames. */
  readonly longest_ms: number;
  /** What one frame takes of the page's thread, whoever else is at work on the machine. */
  readonly cpu_ms: number;
}

type Measured = Omit<Pace, "cpu_ms">;

/** Does something before each frame, and measures how long the frames are. */
async function move(page: Page, step: "scroll" | "zoom", n: number): Promise<Measured> {
  return page.evaluate(async ([what, n]) => {
    const target = document.querySelector<HTMLElement>(what === "scroll" ? '[role="grid"]' : ".flame-around canvas");
    if (!target) throw new Error(`nothing to ${what}`);
    const box = target.getBoundingClientRect();
    const act = (i: number): void => {
      if (what === "scroll") target.scrollTop += i < n / 2 ? 137 : (target.scrollHeight / n) * 0.9;
      else target.dispatchEvent(new WheelEvent("wheel", { deltaY: i % 60 < 30 ? -40 : 40, clientX: box.left + box.width * 0.4, clientY: box.top + 60, bubbles: true, cancelable: true }));
    };
    const times: number[] = [];
    await new Promise<void>((done) => {
      const frame = (now: number): void => {
        times.push(now);
        if (times.length > n) return done();
        act(times.length);
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    const seconds = (times[n] - times[0]) / 1000;
    return { frames: n, seconds, per_s: n / seconds, longest_ms: Math.max(...times.slice(1).map((t, i) => t - times[i])) };
  }, [step, n] as const);
}

async function pace(tab: Tab, step: "scroll" | "zoom", n: number): Promise<Pace> {
  const session = await tab.context.newCDPSession(tab.page);
  const spent = async (): Promise<number> => (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration")?.value ?? Number.NaN;
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await move(tab.page, step, n / 2); // until the browser has compiled what it runs often
  if (step === "scroll") await tab.page.evaluate(() => void (document.querySelector('[role="grid"]')!.scrollTop = 0));
  const before = await spent();
  const measured = await move(tab.page, step, n);
  return { ...measured, cpu_ms: ((await spent()) - before) * 1000 / measured.frames };
}

export async function frames(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  const n = Number(args["frames"] ?? FRAMES);
  await load(tab, args.url, "#sites?group-by=site");
  await page.waitForFunction((least) => Number((document.querySelector(".table-count")?.textContent ?? "").split(" of ")[1]?.replace(/\D/g, "") ?? 0) >= least, args["rows"] as number, { timeout: 60000 });
  await settle(page);
  const count = await textOf(page, ".table-count");
  const table = await pace(tab, "scroll", n);
  const scrolled = await textOf(page, ".table-count");
  await load(tab, args.url, "#flame?by=end");
  await move(page, "zoom", 20);
  await page.waitForFunction((least) => Number(document.querySelector<HTMLElement>(".flame-around canvas")?.dataset["boxes"] ?? 0) >= least, args["rows"] as number, { timeout: 60000 });
  const boxes = Number(await page.locator(".flame-around canvas").getAttribute("data-boxes"));
  const flame = await pace(tab, "zoom", n);
  return { count, scrolled, boxes, table, flame };
}
