// One word: what it may become, and the probability of staying.

import { $, make, percent } from "./dom.js";
import { drawMap } from "./map.js";

export function showWord(facts, choose) {
  $("word-said").textContent = `${facts.word} stays itself with a probability of ${percent(facts.stays)}.`; // the list would be too long to be read out
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
      fact(percent(facts.stays), "stays itself"),
      fact(Math.round(facts.distinct_in_1000_draws).toLocaleString("en"), "different words in 1,000 draws"),
      fact(facts.words_for_95_percent.toLocaleString("en"), "words share 95%"),
    ),
    make("ol", { class: "bars", "aria-label": `What ${facts.word} may become` }, ...bars),
    make(
      "p",
      { class: "note" },
      `${facts.mechanism}, ε = ${facts.epsilon}: ${facts.exact ? "exact probabilities." : `counted from ${facts.draws.toLocaleString("en")} draws.`}`,
    ),
  );
  $("map").replaceChildren(drawMap(facts, choose), make("p", { class: "note" }, describe(facts)));
}

function describe({ map, word }) {
  if (map.kind === "disk")
    return `The Poincaré disk with ${word} and its nearest words, seen from the middle between them: distances from there are exact, directions approximate. Lines lead to what a word is a kind of; larger dots are likelier outputs.`;
  const hops = Math.max(...map.nodes.map((node) => node.ring));
  return `Words ${hops === 1 ? "one hop" : `up to ${hops} hops`} from ${word} on the neighbour graph. Larger dots are likelier outputs.`;
}

export function showNoWord(sentence) {
  $("word-said").textContent = "";
  $("word").replaceChildren(make("p", { class: "empty" }, sentence));
  $("map").replaceChildren(make("p", { class: "empty" }, "There is nothing to draw."));
}
