// The veiled text: asked for sentence by sentence, so that what is typed last does not change what stands before it.

import { post } from "./api.js";
import { $, make } from "./dom.js";
import { settings, way } from "./settings.js";

const TOGETHER = 100;
const MARKS = /\[\[|\]\]/g;

// Sentences, and between them what lies between.
const pieces = (text) => text.split(/((?<=[.!?…]["'”’)\]]*)\s+|\s*\n\s*\n\s*)/).filter((piece) => piece !== "");

export class Veiled {
  constructor(side, chosen, promised) {
    this.side = side;
    this.out = $(`out-${side}`);
    this.chosen = chosen;
    this.promised = promised;
    this.drawn = new Map();
    this.how = "";
    this.abort = null;
    this.out.addEventListener("keydown", (event) => this.walk(event));
  }

  forget() {
    this.drawn.clear();
  }

  async show(text) {
    this.abort?.abort();
    this.abort = new AbortController();
    const asked = way(this.side);
    const how = JSON.stringify(asked);
    if (how !== this.how) {
      this.forget();
      this.how = how;
    }
    const seen = new Map();
    const parts = pieces(text).map((part) => {
      const before = seen.get(part) ?? 0;
      seen.set(part, before + 1);
      return { part, key: `${before} ${part}` };
    });
    for (const { part, key } of parts) if (!part.trim()) this.drawn.set(key, { text: part, replacements: [] });
    const missing = parts.filter(({ key }) => !this.drawn.has(key));
    this.out.classList.toggle("waiting", missing.length > 0);
    let told = null;
    for (let start = 0; start < missing.length; start += TOGETHER) {
      const some = missing.slice(start, start + TOGETHER);
      told = await post("v1/privatize", { ...asked, text: some.map(({ part }) => part) }, this.abort.signal);
      told.results.forEach((result, number) => this.drawn.set(some[number].key, result));
    }
    if (!told && !parts.length) told = await post("v1/privatize", { ...asked, text: [] }, this.abort.signal);
    if (told) this.promised(this.side, told.guarantee);
    const wanted = new Set(parts.map(({ key }) => key));
    for (const key of [...this.drawn.keys()]) if (!wanted.has(key)) this.drawn.delete(key);
    this.write(parts);
    this.out.classList.remove("waiting");
  }

  write(parts) {
    const written = document.createDocumentFragment();
    let words = 0;
    let changed = 0;
    for (const { part, key } of parts) {
      const { text, replacements } = this.drawn.get(key);
      // places count characters, which JavaScript's own strings do not
      const old = Array.from(settings.select === "marked" ? part.replace(MARKS, "") : part);
      const fresh = Array.from(text);
      let place = 0;
      for (const { start, end, new_start: from, new_end: to } of replacements) {
        written.append(fresh.slice(place, from).join(""));
        const was = old.slice(start, end).join("");
        const is = fresh.slice(from, to).join("");
        const gap = is.length - is.trimStart().length;
        written.append(is.slice(0, gap));
        const differs = was.toLowerCase() !== is.trim().toLowerCase();
        words += 1;
        changed += differs ? 1 : 0;
        if (is.trim()) written.append(this.word(was, is.trim(), differs));
        place = to;
      }
      written.append(fresh.slice(place).join(""));
    }
    this.out.replaceChildren(written);
    this.out.querySelector("[role=button]")?.setAttribute("tabindex", "0");
    $(`count-${this.side}`).textContent = words ? `${words} words drawn anew, ${changed} of them came out different.` : "";
  }

  // Not a button element: lines would break between it and the comma after it.
  word(was, is, differs) {
    const choose = (word) => {
      this.out.querySelectorAll('[aria-pressed="true"]').forEach((one) => one.setAttribute("aria-pressed", "false"));
      word.setAttribute("aria-pressed", "true");
      this.chosen(this.side, was);
    };
    return make(
      "span",
      {
        role: "button",
        class: differs ? "changed" : "same",
        tabindex: -1,
        title: differs ? `was: ${was}` : "came out the same",
        "aria-pressed": "false",
        onclick: (event) => choose(event.currentTarget),
        onkeydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose(event.currentTarget);
        },
      },
      is,
    );
  }

  walk(event) {
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
