// The neighbourhood of a word, drawn: rings of hops on a graph, or the Poincaré disk.

import { draw } from "./dom.js";

const SIZE = 440;
const MIDDLE = SIZE / 2;

export function drawMap({ map, word }, choose) {
  const places = map.kind === "disk" ? onDisk(map) : onRings(map);
  const likeliest = Math.max(...map.nodes.map(({ probability }) => probability)) || 1;
  const svg = draw("svg", { viewBox: `-46 0 ${SIZE + 92} ${SIZE}`, role: "img", "aria-label": `The neighbourhood of ${word}` });
  if (map.kind === "disk") svg.append(draw("circle", { class: "disk", cx: MIDDLE, cy: MIDDLE, r: MIDDLE - 14 }));
  else for (const radius of new Set(places.map(({ radius }) => radius))) if (radius) svg.append(draw("circle", { class: "ring", cx: MIDDLE, cy: MIDDLE, r: radius }));
  for (const [from, to] of map.edges) {
    const way = map.kind === "disk" ? geodesic(map.nodes[from], map.nodes[to], places[from], places[to]) : line(places[from], places[to]);
    svg.append(draw("path", { class: "edge", d: way }));
  }
  const taken = [];
  map.nodes.forEach((node, number) => {
    const { x, y } = places[number];
    const own = node.word === word;
    const radius = 3 + 9 * Math.sqrt(node.probability / likeliest);
    const go = { onclick: () => choose(node.word) };
    svg.append(draw("circle", { class: own ? "node own" : "node", cx: x, cy: y, r: radius, ...go }, draw("title", {}, `${node.word}: ${(100 * node.probability).toPrecision(3)}%`)));
    if (own || free(taken, node.word, x, y, radius)) {
      const left = x < MIDDLE - 4 && !own;
      const label = { class: own ? "label own" : "label", x: own ? x : x + (left ? -radius - 3 : radius + 3), y: own ? y - radius - 5 : y + 4, "text-anchor": own ? "middle" : left ? "end" : "start", ...go };
      svg.append(draw("text", label, node.word));
    }
  });
  return svg;
}

// Whether a label has room; those that have none are left to the dot's tooltip.
function free(taken, word, x, y, radius) {
  const width = 6.2 * word.length + radius + 3;
  const box = x < MIDDLE - 4 ? [x - width, x] : [x, x + width];
  const [top, bottom] = [y - 6, y + 6];
  if (taken.some(([left, right, above, below]) => box[0] < right && box[1] > left && top < below && bottom > above)) return false;
  taken.push([...box, top, bottom]);
  return true;
}

const line = (p, q) => `M${p.x} ${p.y}L${q.x} ${q.y}`;

// The shortest way in the disk: part of the circle through both points that meets the rim at right angles.
function geodesic(p, q, from, to) {
  const across = p.x * q.y - p.y * q.x;
  if (Math.abs(across) < 1e-4) return line(from, to);
  const [u, v] = [(1 + p.x ** 2 + p.y ** 2) / 2, (1 + q.x ** 2 + q.y ** 2) / 2];
  const centre = { x: (u * q.y - v * p.y) / across, y: (v * p.x - u * q.x) / across };
  const radius = Math.sqrt(centre.x ** 2 + centre.y ** 2 - 1) * (from.scale ?? 1);
  return `M${from.x} ${from.y}A${radius} ${radius} 0 0 ${across > 0 ? 1 : 0} ${to.x} ${to.y}`;
}

function onDisk({ nodes }) {
  // stretched to the farthest word, so that near ones do not pile up in the middle; the rim is then only a frame
  const reach = Math.max(...nodes.map(({ x, y }) => Math.hypot(x, y)), 0.01);
  const scale = (MIDDLE - 30) / reach;
  return nodes.map(({ x, y }) => ({ x: MIDDLE + x * scale, y: MIDDLE - y * scale, radius: 0, scale }));
}

// Each word stands on the ring of its hops, near the word that leads to it.
function onRings({ nodes, edges }) {
  const children = nodes.map(() => []);
  const parent = nodes.map(() => -1);
  for (const [from, to] of edges) {
    const [near, far] = nodes[from].ring < nodes[to].ring ? [from, to] : [to, from];
    if (nodes[near].ring < nodes[far].ring && parent[far] < 0) {
      parent[far] = near;
      children[near].push(far);
    }
  }
  const leaves = (node) => Math.max(1, children[node].reduce((sum, child) => sum + leaves(child), 0));
  const rings = Math.max(...nodes.map(({ ring }) => ring)) || 1;
  const step = (MIDDLE - 30) / rings;
  const places = [];
  const put = (node, start, end) => {
    const angle = (start + end) / 2;
    const radius = nodes[node].ring * step;
    places[node] = { x: MIDDLE + radius * Math.cos(angle), y: MIDDLE + radius * Math.sin(angle), radius };
    let from = start;
    const whole = leaves(node);
    for (const child of children[node]) {
      const to = from + ((end - start) * leaves(child)) / whole;
      put(child, from, to);
      from = to;
    }
  };
  put(0, -Math.PI / 2, 1.5 * Math.PI);
  nodes.forEach((_, node) => (places[node] ??= { x: MIDDLE, y: MIDDLE, radius: 0 }));
  return places;
}
