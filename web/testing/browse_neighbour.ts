// SPDX-License-Identifier: MIT
// For tests: another server on this machine, visited by the browser that has the page open, and a name that leads here.
import { load, settle, type Arguments, type Tab } from "./browse_tab";

/** What the neighbour's page can learn of the page and of its server: each attempt, and how it went. */
async function attack(tab: Tab, origin: string): Promise<Record<string, string>> {
  return tab.page.evaluate(async (own) => {
    const found: Record<string, string> = { cookies: document.cookie };
    for (const mode of ["cors", "no-cors"] as const) {
      found[mode] = await fetch(`${own}/api/1/trace`, { mode, credentials: "include" }).then(async (r) => `${r.type} ${r.status} ${await r.text()}`, () => "failed");
    }
    const frame = document.createElement("iframe");
    frame.src = `${own}/`;
    const isLoaded = new Promise((done) => frame.addEventListener("load", done));
    document.body.append(frame);
    await isLoaded;
    try {
      found["frame"] = frame.contentDocument?.body.innerText ?? "nothing";
    } catch {
      found["frame"] = "nothing";
    }
    return found;
  }, origin);
}

/** The page, then the neighbour, back, and again. */
export async function neighbour(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#sites?by=end");
  const address = page.url();
  const other = args["neighbour"] as string;
  const known = (await tab.context.cookies(address)).map(({ name, path, httpOnly, sameSite }) => ({ name, path, httpOnly, sameSite }));
  for (const path of args["paths"] as string[]) await page.goto(other + path);
  const attacks = await attack(tab, new URL(address).origin);
  const second = await tab.context.newPage();
  await second.goto(`${other}/second`);
  await page.goto(address);
  await page.waitForSelector(".views");
  await settle(page);
  await page.reload();
  await page.waitForSelector(".views");
  await settle(page);
  const again = page.url();
  await page.goto(other + "/left");
  await page.goBack();
  await page.waitForSelector(".views");
  await settle(page);
  const rebound = await second.goto(args.url.replace("127.0.0.1", args["name"] as string));
  return { address, known, attacks, again, back: page.url(), rebound: rebound?.status() ?? 0, mine: (await tab.context.cookies(other)).map(({ name }) => name) };
}
