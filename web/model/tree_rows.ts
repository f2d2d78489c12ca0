// SPDX-License-Identifier: MIT
// Which rows of a tree are there, given what is open; and what arrow keys do with them.

/** Of a silt.tree/1 answer what rows need. */
export interface TreeNodes {
  readonly parent: readonly number[]; // place of the parent, -1 of the root
  readonly value: readonly number[];
}

/** What is put together and has nothing is no row. Growth is: what grew and what shrank in it may be as much. */
export function withoutEmptyRests<N extends { readonly rest_of_children?: number; readonly total: { readonly value: number } }>(nodes: readonly N[], metric: string): readonly N[] {
  return metric === "growth" ? nodes : nodes.filter((node) => node.rest_of_children === undefined || node.total.value !== 0);
}

export interface RowTree {
  readonly n: number;
  readonly parent: Int32Array;
  readonly children: readonly (readonly number[])[];
  readonly depth: Int32Array; // the root's is 0
}

export function growRows(nodes: TreeNodes): RowTree {
  const n = nodes.parent.length;
  const parent = Int32Array.from(nodes.parent);
  const depth = new Int32Array(n);
  const children: number[][] = Array.from({ length: n }, () => []);
  for (let i = 1; i < n; i++) {
    const p = parent[i]!;
    if (p < 0 || p >= i)
      throw new Error(`row ${i} of the tree is out of order`);
    depth[i] = depth[p]! + 1;
    children[p]!.push(i);
  }
  return { n, parent, children, depth };
}

/** Open at first: from the root along what has at least half of the whole, and down to the first fork below. */
export function openAtFirst(tree: RowTree, value: readonly number[], most = 60): Set<number> {
  const open = new Set<number>([0]);
  const todo = [0];
  let rows = tree.children[0]?.length ?? 0;
  while (todo.length > 0) {
    const at = todo.shift()!;
    for (const child of tree.children[at]!) {
      const children = tree.children[child]!.length;
      const isHeavy = Math.abs(value[child] ?? 0) * 10 >= Math.abs(value[0] ?? 0);
      if (children === 0 || !isHeavy || rows + children > most)
        continue;
      open.add(child);
      rows += children;
      todo.push(child);
    }
  }
  return open;
}

/** Places of the rows that are there, from the top. The root is none: its children are the first. */
export function rowsOf(tree: RowTree, open: ReadonlySet<number>): number[] {
  const rows: number[] = [];
  const todo: number[] = [...(tree.children[0] ?? [])].reverse();
  while (todo.length > 0) {
    const at = todo.pop()!;
    rows.push(at);
    if (open.has(at))
      for (let k = tree.children[at]!.length - 1; k >= 0; k--)
        todo.push(tree.children[at]![k]!);
  }
  return rows;
}

/** Open, too: all that leads to these. */
export function revealed(tree: RowTree, open: ReadonlySet<number>, nodes: Iterable<number>): Set<number> {
  const all = new Set(open);
  for (const node of nodes)
    for (let at = tree.parent[node]!; at > 0; at = tree.parent[at]!)
      all.add(at);
  return all;
}

/** Open, too: all that is below one, or closed if it is. At most so many, widest first. */
export function openedBelow(tree: RowTree, open: ReadonlySet<number>, node: number, most = 5000): Set<number> {
  const all = new Set(open);
  const todo = [node];
  let rows = 0;
  while (todo.length > 0 && rows < most) {
    const at = todo.shift()!;
    if (tree.children[at]!.length === 0)
      continue;
    all.add(at);
    rows += tree.children[at]!.length;
    todo.push(...tree.children[at]!);
  }
  return all;
}

export interface Step {
  readonly chosen: number;
  readonly open: ReadonlySet<number>;
}

/** What a key does; null: nothing. `chosen` is a node, -1 none yet. */
export function stepRows(tree: RowTree, open: ReadonlySet<number>, rows: readonly number[], chosen: number, key: string, page: number): Step | null {
  const at = rows.indexOf(chosen);
  const to = (row: number): Step | null => (rows.length === 0 ? null : { chosen: rows[Math.min(Math.max(row, 0), rows.length - 1)]!, open });
  const hasChildren = chosen >= 0 && (tree.children[chosen]?.length ?? 0) > 0;
  switch (key) {
    case "ArrowDown": return to(at + 1);
    case "ArrowUp": return to(at < 0 ? 0 : at - 1);
    case "PageDown": return to(at + page);
    case "PageUp": return to(at - page);
    case "Home": return to(0);
    case "End": return to(rows.length - 1);
    case "ArrowRight":
      if (!hasChildren) return null;
      return open.has(chosen) ? { chosen: tree.children[chosen]![0]!, open } : { chosen, open: new Set([...open, chosen]) };
    case "ArrowLeft":
      if (chosen < 0) return null;
      if (hasChildren && open.has(chosen)) return { chosen, open: new Set([...open].filter((node) => node !== chosen)) };
      return tree.parent[chosen]! > 0 ? { chosen: tree.parent[chosen]!, open } : null;
    case "*":
      return chosen >= 0 ? { chosen, open: openedBelow(tree, open, chosen) } : null;
    default: return null;
  }
}
