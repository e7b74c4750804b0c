// The trade-off: how often an attacker guesses the original, against how often the output is the same or a similar word.

import { calibrated, get } from "./api.js";
import { $, draw, make, percent, short } from "./dom.js";
import { settings } from "./settings.js";

const HEIGHT = 320;
const LEFT = 52;
const TOP = 14;
const BOTTOM = HEIGHT - 46;

const curves = new Map();
const measuring = new Map(); // curves being measured, each with the line that shows its progress

const similar = (point) => point.kept + point.near;
const name = (mechanism) => `${settings.space} ${mechanism}`;
export const curveOf = (mechanism) => curves.get(name(mechanism)) ?? null;

// Fetches a mechanism's curve if it was measured in advance.
export async function loadCurve(mechanism) {
  const key = name(mechanism);
  if (curves.has(key)) return;
  const told = await get(`v1/tradeoffs?${new URLSearchParams({ mechanism, space: settings.space })}`);
  curves.set(key, told.points.length ? Object.assign(told.points, { suspects: told.suspects }) : null);
}

// Measures a curve. The line with its progress survives a redraw.
export async function measure(mechanism, redraw) {
  const key = name(mechanism);
  const line = make("p", { class: "note" }, `${mechanism} is being measured.`);
  measuring.set(key, line);
  redraw();
  try {
    const request = { mechanism, space: settings.space, points: 6, words: 300, adversary_words: 2000, draws: 200 };
    const result = await calibrated(request, ({ doing, progress }) => (line.textContent = `${mechanism}: ${doing}, ${percent(progress)}`));
    const points = result.measurements.map(({ epsilon, adversary, kept, near }) => ({
      epsilon,
      adversary_frequency: adversary.frequency.value,
      kept: kept.value,
      near: near.value,
    }));
    points.suspects = result.measurements[0].adversary.frequency.n;
    curves.set(key, points);
  } finally {
    measuring.delete(key);
    redraw();
  }
}

// A quantity at an ε between two that were measured, interpolated over log ε.
export function at(points, epsilon, value) {
  const first = points.findIndex((point) => point.epsilon >= epsilon);
  if (first <= 0) return value(first < 0 ? points[points.length - 1] : points[0]);
  const [p, q] = [points[first - 1], points[first]];
  const share = Math.log(epsilon / p.epsilon) / Math.log(q.epsilon / p.epsilon);
  return value(p) + share * (value(q) - value(p));
}

// The same in words. Beyond the measured range, only a bound is known.
export function told(points, epsilon, value) {
  const [least, most] = [points[0].epsilon, points[points.length - 1].epsilon];
  return `${epsilon < least ? "less than " : epsilon > most ? "more than " : ""}${percent(at(points, epsilon, value))}`;
}

// How often a word is guessed by an attacker who knows the mechanism and word frequencies, and sees one word at a time.
export const rate = (point) => point.adversary_frequency;

// A sentence about what that attacker gets at an ε.
export const alone = (points, epsilon) => `An attacker who looks at one word at a time and knows word frequencies guesses about ${told(points, epsilon, rate)} of the words. Context raises that, and so does repetition.`;

const ends = (points) => [points[0], points[points.length - 1]];

// The ε at which another mechanism is guessed as often as this one at its ε; null if that was not measured.
export function equal(from, epsilon, to) {
  const [p, q] = [curveOf(from), curveOf(to)];
  if (from === to) return epsilon;
  if (!p || !q || !epsilon || p.suspects !== q.suspects) return null; // among fewer words, guessing is easier
  const [[least, most], [low, high]] = [ends(p), ends(q)];
  const guessed = at(p, epsilon, rate);
  const isMeasured = epsilon >= least.epsilon && epsilon <= most.epsilon && guessed >= rate(low) && guessed <= rate(high);
  return isMeasured ? Number(short(matching(q, guessed))) : null;
}

// The ε at which a mechanism is guessed this often, or the nearest measured one.
export function matching(points, guessed) {
  const next = points.findIndex((point) => rate(point) >= guessed);
  if (next <= 0) return next < 0 ? points[points.length - 1].epsilon : points[0].epsilon;
  const [p, q] = [points[next - 1], points[next]];
  const share = (guessed - rate(p)) / (rate(q) - rate(p));
  return Math.exp(Math.log(p.epsilon) + share * Math.log(q.epsilon / p.epsilon));
}

const y = (share) => BOTTOM - share * (BOTTOM - TOP);

export function drawPlot(measured) {
  const sides = settings.b.mechanism && settings.b.epsilon ? ["a", "b"] : ["a"];
  const width = Math.min(Math.max($("plot").clientWidth, 280), 560); // in real pixels, so that words stay readable on a phone
  const right = width - 16;
  const x = (share) => LEFT + share * (right - LEFT);
  const svg = draw("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": "The attacker's success against similarity, over ε" });
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    svg.append(
      draw("line", { class: "axis", x1: LEFT, x2: right, y1: y(tick), y2: y(tick) }),
      draw("text", { class: "tick", x: LEFT - 8, y: y(tick) + 4, "text-anchor": "end" }, percent(tick)),
      draw("text", { class: "tick", x: x(tick), y: BOTTOM + 17, "text-anchor": "middle" }, percent(tick)),
    );
  }
  svg.append(
    draw("text", { class: "tick", x: (LEFT + right) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, "one word at a time, an attacker guesses it →"),
    draw("text", { class: "tick", x: 12, y: (TOP + BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(TOP + BOTTOM) / 2})` }, "output is the same or similar →"),
  );
  const below = [];
  const names = []; // above all curves
  let taken = null;
  for (const side of sides) {
    const { mechanism, epsilon } = settings[side];
    const points = curveOf(mechanism);
    if (!points && measuring.has(name(mechanism))) {
      below.push(measuring.get(name(mechanism)));
      continue;
    }
    if (!points) {
      const button = make("button", { type: "button", class: "quiet", onclick: () => measured(mechanism) }, `Measure ${mechanism}`);
      below.push(make("p", { class: "note" }, `There is no ready-made curve for ${mechanism}. `, button));
      continue;
    }
    const line = points.map((point) => `${x(rate(point)).toFixed(1)},${y(similar(point)).toFixed(1)}`).join(" ");
    svg.append(draw("polyline", { class: `curve ${side}`, points: line }));
    for (const point of points)
      svg.append(
        draw("circle", { class: `dot ${side}`, cx: x(rate(point)), cy: y(similar(point)), r: 3.2 }, draw("title", {}, `ε = ${short(point.epsilon)}`)),
        draw("text", { class: "tick", x: x(rate(point)) - 6, y: y(similar(point)) - 6, "text-anchor": "end" }, short(point.epsilon)),
      );
    if (!epsilon) continue;
    const now = { x: x(at(points, epsilon, rate)), y: y(at(points, epsilon, similar)) };
    // a rising curve leaves room to its lower right; keep two labels apart
    const label = { x: now.x + 11, y: now.y + 17, "text-anchor": "start" };
    if (now.x > right - 110) Object.assign(label, { x: now.x, y: now.y + 24, "text-anchor": "end" });
    if (taken !== null && Math.abs(taken - label.y) < 16) label.y = taken + 16;
    taken = label.y;
    names.push(
      draw("circle", { class: `now ${side}`, cx: now.x, cy: now.y, r: 7.5 }),
      draw("text", { class: `named ${side}`, ...label }, `${mechanism}, ε = ${epsilon}`),
    );
    const where = `${mechanism} at ε = ${epsilon}: this attacker guesses a word ${told(points, epsilon, rate)} of the time, and the output is the word or one of its 50 most similar ${told(points, epsilon, similar)} of the time. They choose from ${points.suspects.toLocaleString("en")} words.`;
    below.push(make("p", { class: "note" }, where));
  }
  svg.append(...names);
  const how = "The numbers at the dots are ε. Higher and further left is better. The attacker of this plot knows the mechanism and how frequent words are, and looks at one word at a time. Context would help them.";
  $("plot").replaceChildren(...(svg.querySelector(".curve") ? [svg, ...below, make("p", { class: "note" }, how)] : below));
}
