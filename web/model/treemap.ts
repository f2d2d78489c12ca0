// SPDX-License-Identifier: MIT
// Boxes in boxes, each as large as its value: children lie in their parent's box, below its name.

export interface MapNodes {
  readonly parent: readonly number[]; // -1 of the root; parents come first
  readonly value: readonly number[]; // with all below
}

export interface MapBox {
  readonly node: number;
  readonly depth: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface MapSize {
  readonly width: number;
  readonly height: number;
  /** Height of a name's line, and the space around what lies in a box. */
  readonly namePx: number;
  readonly gapPx: number;
  /** What is narrower or lower is not drawn. */
  readonly leastPx: number;
  readonly maxDepth: number;
}

interface Room {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How far from a square the worst box of a row is, if the row has this sum and lies along a side. */
function worst(row: readonly number[], sum: number, side: number, scale: number): number {
  const depth = (sum * scale) / side;
  let found = 1;
  for (const value of row) {
    const length = (value * scale) / depth;
    found = Math.max(found, length / depth, depth / length);
  }
  return found;
}

/** Fills a room row by row, each along its shorter side, as near to squares as they become. `values`: the largest first, above 0. */
export function fillRoom(values: readonly number[], whole: number, room: Room): Room[] {
  const boxes: Room[] = [];
  const scale = whole > 0 ? (room.width * room.height) / whole : 0;
  let { x, y, width, height } = room;
  for (let at = 0; at < values.length; ) {
    const side = Math.min(width, height);
    if (!(side > 0) || scale === 0) {
      boxes.push({ x, y, width: 0, height: 0 });
      at++;
      continue;
    }
    const row = [values[at]!];
    let sum = values[at]!;
    while (at + row.length < values.length) {
      const next = values[at + row.length]!;
      if (worst([...row, next], sum + next, side, scale) > worst(row, sum, side, scale)) break;
      row.push(next);
      sum += next;
    }
    const depth = Math.min((sum * scale) / side, width >= height ? width : height);
    let along = 0;
    for (const value of row) {
      const length = (value / sum) * side;
      boxes.push(width >= height ? { x, y: y + along, width: depth, height: length } : { x: x + along, y, width: length, height: depth });
      along += length;
    }
    if (width >= height) {
      x += depth;
      width -= depth;
    } else {
      y += depth;
      height -= depth;
    }
    at += row.length;
  }
  return boxes;
}

/** Parents before what lies in them. The root has no box: it is the whole picture. */
export function treemap(nodes: MapNodes, size: MapSize): MapBox[] {
  const children: number[][] = nodes.parent.map(() => []);
  nodes.parent.forEach((p, i) => p >= 0 && nodes.value[i]! > 0 && children[p]!.push(i));
  const boxes: MapBox[] = [];
  const todo: { node: number; depth: number; room: Room }[] = nodes.parent.length > 0 ? [{ node: 0, depth: 0, room: { x: 0, y: 0, width: size.width, height: size.height } }] : [];
  for (let at = 0; at < todo.length; at++) {
    const { node, depth, room } = todo[at]!;
    if (depth > 0) boxes.push({ node, depth, ...room });
    if (depth >= size.maxDepth) continue;
    const inner = depth === 0 ? room : { x: room.x + size.gapPx, y: room.y + size.namePx, width: room.width - 2 * size.gapPx, height: room.height - size.namePx - size.gapPx };
    const below = children[node]!.sort((a, b) => nodes.value[b]! - nodes.value[a]!);
    if (inner.width < size.leastPx || inner.height < size.leastPx) continue;
    const whole = Math.max(nodes.value[node]!, below.reduce((sum, i) => sum + nodes.value[i]!, 0));
    fillRoom(below.map((i) => nodes.value[i]!), whole, inner).forEach((box, i) => {
      if (box.width >= size.leastPx && box.height >= size.leastPx) todo.push({ node: below[i]!, depth: depth + 1, room: box });
    });
  }
  return boxes;
}
