// Exploring: a draw to look at, as an analyst and as an attacker would read it. Nothing here is a release.

import { pause, post } from "./api.js";
import { $, make, percent } from "./dom.js";
import { alone, curveOf } from "./plot.js";
import { choice, settings, way } from "./settings.js";

const MOST_LETTERS = 7900; // that the service explores at once
const AGAIN = 1500; // milliseconds between requests while the attacker is being prepared
const MANY = 0.25; // the share of unknown words from which the page suggests a reason
const ASKED_EVERY = 1000; // milliseconds between questions how far a mechanism is
const KINDS = { outside: "unknown word", numbers: "number, date or time", identifiers: "identifier", dropped: "left out" };

const fresh = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// How many seconds a mechanism takes to make, if the service has not made it before.
export const usualSeconds = new Map();
const readSeconds = new Map(); // how many seconds the attacker last took to read a draw of it

let draw = fresh(); // names the draw: under one name, words stay as they are while somebody types
let [turn, abort] = [0, null];
let picked = null; // the number of the selected word

export const drawAnew = () => (draw = fresh());

// Stops what is under way. Its answers are never shown.
export function stop(state) {
  turn += 1;
  abort?.abort();
  document.body.dataset.state = state;
  $("busy").hidden = true;
}

// Says that there is nothing to look at, and why.
export function showNothing(title, more = "") {
  $("answer").textContent = $("docked").textContent = title;
  $("hint").textContent = more;
  for (const id of ["answer-more", "public", "loss", "count"]) $(id).textContent = "";
  for (const id of ["out", "attacker", "other", "treatment", "warnings"]) $(id).replaceChildren();
  $("sketch").hidden = $("other-card").hidden = true;
  $("again").disabled = true;
  document.body.dataset.found = "";
}

// Draws for the text, shows the result, and passes on the guarantee. Drops answers that are out of date.
export async function explore(text, heard) {
  stop("waiting");
  const mine = turn;
  abort = new AbortController();
  const { signal } = abort;
  const begun = { since: Date.now(), share: 0, who: false, mechanism: way("a").mechanism, signal };
  const ticking = setInterval(() => tick(begun), 500);
  const asked = { ...way("a"), text: beginning(text), draw };
  try {
    for (;;) {
      const told = await post("v1/explore", asked, signal);
      if (mine !== turn) return;
      show(told, asked, text.length > MOST_LETTERS);
      heard(told.guarantee);
      if (!told.preparing) {
        if (begun.told?.ready) readSeconds.set(asked.mechanism, (Date.now() - begun.since) / 1000);
        break;
      }
      if (!begun.who) Object.assign(begun, { who: true, since: Date.now() - AGAIN }); // count from the attacker's start
      if (told.progress !== begun.share) [begun.share, begun.at] = [told.progress, Date.now()];
      await pause(AGAIN);
      if (mine !== turn) return;
    }
    await compareWith(asked, signal);
    if (mine === turn) document.body.dataset.state = "done";
  } catch (error) {
    if (mine !== turn) return; // a newer request shows its own result or problem
    document.body.dataset.state = "failed";
    if ($("sketch").hidden) showNothing("");
    throw error;
  } finally {
    clearInterval(ticking);
    if (mine === turn) $("busy").hidden = true;
  }
}

// The part of a text that is explored, cut between words.
const beginning = (text) => (text.length > MOST_LETTERS ? text.slice(0, MOST_LETTERS + 1).replace(/\S+$/u, "") || text.slice(0, MOST_LETTERS) : text);

// Shows the progress and the time left, as far as known.
function tick(begun) {
  const { since, share, at, who } = begun;
  const seconds = Math.round((Date.now() - since) / 1000);
  if (seconds < 1) return;
  $("busy").hidden = false;
  const usual = begun.told?.ready ? readSeconds.get(begun.mechanism) : usualSeconds.get(begun.mechanism);
  let [part, left] = [share, share && (at - since) / share / 1000 - seconds]; // as of the last progress
  if (!who) {
    askHowFar(begun);
    const told = begun.told?.ready ? {} : begun.told ?? {};
    left = told.seconds_left ?? (usual && usual - seconds);
    part = told.progress || (usual && Math.min(seconds / usual, 0.95));
  }
  const bar = $("busy").querySelector("progress");
  if (part) bar.value = part;
  else bar.removeAttribute("value");
  const far = left > 0 ? `About ${duration(Math.ceil(left))} left.` : part ? "It takes longer than usual: the server is busy." : seconds < 3 ? "" : `${duration(seconds)} so far.`;
  const what = who ? `The attacker learns what ${begun.mechanism} does at this ε, once.` : begun.told?.ready ? "The attacker reads this draw." : `${begun.mechanism} is being made for this ε.`;
  $("busy-told").textContent = `${what}${who && share ? ` ${percent(share)} done.` : ""} ${far}`;
}

// Asks the service how far a mechanism is, one question at a time.
async function askHowFar(begun) {
  if (begun.isAsking) return;
  begun.isAsking = true;
  begun.told = await post("v1/prepare?wait=0", choice("a"), begun.signal).catch(() => null);
  await pause(ASKED_EVERY);
  begun.isAsking = false;
}

const duration = (seconds) => (seconds < 90 ? `${seconds} s` : `${Math.round(seconds / 60)} min`);

async function compareWith(asked, signal) {
  const on = Boolean(settings.b.mechanism && settings.b.epsilon);
  $("other-card").hidden = !on;
  if (!on) return;
  const told = await post("v1/explore", { ...asked, ...way("b"), guess: false }, signal);
  if (signal.aborted) return;
  const { mechanism, epsilon } = settings.b;
  $("other-title").textContent = `What the analyst would read from ${mechanism} at ε = ${epsilon}, where words are guessed as often`;
  $("other").replaceChildren(...told.pieces.map((piece) => drawn(piece)));
  $("other-count").textContent = alike(told);
}

const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
const alike = ({ alike: near, words }) => (words ? `${near.toLocaleString("en")} of ${plural(words, "drawn word")} came out as the word itself or one of its 50 most similar.` : "");

// The answer to the headline: what the strongest attacker at hand guesses in this very draw.
function answer({ words, guessed, preparing }) {
  if (guessed === null) return preparing ? "The attacker is getting ready …" : "No attacker here can try.";
  if (!guessed) return `None of ${plural(words, "word")}, in this draw.`;
  return `Yes, ${guessed === 1 ? "one" : guessed} of ${plural(words, "word")}.`;
}

const capital = (name) => `${name[0].toUpperCase()}${name.slice(1)}`;

function who({ words, guessed, attacker, preparing }, { mechanism }) {
  if (guessed !== null)
    return `${capital(attacker.name)} (the ${attacker.reader} reader, the strongest on this server) guesses ${guessed} of ${plural(words, "veiled word")}: ${percent(guessed / words)}. Somebody with a larger model, or who knows you, guesses more.`;
  return preparing ? "" : `No reader on this server can attack ${mechanism} on this space. That does not make it safer.`;
}

// What was measured in advance at this ε: the strongest attacker on public speeches, or else one without context.
function showPublic({ public: one, words }, { mechanism, epsilon }) {
  const points = settings.select === "content" && curveOf(mechanism);
  $("public-title").textContent = one ? "Public speeches" : "In general";
  $("public").textContent = !words ? "" : one ? `${one.sentence} This is the strongest attacker we tried.` : points ? alone(points, epsilon) : "";
}

function show(told, asked, isCut) {
  if (!told.pieces.length) {
    showNothing("There is no text yet.", "Type or paste one, or choose an example.");
    return;
  }
  $("answer").textContent = told.words ? answer(told) : "There is no word to guess here.";
  $("hint").textContent = told.words ? "" : "No word of this text is drawn. See below what happens to it.";
  $("answer-more").textContent = told.words ? who(told, asked) : "";
  showPublic(told, asked);
  if (!settings.b.mechanism || !settings.b.epsilon) $("other-card").hidden = true;
  document.body.dataset.found = told.guessed ? "some" : "";
  $("docked").textContent = $("answer").textContent; // on a phone the answer stays beside ε
  $("loss").textContent = told.loss === null
    ? "With these settings the loss has no bound."
    : `It loses at most ${told.loss.toLocaleString("en", { maximumFractionDigits: 1 })} (${plural(told.draws, "draw")}): the odds between any two such texts change by at most e to that power.`;
  $("title").replaceChildren("What the analyst reads: ", make("span", { class: "nowrap" }, `${asked.mechanism}, ε = ${asked.epsilon}`));
  $("attacker").replaceChildren(...(told.preparing ? [make("span", { class: "unseen-word" }, "Guesses appear here when the attacker is ready.")] : told.pieces.map(guess)));
  $("out").replaceChildren(...told.pieces.map((piece, number) => drawn(piece, number)));
  ($("out").querySelector('[aria-pressed="true"]') ?? $("out").querySelector("[role=button]"))?.setAttribute("tabindex", "0");
  $("count").textContent = alike(told);
  $("sketch").hidden = $("again").disabled = false;
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
  const many = (count, one, others) => (count === 1 ? one : others);
  const parts = [
    [counts.drawn, `${many(counts.drawn, "word is", "words are")} drawn${counts.repeated ? `, ${counts.repeated} with an equal word before` : ""}`],
    [names, `capitalised ${many(names, "word, perhaps a name", "words, perhaps names")}: drawn if the space knows ${many(names, "it", "them")}, otherwise replaced at random`],
    [counts.outside, `unknown ${many(counts.outside, "word is", "words are")} replaced by a draw that does not depend on ${many(counts.outside, "it", "them")}`],
    [counts.numbers, `${many(counts.numbers, "number, date or time becomes a placeholder", "numbers, dates and times become placeholders")}, at no loss`],
    [counts.identifiers, `${many(counts.identifiers, "identifier (an address, a phone and the like) becomes a placeholder", "identifiers (addresses, phones and the like) become placeholders")}, at no loss`],
    [counts.dropped, `unknown ${many(counts.dropped, "word is", "words are")} left out`],
    [counts.kept_raw, `unknown ${many(counts.kept_raw, "word is released as it is", "words are released as they are")}`],
    [counts.left_alone, `${many(counts.left_alone, "word is left as it is: everybody can read it", "words are left as they are: everybody can read them")}`],
  ];
  const lines = parts.filter(([count]) => count).map(([count, told]) => make("li", {}, make("b", {}, count.toLocaleString("en")), " ", make("span", {}, told)));
  $("treatment").replaceChildren(...lines);
  $("treatment-title").hidden = !lines.length;
}

function showWarnings({ counts, language }, isCut) {
  const unknown = counts.outside + counts.dropped + counts.kept_raw;
  const told = [
    language && `This text seems to be ${language}, but the space is for another language. Its function words are taken for names, and little of its meaning survives.`,
    unknown && `${plural(unknown, "word")} of ${plural(counts.drawn + unknown, "word")} to veil ${unknown === 1 ? "is" : "are"} unknown to the space; ${unknown === 1 ? "it keeps" : "they keep"} none of ${unknown === 1 ? "its" : "their"} meaning.${!language && unknown > MANY * (counts.drawn + unknown) ? " Is it in another language, or full of names?" : ""}`,
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
