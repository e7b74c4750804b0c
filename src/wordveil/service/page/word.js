// One word: what it may become, and its neighbourhood as rings of hops on a graph or in the Poincaré disk.

import { $, draw, make, percent } from "./dom.js";

const SIDE = 46; // room for words beside the outermost dots
const RIM = 30;
const TALL = 220;

export function showWord(facts, choose) {
  $("word-said").textContent = `${facts.word} stays the same with a probability of ${percent(facts.stays)}.`; // the whole list would be too long to read out
  const most = facts.outputs[0]?.probability || 1;
  const bars = facts.outputs.map(({ word, probability }) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${(100 * probability) / most}%`;
    const button = make("button", { type: "button", title: word, onclick: () => choose(word) }, word);
    return make("li", word === facts.word ? { class: "own" } : {}, button, make("span", { class: "share" }, percent(probability)), bar);
  });
  const fact = (value, words) => make("li", {}, make("b", {}, value), ` ${words}`);
  $("word").replaceChildren(
    make("p", { class: "big" }, facts.word),
    make(
      "ul",
      { class: "facts" },
      fact(percent(facts.stays), "stays the same"),
      fact(Math.round(facts.distinct_in_1000_draws).toLocaleString("en"), "distinct words in 1,000 draws"),
      fact(facts.words_for_95_percent.toLocaleString("en"), "words cover 95%"),
    ),
    make("ol", { class: "bars", "aria-label": `What ${facts.word} may become` }, ...bars),
    make(
      "p",
      { class: "note" },
      `${facts.mechanism}, ε = ${facts.epsilon}: ${facts.exact ? "exact probabilities." : `estimated from ${facts.draws.toLocaleString("en")} draws.`}`,
    ),
  );
  $("map").replaceChildren(drawMap(facts, choose), make("p", { class: "note" }, describe(facts)));
}

function describe({ map, word }) {
  if (map.kind === "disk")
    return `${word} and its nearest words in the Poincaré disk, seen from their centre: distances from it are exact, directions approximate. Lines lead to broader terms; larger dots are likelier outputs.`;
  const hops = Math.max(...map.nodes.map((node) => node.ring));
  return `Words ${hops === 1 ? "one hop" : `up to ${hops} hops`} from ${word} on the neighbour graph. Larger dots are likelier outputs; words without room for their name are left out.`;
}

export function showNoWord(sentence, beside = "There is nothing to draw.") {
  $("word-said").textContent = "";
  $("word").replaceChildren(make("p", { class: "empty" }, sentence));
  $("map").replaceChildren(make("p", { class: "empty" }, beside));
}

// Positions are relative to the centre of the picture.
function drawMap({ map, word, outputs }, choose) {
  // in real pixels, so that words stay readable on a phone; a graph may then be taller than wide
  const half = Math.min(Math.max($("map").clientWidth / 2 - SIDE, 110), TALL);
  const high = map.kind === "disk" ? half : TALL;
  const places = map.kind === "disk" ? onDisk(map, half - RIM) : onRings(map, half - RIM, high - RIM);
  const likeliest = Math.max(outputs[0]?.probability ?? 0, ...map.nodes.map(({ probability }) => probability)) || 1;
  const svg = draw("svg", {
    viewBox: `${-half - SIDE} ${-high} ${2 * (half + SIDE)} ${2 * high}`,
    role: "img",
    "aria-label": `The neighbourhood of ${word}`,
  });
  if (map.kind === "disk") svg.append(draw("circle", { class: "disk", cx: 0, cy: 0, r: half - 14 }));
  else for (const share of new Set(places.map(({ share }) => share))) if (share) svg.append(draw("ellipse", { class: "ring", cx: 0, cy: 0, rx: share * (half - RIM), ry: share * (high - RIM) }));
  for (const [from, to] of map.edges) {
    const way = map.kind === "disk" ? geodesic(map.nodes[from], map.nodes[to], places[from], places[to]) : line(places[from], places[to]);
    svg.append(draw("path", { class: "edge", d: way }));
  }
  const radii = map.nodes.map(({ probability }) => 3 + 9 * Math.sqrt(probability / likeliest));
  const taken = places.map(({ x, y }, number) => ({ left: x - radii[number], right: x + radii[number], top: y - radii[number], bottom: y + radii[number] }));
  map.nodes.forEach((node, number) => {
    const { x, y } = places[number];
    const own = node.word === word;
    const radius = radii[number];
    const go = { onclick: () => choose(node.word) };
    // beside the dot, above or below it; a dot without a label says nothing, so it is left out
    const beside = (anchor) => ({ x: x + { end: -radius - 3, start: radius + 3 }[anchor], y: y + 4, "text-anchor": anchor });
    const over = (shift) => ({ x, y: y + shift, "text-anchor": "middle" });
    const tried = [...(own ? [] : x < -4 ? [beside("end"), beside("start")] : [beside("start"), beside("end")]), over(-radius - 5), over(radius + 13)];
    const label = tried.find((one) => free(taken, node.word, one)) ?? (own ? tried[0] : null);
    if (!label) return;
    svg.append(draw("circle", { class: own ? "node own" : "node", cx: x, cy: y, r: radius, ...go }, draw("title", {}, `${node.word}: ${(100 * node.probability).toPrecision(3)}%`)));
    svg.append(draw("text", { class: own ? "label own" : "label", ...label, ...go }, node.word));
  });
  return svg;
}

// Whether there is room for a label. If so, reserves it.
function free(taken, word, { x, y, "text-anchor": anchor }) {
  const width = 6.2 * word.length;
  const left = x - { middle: width / 2, end: width, start: 0 }[anchor];
  const box = { left, right: left + width, top: y - 10, bottom: y + 2 };
  if (taken.some((other) => box.left < other.right && box.right > other.left && box.top < other.bottom && box.bottom > other.top)) return false;
  taken.push(box);
  return true;
}

const line = (p, q) => `M${p.x} ${p.y}L${q.x} ${q.y}`;

// The shortest path in the disk: an arc of the circle through both points that meets the rim at right angles.
function geodesic(p, q, from, to) {
  const across = p.x * q.y - p.y * q.x;
  if (Math.abs(across) < 1e-4) return line(from, to);
  const [u, v] = [(1 + p.x ** 2 + p.y ** 2) / 2, (1 + q.x ** 2 + q.y ** 2) / 2];
  const centre = { x: (u * q.y - v * p.y) / across, y: (v * p.x - u * q.x) / across };
  const radius = Math.sqrt(centre.x ** 2 + centre.y ** 2 - 1) * (from.scale ?? 1);
  return `M${from.x} ${from.y}A${radius} ${radius} 0 0 ${across > 0 ? 1 : 0} ${to.x} ${to.y}`;
}

function onDisk({ nodes }, room) {
  // scaled to the farthest word, so that near ones do not pile up in the centre; the rim is then only a frame
  const reach = Math.max(...nodes.map(({ x, y }) => Math.hypot(x, y)), 0.01);
  const scale = room / reach;
  return nodes.map(({ x, y }) => ({ x: x * scale, y: -y * scale, scale }));
}

// Puts each word on the ring of its hops, near the word that leads to it.
function onRings({ nodes, edges }, wide, high) {
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
  const places = [];
  const put = (node, start, end) => {
    const angle = (start + end) / 2;
    const share = nodes[node].ring / rings;
    places[node] = { x: share * wide * Math.cos(angle), y: share * high * Math.sin(angle), share };
    let from = start;
    const whole = leaves(node);
    for (const child of children[node]) {
      const to = from + ((end - start) * leaves(child)) / whole;
      put(child, from, to);
      from = to;
    }
  };
  put(0, -Math.PI / 2, 1.5 * Math.PI);
  nodes.forEach((_, node) => (places[node] ??= { x: 0, y: 0, share: 0 }));
  return places;
}
