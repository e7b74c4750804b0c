// Exploring: a draw to look at, as an analyst and as an attacker would read it. Nothing of it is a release.

import { pause, post } from "./api.js";
import { $, make, percent } from "./dom.js";
import { settings, way } from "./settings.js";

const MOST_LETTERS = 7900; // that the service explores at once
const AGAIN = 1500; // milliseconds until an attacker who is being prepared is asked for again
const KINDS = { outside: "unknown word", numbers: "number, date or time", identifiers: "identifier", dropped: "left out" };

const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

let draw = fresh(); // names a draw: under one name words stay as they are while somebody types
let [turn, abort] = [0, null];
let picked = null; // the number of the word that is looked at

export const drawAnew = () => (draw = fresh());

// Stops what is under way: its answers are never shown.
export function stop(state) {
  turn += 1;
  abort?.abort();
  document.body.dataset.state = state;
  $("busy").hidden = true;
}

// Draws for the text and shows it; tells the listener what is guaranteed, and shows nothing that is no longer wanted.
export async function explore(text, heard) {
  stop("waiting");
  const mine = turn;
  abort = new AbortController();
  const { signal } = abort;
  const begun = { since: Date.now(), share: 0, who: way("a").mechanism };
  const ticking = setInterval(() => tick(begun), 500);
  const asked = { ...way("a"), text: text.slice(0, MOST_LETTERS), draw };
  try {
    for (;;) {
      const told = await post("v1/explore", asked, signal);
      if (mine !== turn) return;
      show(told, asked, text.length > MOST_LETTERS);
      heard(told.guarantee);
      if (!told.preparing) break;
      begun.who = `The attacker of ${asked.mechanism}`;
      if (told.progress !== begun.share) [begun.share, begun.at] = [told.progress, Date.now()];
      await pause(AGAIN);
      if (mine !== turn) return;
    }
    await compareWith(asked, signal);
    if (mine === turn) document.body.dataset.state = "done";
  } catch (error) {
    if (mine !== turn) return; // what came after it says what is shown, its problems included
    document.body.dataset.state = "failed";
    throw error;
  } finally {
    clearInterval(ticking);
    if (mine === turn) $("busy").hidden = true;
  }
}

// Says how long it took so far and, where the service can tell how far it is, how long it will take.
function tick({ since, share, at, who }) {
  const seconds = Math.round((Date.now() - since) / 1000);
  if (seconds < 1) return;
  $("busy").hidden = false;
  const bar = $("busy").querySelector("progress");
  if (share) bar.value = share;
  else bar.removeAttribute("value");
  const left = share ? Math.max(1, Math.ceil((at - since) / share / 1000 - seconds)) : 0; // by when it last got on
  const far = share ? ` ${percent(share)} after ${seconds} s, about ${left} s left.` : seconds < 3 ? "" : ` ${seconds} s.`;
  $("busy-told").textContent = `${who} is being prepared for this ε.${far}${seconds > 8 ? " The first time takes a while." : ""}`;
}

async function compareWith(asked, signal) {
  const on = Boolean(settings.b.mechanism && settings.b.epsilon);
  $("other-card").hidden = !on;
  if (!on) return;
  const told = await post("v1/explore", { ...asked, ...way("b"), guess: false }, signal);
  if (signal.aborted) return;
  const { mechanism, epsilon } = settings.b;
  $("other-title").textContent = `The draw by ${mechanism}, ε = ${epsilon}: one word at a time it is guessed as often`;
  $("other").replaceChildren(...told.pieces.map((piece) => drawn(piece)));
  $("other-count").textContent = alike(told);
}

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const alike = ({ alike: near, words }) => (words ? `${near.toLocaleString("en")} of ${plural(words, "drawn word")} came out as the word itself or one of its 50 most similar.` : "");

function show(told, asked, isCut) {
  const { words, guessed, attacker } = told;
  $("answer").textContent = !words
    ? "There is no word to guess here."
    : guessed !== null
      ? guessed
        ? `Yes, ${guessed === 1 ? "one" : guessed} of ${words}.`
        : `None of ${plural(words, "word")}, in this draw.`
      : told.preparing
        ? "The attacker is being prepared …"
        : "Nobody here can try.";
  $("docked").textContent = $("answer").textContent; // on a phone the answer stays beside ε
  $("answer-more").textContent = guessed !== null && words
    ? `${attacker.name[0].toUpperCase()}${attacker.name.slice(1)} (the ${attacker.reader} reader, the strongest on this server) guesses ${percent(guessed / words)} of the veiled words of this very text. Somebody with a larger model, or who knows you, guesses more.`
    : told.preparing || !words
      ? ""
      : `No reader on this server can attack ${asked.mechanism} on this space. That does not make it safer.`;
  $("loss").textContent = told.loss === null
    ? "The loss of this text has no bound with these settings."
    : `Loss of this text, if released: at most ${told.loss.toLocaleString("en", { maximumFractionDigits: 1 })} (${plural(told.draws, "draw")}; the odds between any two such texts change by at most e to that power).`;
  $("title").textContent = `The analyst’s view: a draw by ${asked.mechanism}, ε = ${asked.epsilon}`;
  $("attacker").replaceChildren(...told.pieces.map(guess));
  $("out").replaceChildren(...told.pieces.map((piece, number) => drawn(piece, number)));
  ($("out").querySelector('[aria-pressed="true"]') ?? $("out").querySelector("[role=button]"))?.setAttribute("tabindex", "0");
  $("count").textContent = alike(told);
  showTreatment(told);
  showWarnings(told, isCut);
}

const KIND_CLASS = { outside: "outside", numbers: "placeholder", identifiers: "placeholder" };

function guess(piece) {
  if (piece.kind === undefined) return document.createTextNode(piece.text);
  if (piece.kind !== "drawn") return make("span", { class: KIND_CLASS[piece.kind], title: KINDS[piece.kind] }, piece.drawn);
  if (piece.guess === null || piece.guess === undefined) return make("span", { class: "unseen-word", title: "no guess" }, piece.drawn);
  const sure = percent(piece.chance);
  return piece.right
    ? make("mark", { class: "right", title: `right, and ${sure} sure` }, "✓ ", piece.guess, make("span", { class: "unseen" }, " (right)"))
    : make("mark", { class: "wrong", title: `wrong; they were ${sure} sure` }, piece.guess);
}

// Not a button element: lines would break between it and the comma after it.
function drawn(piece, number) {
  if (piece.kind === undefined) return document.createTextNode(piece.text);
  if (piece.kind !== "drawn" && piece.kind !== "outside") return make("span", { class: KIND_CLASS[piece.kind], title: KINDS[piece.kind] }, piece.drawn);
  const differs = piece.was.toLowerCase() !== piece.drawn.toLowerCase();
  const look = piece.kind === "outside" ? "outside" : differs ? "changed" : "same";
  if (number === undefined) return make("span", { class: look }, piece.drawn);
  const word = make("span", { role: "button", class: look, tabindex: -1, title: piece.kind === "outside" ? KINDS.outside : differs ? `was: ${piece.was}` : "unchanged", "aria-pressed": String(number === picked) }, piece.drawn);
  return Object.assign(word, { was: piece.was, number });
}

const isName = ({ kind, was }, before) => (kind === "drawn" || kind === "outside") && /^\p{Lu}/u.test(was) && !/(^|[.!?…:\n]["'”’)\]]*)\s*["'“‘([]*$/u.test(before);

function showTreatment({ pieces, counts }) {
  let [names, before] = [0, ""];
  for (const piece of pieces) {
    if (piece.kind && isName(piece, before)) names += 1;
    before = piece.text ?? piece.drawn;
  }
  const parts = [
    counts.drawn && `${plural(counts.drawn, "word")} drawn${counts.repeated ? `, ${counts.repeated} of them with an equal word` : ""}.`,
    names && `${plural(names, "capitalised word")}, perhaps names: drawn like other words where the space knows them, else replaced at random.`,
    counts.outside && `${plural(counts.outside, "unknown word")} replaced by a draw that does not depend on ${counts.outside === 1 ? "it" : "them"}.`,
    counts.numbers && `${plural(counts.numbers, "number, date or time", "numbers, dates and times")} replaced by placeholders, at no loss.`,
    counts.identifiers && `${plural(counts.identifiers, "identifier")} (addresses, phones and the like) replaced by placeholders, at no loss.`,
    counts.dropped && `${plural(counts.dropped, "unknown word")} left out.`,
    counts.kept_raw && `${plural(counts.kept_raw, "unknown word")} released as ${counts.kept_raw === 1 ? "it is" : "they are"}.`,
    counts.left_alone && `${plural(counts.left_alone, "word")} left as ${counts.left_alone === 1 ? "it is" : "they are"}: everybody can read ${counts.left_alone === 1 ? "it" : "them"}.`,
  ];
  $("treatment").replaceChildren(...parts.filter(Boolean).map((part) => make("li", {}, part)));
}

function showWarnings({ counts, language }, isCut) {
  const unknown = counts.outside + counts.dropped + counts.kept_raw;
  const told = [
    language && `This text seems to be ${language}, and the space is of another language: its function words are taken for names, and little of the meaning is kept.`,
    unknown && `${plural(unknown, "word")} of ${plural(counts.drawn + unknown, "word")} to veil ${unknown === 1 ? "is" : "are"} unknown to the space; ${unknown === 1 ? "it keeps" : "they keep"} none of ${unknown === 1 ? "its" : "their"} meaning.`,
    isCut && `Only the first ${MOST_LETTERS.toLocaleString("en")} letters are explored. A release takes all.`,
  ];
  $("warnings").replaceChildren(...told.filter(Boolean).map((one) => make("li", {}, one)));
}

// ---- choosing a word

export function prepareWords(chosen) {
  const choose = (word) => {
    if (!word) return;
    $("out").querySelectorAll('[aria-pressed="true"]').forEach((one) => one.setAttribute("aria-pressed", "false"));
    word.setAttribute("aria-pressed", "true");
    picked = word.number;
    chosen(word.was);
  };
  $("out").addEventListener("click", ({ target }) => choose(target.closest("[role=button]")));
  $("out").addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(event.target.closest("[role=button]"));
      return;
    }
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const words = [...$("out").querySelectorAll("[role=button]")];
    const next = step && words[words.indexOf(document.activeElement) + step];
    if (!next) return;
    event.preventDefault();
    document.activeElement.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
