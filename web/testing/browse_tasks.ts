// SPDX-License-Identifier: MIT
// For tests: short things people do with the page.
import { copied, dragTimeline, go, load, settle, stateOf, textOf, type Arguments, type Tab } from "./browse_tab";

/** Types a search; the flame graph says how much matches. */
export async function search(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#flame");
  const found: string[] = [];
  for (const words of args["searches"] as readonly string[]) {
    await page.keyboard.press("/");
    await page.keyboard.type(words);
    await settle(page);
    found.push(await textOf(page, ".flame-found"));
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("/");
  await page.keyboard.type(String((args["searches"] as readonly string[]).at(-1)));
  await settle(page);
  const show = page.locator(".found-line button");
  if ((await show.count()) > 0) await show.click();
  await settle(page);
  const full = { folded: await show.count(), found: await textOf(page, ".flame-found"), isOn: await page.getByRole("checkbox", { name: "Show machinery" }).isChecked() };
  return { found, full, ...stateOf(page) };
}

/** What runs asynchronously: the sentence, and each table by its name. */
export async function tasks(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#tasks");
  const tables: Record<string, string[][]> = {};
  for (const name of ["Tasks", "Sources of GLib", "CPU time of tasks"])
    if ((await page.getByRole("grid", { name, exact: true }).count()) > 0) tables[name] = await copied(page, new RegExp(`^${name}$`));
  const heights = await page.locator(".table").evaluateAll((all) => all.map((one) => one.clientHeight));
  return { sentence: await textOf(page, ".first-sentence"), tables, heights, text: await textOf(page, "main") };
}

/** The flame graph by function, line, module and crate: what is told of the widest box below all, and its menu, by keys alone. */
export async function boxes(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  const told: Record<string, unknown> = {};
  for (const by of ["function", "line", "module", "crate"]) {
    await load(tab, args.url, `#flame?boxes=${by}&by=allocated`);
    await page.focus(".flame-around");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    const box = await textOf(page, '[role="treeitem"]');
    await page.keyboard.press("c");
    const path = await page.evaluate(() => (window as unknown as { copied: string }).copied);
    await page.keyboard.press("m");
    const menu = await page.locator(".menu-item").evaluateAll((items) => items.map((item) => item.firstChild?.textContent ?? ""));
    await page.keyboard.press("Escape");
    told[by] = { box, path, menu, pressed: await textOf(page, '[aria-label="A box for each"] [aria-pressed="true"]') };
  }
  await load(tab, args.url, "#flame");
  await page.getByRole("button", { name: "By age" }).click();
  await settle(page);
  const ages = { ...stateOf(page), legend: await textOf(page, ".flame-keys") };
  await load(tab, args.url, "#flame?by=allocated&colour=age");
  const unknown = await textOf(page, '.view [role="status"].quiet, main p.quiet[role="status"]');
  await load(tab, args.url, "#tree?shape=callers&callers=main");
  const before = await textOf(page, ".first-sentence");
  await page.fill('input[aria-label="function"]', "no_such_function_at_all");
  await page.keyboard.press("Enter");
  await settle(page);
  const refused = { before, sentences: await page.locator(".first-sentence").count() };
  await load(tab, args.url, "#flame?by=allocated");
  await page.focus(".flame-around");
  for (const key of ["ArrowDown", "ArrowDown", "m", "ArrowDown", "ArrowDown", "Enter"]) {
    await page.keyboard.press(key);
    await settle(page);
  }
  return { told, ages, unknown, refused, ...stateOf(page) };
}

/** Without a pointer, from opening to a source line. */
export async function keyboard(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const pressed: string[] = [];
  const press = async (key: string): Promise<void> => {
    pressed.push(key);
    await page.keyboard.press(key);
    await settle(page);
  };
  const tabTo = async (wanted: string): Promise<void> => {
    for (let i = 0; i < 80; i++) {
      const is = await page.evaluate((selector) => document.activeElement?.matches(selector) ?? false, wanted);
      if (is) return;
      await press("Tab");
    }
    throw new Error(`80 times Tab does not reach ${wanted}`);
  };
  await press("?");
  const help = await textOf(page, "dialog.keys");
  await press("Escape");
  await press("4");
  await tabTo('[role="grid"]');
  await press("ArrowDown");
  await press("Enter");
  await tabTo(".stack .link");
  const rings: string[] = [await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle)];
  await tabTo(args["place"] as string);
  await press("Enter");
  await page.waitForSelector(".listing-table");
  await settle(page);
  return {
    ...stateOf(page), help, rings, pressed,
    most: await page.locator(".listing-table tr.is-most").evaluateAll((rows) => rows.map((row) => row.children[4]?.textContent ?? "")),
  };
}

/** What Compare says; `fragments`: what to compare; `press`: the button to press then. */
export async function compare(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const first = stateOf(page);
  const seen: unknown[] = [];
  for (const fragment of args["fragments"] as readonly string[]) {
    if (fragment !== "") await go(page, fragment);
    else {
      await page.keyboard.press("8");
      await settle(page);
    }
    const press = args["press"] as string | undefined;
    if (press !== undefined) {
      await page.locator("main").getByRole("button", { name: press, exact: true }).click();
      await settle(page);
    }
    seen.push({ ...stateOf(page), text: await textOf(page, "main") });
  }
  return { first, seen };
}

/** Brushes part of the heat map; everything is filtered by it. */
export async function brush(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url, "#blocks");
  const box = await page.locator(".heat-canvas").boundingBox();
  if (!box) throw new Error("there is no heat map");
  const [x0, y0, x1, y1] = args["part"] as readonly [number, number, number, number];
  await page.mouse.move(box.x + box.width * x0, box.y + box.height * y0);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * x1, box.y + box.height * y1, { steps: 5 });
  const words = await textOf(page, ".heat-words");
  await page.mouse.up();
  await settle(page);
  const { keys } = stateOf(page);
  const blocks = await copied(page, /Single blocks/);
  const chips = await page.locator(".chip").allInnerTexts();
  await page.locator("main").focus();
  await page.keyboard.press("4");
  await settle(page);
  return { keys, words, chips, blocks, sites: await copied(page, /Memory by/) };
}

/** An address with everything in it; then choices, undone one by one. */
export async function deep(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  const fragment = args["fragment"] as string;
  await load(tab, args.url, fragment);
  const chips = await page.locator(".chip").allInnerTexts();
  const opened = new URL(page.url()).hash;
  const trail: string[] = [opened];
  await page.locator("main").focus();
  await page.keyboard.press("4");
  await settle(page);
  trail.push(new URL(page.url()).hash);
  await page.getByLabel("Metric").selectOption("end");
  await settle(page);
  trail.push(new URL(page.url()).hash);
  await dragTimeline(page, 0.3, 0.7);
  trail.push(new URL(page.url()).hash);
  const back: string[] = [];
  for (let i = 0; i < 3; i++) {
    await page.goBack();
    await settle(page);
    back.push(new URL(page.url()).hash);
  }
  const again = await page.locator(".chip").allInnerTexts();
  await page.goForward();
  await settle(page);
  const forward = new URL(page.url()).hash;
  // The same address in another tab is the same view.
  const other = await tab.context.newPage();
  await other.goto(args.url + trail[3]);
  await other.waitForSelector(".chip");
  await settle(other);
  return { opened, chips, again, trail, back, forward, other: await other.locator(".chip").allInnerTexts(), there: { view: await other.locator('.views [aria-current="page"]').innerText() } };
}

/** The page in one file, without a network: every view, a window, a detail. */
export async function offline(tab: Tab, args: Arguments): Promise<unknown> {
  const { page } = tab;
  await load(tab, args.url);
  const views: Record<string, string> = {};
  for (let key = 1; key <= 8; key++) {
    await page.locator("main").focus();
    await page.keyboard.press(String(key));
    await settle(page);
    views[stateOf(page).view] = await textOf(page, "main");
  }
  await page.locator("main").focus();
  await page.keyboard.press("1");
  await dragTimeline(page, 0.25, 0.75);
  const totals = await page.locator(".totals > div").evaluateAll((all) => all.map((one) => [one.querySelector("dt")?.textContent, one.querySelector("dd")?.textContent]));
  await page.locator("main").focus();
  await page.keyboard.press("4");
  await settle(page);
  return { views, totals, ...stateOf(page), sites: await copied(page, /Memory by/) };
}
