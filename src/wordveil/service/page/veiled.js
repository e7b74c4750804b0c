// The veiled text: asked for sentence by sentence, so that what is typed last does not change what stands before it.

import { batches, post } from "./api.js";
import { $, make } from "./dom.js";
import { way } from "./settings.js";

const MARKS = /\[\[|\]\]/g;

const CLOSING = new Set(`"'”’)]`);
const ENDING = new Set(".!?…");

// Whether a sentence ends before this place.
function endsAt(text, place) {
  let last = place - 1;
  while (CLOSING.has(text[last])) last -= 1;
  return ENDING.has(text[last]);
}

// Sentences, and between them what lies between. Where words are marked, a mark is never cut in two.
// Looks at each run of spaces once: a pasted text may have very long ones.
function pieces(text, marked) {
  const found = [];
  let [from, open] = [0, false];
  for (const { 0: run, index } of text.matchAll(/\[\[|\]\]|\s+/g)) {
    if (run === "[[" || run === "]]") open = run === "[[";
    else if (!(marked && open) && (endsAt(text, index) || run.split("\n").length > 2)) {
      found.push(text.slice(from, index), run);
      from = index + run.length;
    }
  }
  return [...found, text.slice(from)].filter((piece) => piece !== "");
}

export class Veiled {
  static picked = null; // the place of the word that is looked at, so that drawing again does not lose it

  constructor(side, chosen, promised) {
    this.side = side;
    this.out = $(`out-${side}`);
    this.chosen = chosen;
    this.promised = promised;
    this.drawn = new Map(); // each sentence as it is shown: only those that are new are made
    this.how = "";
    this.select = "";
    this.abort = null;
    this.shown = null; // the settings and the text that what is shown was made of
    this.promisedFor = "";
    this.out.addEventListener("click", ({ target }) => this.choose(target.closest("[role=button]")));
    this.out.addEventListener("keydown", (event) => this.press(event));
  }

  forget() {
    this.drawn.clear();
  }

  // Marks what is shown if it was not made of this text with these settings.
  mark(text) {
    const old = this.isStale(text);
    $(`card-${this.side}`).classList.toggle("stale", old);
    $(`stale-${this.side}`).hidden = !old || !this.shown;
  }

  isStale(text) {
    return this.shown?.text !== text || this.shown.how !== JSON.stringify(way(this.side));
  }

  // What is promised now, without drawing anything.
  async look() {
    this.looking?.abort();
    this.looking = new AbortController();
    const asked = way(this.side);
    if (this.promisedFor === JSON.stringify(asked)) return;
    const { guarantee } = await post("v1/privatize", { ...asked, text: [] }, this.looking.signal);
    this.promise(guarantee, asked);
  }

  promise(guarantee, asked) {
    this.promisedFor = JSON.stringify(asked);
    this.promised(this.side, guarantee, asked);
  }

  async show(text) {
    this.abort?.abort();
    this.abort = new AbortController();
    const { signal } = this.abort;
    try {
      await this.draw(text, signal);
    } catch (error) {
      if (signal.aborted) return; // what came after it says what is shown, its problems included
      this.out.classList.remove("waiting");
      this.mark(text);
      throw error;
    }
  }

  async draw(text, signal) {
    const asked = way(this.side);
    const how = JSON.stringify(asked);
    if (how !== this.how) {
      this.forget();
      this.how = how;
      this.select = asked.select;
    }
    const seen = new Map();
    const parts = pieces(text, asked.select === "marked").map((part) => {
      const before = seen.get(part) ?? 0;
      seen.set(part, before + 1);
      return { part, key: `${before} ${part}` };
    });
    for (const { part, key } of parts) if (!part.trim()) this.drawn.set(key, this.sentence(part, key, { text: part, replacements: [] }));
    const missing = parts.filter(({ key }) => !this.drawn.has(key));
    this.out.classList.toggle("waiting", missing.length > 0);
    let told = null;
    for (const some of batches(missing, ({ part }) => part)) {
      told = await post("v1/privatize", { ...asked, text: some.map(({ part }) => part) }, signal);
      told.results.forEach((result, number) => {
        const { part, key } = some[number];
        this.drawn.set(key, this.sentence(part, key, result));
      });
    }
    if (!told && this.promisedFor !== how) told = await post("v1/privatize", { ...asked, text: [] }, signal);
    if (told) this.promise(told.guarantee, asked);
    const wanted = new Set(parts.map(({ key }) => key));
    for (const key of [...this.drawn.keys()]) if (!wanted.has(key)) this.drawn.delete(key);
    this.write(parts.map(({ key }) => this.drawn.get(key)));
    $(`title-${this.side}`).textContent = `Veiled by ${asked.mechanism}, ε = ${asked.epsilon}`;
    this.shown = { text, how };
    this.mark(text);
    this.out.classList.remove("waiting");
  }

  write(sentences) {
    const written = document.createDocumentFragment();
    for (const { element } of sentences) written.append(element);
    this.out.replaceChildren(written);
    if (!this.out.querySelector('[tabindex="0"]')) this.out.querySelector("[role=button]")?.setAttribute("tabindex", "0");
    const count = (what) => sentences.reduce((sum, sentence) => sum + sentence[what], 0);
    const words = count("words");
    $(`count-${this.side}`).textContent = words ? `${words.toLocaleString("en")} words redrawn, ${count("changed").toLocaleString("en")} of them changed.` : "";
  }

  sentence(part, key, { text, replacements }) {
    const element = make("span");
    // places count characters, which JavaScript's own strings do not
    const old = Array.from(this.select === "marked" ? part.replace(MARKS, "") : part);
    const fresh = Array.from(text);
    let [place, changed] = [0, 0];
    for (const { start, end, new_start: from, new_end: to } of replacements) {
      const was = old.slice(start, end).join("");
      const is = fresh.slice(from, to).join("");
      const gap = is.length - is.trimStart().length;
      element.append(fresh.slice(place, from).join("") + is.slice(0, gap));
      const differs = was.toLowerCase() !== is.trim().toLowerCase();
      changed += differs ? 1 : 0;
      if (is.trim()) element.append(this.word(was, is.trim(), differs, `${this.side} ${start} ${key}`));
      place = to;
    }
    element.append(fresh.slice(place).join(""));
    return { element, words: replacements.length, changed };
  }

  // Not a button element: lines would break between it and the comma after it.
  word(was, is, differs, where) {
    const word = make(
      "span",
      {
        role: "button",
        class: differs ? "changed" : "same",
        tabindex: -1,
        title: differs ? `was: ${was}` : "unchanged",
        "aria-pressed": String(where === Veiled.picked),
      },
      is,
    );
    return Object.assign(word, { was, where });
  }

  choose(word) {
    if (!word) return;
    document.querySelectorAll('.out [aria-pressed="true"]').forEach((one) => one.setAttribute("aria-pressed", "false"));
    word.setAttribute("aria-pressed", "true");
    Veiled.picked = word.where;
    this.chosen(this.side, word.was);
  }

  chooseFirst() {
    this.choose(this.out.querySelector("[role=button]"));
  }

  press(event) {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.choose(event.target.closest("[role=button]"));
      return;
    }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const words = [...this.out.querySelectorAll("[role=button]")];
    const next = words[words.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    document.activeElement.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}
