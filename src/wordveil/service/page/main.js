// Puts the page together.

import { get, onBudget, post, useKey } from "./api.js";
import { $, make, sentence, short } from "./dom.js";
import { at, attackers, curveOf, drawPlot, loadCurve, matching } from "./plot.js";
import { choice, hasSettings, readAddress, settings, way, writeAddress } from "./settings.js";
import { prepareTable } from "./table.js";
import { Veiled } from "./veiled.js";
import { showNoWord, showWord } from "./word.js";

const SAMPLE =
  "The committee met in Paris on Tuesday. Its chair, a doctor from Lyon, asked the hospital for more nurses and cheaper medicine. " +
  "Nobody in the room knew that her brother had lost his job at the bank.";
const STEPS = 1000;
const SIDES = ["a", "b"];
const METRIC = "metric differential privacy";

let mechanisms = [];
let spaces = [];
let picked = null; // the word that is looked at, and on which side
let looking = null; // what stops the request for it
const promises = {}; // what is promised on each side, and what it was asked with
let spends = false; // whether the key has a budget: then nothing is drawn but by Draw again
const veiled = {};

function fail(error) {
  if (error?.name === "AbortError") return;
  $("problem").hidden = !error;
  $("problem").textContent = error ? sentence(error) : "";
  if (error?.status === 401) $("key-form").hidden = false;
}

const soon = (work, ms) => {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => work().catch(fail), ms);
  };
};

// ---- ε

const limits = () => mechanisms[0] ?? { smallest_epsilon: 0.01, largest_epsilon: 1000 };

function span(side) {
  const points = curveOf(settings[side].mechanism);
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  if (!points) return [Math.max(0.1, least), Math.min(100, most)];
  // A curve that begins with more is one of a mechanism that takes no smaller ε.
  const low = points[0].adversary < 0.1 ? points[0].epsilon / 2 : points[0].epsilon;
  const high = points[points.length - 1].epsilon * 1.25;
  return [Math.max(low, least), Math.min(high, most)];
}

function showEpsilon(side) {
  const { epsilon } = settings[side];
  const [low, high] = span(side);
  $(`epsilon-${side}`).value = Math.round((STEPS * Math.log(epsilon / low)) / Math.log(high / low));
  $(`epsilon-${side}`).setAttribute("aria-valuetext", `ε ${epsilon}`);
  const number = $(`number-${side}`);
  if (document.activeElement !== number) number.value = epsilon; // else somebody is typing
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  const differs = Number(number.value) !== epsilon;
  $(`used-${side}`).textContent = differs ? `Using ε = ${epsilon}: it must be between ${least} and ${most.toLocaleString("en")}.` : "";
}

function setEpsilon(side, epsilon) {
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  settings[side].epsilon = Math.min(Math.max(epsilon, least), most);
  showEpsilon(side);
}

// ---- what is shown

function showPromises() {
  const shown = settings.comparing ? SIDES : ["a"];
  const parts = shown.filter((side) => promises[side]).map((side) => {
    const promise = promises[side];
    const { mechanism, epsilon } = promise.asked;
    const facts = mechanisms.find(({ name }) => name === mechanism);
    const none = promise.notion === "none";
    return make(
      "div",
      { class: `promise ${side}${none ? " none" : ""}` },
      settings.comparing ? make("p", { class: "who" }, `${mechanism}, ε = ${epsilon}`) : null,
      make("p", { class: "sentence" }, promise.sentence),
      make("p", { class: "formula" }, promise.formula),
      make(
        "details",
        { open: !settings.comparing },
        make("summary", {}, "Limits"),
        make(
          "ul",
          {},
          none ? null : make("li", {}, "The guarantee is for one word. Over a text of n words the losses add up."),
          ...promise.caveats.map((caveat) => make("li", {}, caveat)),
          promise.claim ? make("li", {}, `The paper claims: ${promise.claim}`) : null,
          make("li", {}, `Audit of this version: ${facts?.audit ?? "none"}.`),
        ),
      ),
    );
  });
  $("promise").replaceChildren(...parts);
  for (const side of shown) {
    const promise = promises[side];
    if (!promise) continue;
    $(`unit-${side}`).textContent = promise.notion === METRIC ? `per ${promise.unit}` : "";
    $(`told-${side}`).classList.toggle("none", promise.notion === "none");
    $(`told-${side}`).textContent = promise.sentence;
    const { mechanism, epsilon } = promise.asked;
    const points = curveOf(mechanism);
    if (points) $(`told-${side}`).append(make("br"), attackers(points, epsilon));
  }
}

const shownSides = () => (settings.comparing ? SIDES : ["a"]);

// Dims what is promised for other settings than those chosen now.
function markPromises() {
  const isOld = (side) => JSON.stringify(promises[side]?.asked) !== JSON.stringify(way(side));
  for (const side of SIDES) $(`told-${side}`).classList.toggle("waiting", isOld(side));
  $("promise").classList.toggle("waiting", shownSides().some(isOld));
}

async function showVeiled() {
  if (spends) return showPrice();
  fail(null);
  writeAddress();
  markPromises();
  drawPlot(fail);
  return draw();
}

const draw = () => Promise.all(shownSides().map((side) => veiled[side].show($("text").value)));

// With a key that has a budget: what would be promised, which costs nothing.
async function showPrice() {
  fail(null);
  writeAddress();
  markPromises();
  drawPlot(fail);
  for (const side of SIDES) veiled[side].mark($("text").value);
  await Promise.all(shownSides().map((side) => veiled[side].look()));
}

function hearBudget(left) {
  spends = left !== null;
  const sum = left?.toLocaleString("en", { maximumFractionDigits: 2, roundingMode: "floor" });
  const told = "This key has a budget: every draw costs the most that it can lose, and nothing is drawn until you press Draw again.";
  $("budget").textContent = spends ? `${told}${sum ? ` ${sum} is left.` : ""}` : "";
}

// Draws at once what was asked for by hand. What is being paid for is waited for, not given up.
async function drawAgain() {
  const text = $("text").value;
  if (!spends) {
    shownSides().forEach((side) => veiled[side].forget());
    return showVeiled();
  }
  fail(null);
  const isNew = shownSides().some((side) => veiled[side].isStale(text));
  if (!isNew) shownSides().forEach((side) => veiled[side].forget()); // else what stands there already is not paid for again
  $("again").disabled = true;
  try {
    await draw();
  } finally {
    $("again").disabled = false;
    for (const side of SIDES) veiled[side].mark($("text").value); // it may have been typed on
  }
  return undefined;
}

// Asks for no text, so that nothing is drawn before it is known whether drawing has a price.
async function learnBudget() {
  try {
    await post("v1/privatize", { ...way("a"), text: [] });
  } catch (error) {
    if (error.status !== 403) throw error;
    hearBudget(undefined); // a budget, and settings that have no price
  }
}

async function showPicked() {
  if (!picked) return;
  looking?.abort();
  looking = new AbortController();
  const waiting = (on) => ["word", "map"].forEach((id) => $(id).classList.toggle("waiting", on));
  waiting(true);
  try {
    showWord(await post("v1/words", { ...choice(picked.side), word: picked.word }, looking.signal), (word) => pick(picked.side, word));
  } catch (error) {
    if (error.status !== 404) throw error;
    showNoWord(sentence(error));
  }
  waiting(false);
}

function pick(side, word) {
  picked = { side, word };
  showPicked().catch(fail);
}

const veilSoon = soon(showVeiled, 120);
const pickSoon = soon(showPicked, 250);

function changed() {
  veilSoon();
  pickSoon();
}

// ---- choices

const turns = { a: 0, b: 0 }; // counts the choices on each side: a curve that comes late is not of the last one
const rates = {}; // how often a guess was right before the choices whose curves are not here yet

async function chooseMechanism(side, name) {
  turns[side] += 1;
  const turn = turns[side];
  const before = curveOf(settings[side].mechanism);
  rates[side] ??= before && at(before, settings[side].epsilon, (point) => point.adversary);
  settings[side].mechanism = name;
  const rate = rates[side];
  try {
    await loadCurve(name);
  } finally {
    if (turn === turns[side]) delete rates[side];
  }
  if (turn !== turns[side]) return;
  const points = curveOf(name);
  const other = side === "b" ? curveOf(settings.a.mechanism) : null;
  const wanted = other ? at(other, settings.a.epsilon, (point) => point.adversary) : rate;
  // the same chance of being guessed is what makes two mechanisms comparable
  if (points && wanted) setEpsilon(side, Number(short(matching(points, wanted))));
  showEpsilon(side);
  changed();
}

function compare(on) {
  settings.comparing = on;
  for (const id of ["side-b", "card-b"]) $(id).hidden = !on;
  $("compare").setAttribute("aria-pressed", on);
  document.querySelector(".controls").classList.toggle("two", on);
  showPromises();
}

const fits = ({ kinds }) => kinds.includes(spaces.find(({ name }) => name === settings.space).kind);

function listMechanisms() {
  const usable = mechanisms.filter(fits);
  for (const side of SIDES) {
    const options = usable.map(({ name, promises: promised, audit, unproven }) => make("option", { value: name }, `${name} – ${unproven ? "unproven" : audit === "broken" ? "broken by the audit" : promised}`));
    $(`mechanism-${side}`).replaceChildren(...options);
    if (!usable.some(({ name }) => name === settings[side].mechanism)) settings[side].mechanism = usable[side === "a" ? 0 : usable.length > 1 ? 1 : 0].name;
    $(`mechanism-${side}`).value = settings[side].mechanism;
  }
}

async function chooseSpace(name) {
  settings.space = name;
  listMechanisms();
  await Promise.all(SIDES.map((side) => loadCurve(settings[side].mechanism)));
  SIDES.forEach(showEpsilon);
}

async function begin() {
  [mechanisms, spaces] = await Promise.all([get("v1/mechanisms"), get("v1/spaces")]);
  spaces = spaces.filter(({ kind }) => mechanisms.some(({ kinds }) => kinds.includes(kind)));
  $("key-form").hidden = true;
  readAddress();
  for (const side of SIDES) {
    turns[side] += 1;
    delete rates[side];
  }
  if (!spaces.some(({ name }) => name === settings.space)) settings.space = spaces[0].name;
  $("space").replaceChildren(...spaces.map(({ name, words }) => make("option", { value: name }, `${name} (${words.toLocaleString("en")} words)`)));
  for (const name of ["space", "select", "oov", "case"]) {
    $(name).value = settings[name];
    if (!$(name).value) $(name).selectedIndex = 0; // an address may name what does not exist
    settings[name] = $(name).value;
  }
  await chooseSpace(settings.space);
  SIDES.forEach((side) => setEpsilon(side, settings[side].epsilon));
  compare(settings.comparing);
  await learnBudget();
  await showVeiled();
  if (picked) pickSoon();
  else veiled.a.chooseFirst(); // so that there is something to see
}

// Both sides are made of one template: what its ids end in says which side it is.
function unfold(template, side) {
  const part = $(template).content.firstElementChild.cloneNode(true);
  part.dataset.side = side;
  for (const one of [part, ...part.querySelectorAll("[id], [for]")])
    for (const name of ["id", "for", "aria-describedby", "aria-labelledby"])
      if (one.getAttribute(name)?.endsWith("-")) one.setAttribute(name, one.getAttribute(name) + side);
  $(template).before(part);
}

function listen() {
  for (const side of SIDES) {
    unfold("side", side);
    unfold("card", side);
    document.querySelector(`label[for="mechanism-${side}"]`).textContent = side === "a" ? "Mechanism" : "Compared with";
    $(`whose-${side}`).textContent = side === "a" ? "" : "of the second mechanism";
    $(`number-${side}`).setAttribute("aria-label", side === "a" ? "ε as a number" : "ε of the second mechanism as a number");
  }
  compare(false);
  for (const side of SIDES) {
    veiled[side] = new Veiled(side, pick, (which, guarantee, asked) => {
      promises[which] = { ...guarantee, asked };
      showPromises();
      markPromises();
    });
    $(`mechanism-${side}`).addEventListener("change", (event) => chooseMechanism(side, event.target.value).catch(fail));
    $(`epsilon-${side}`).addEventListener("input", (event) => {
      const [low, high] = span(side);
      setEpsilon(side, Number(short(low * (high / low) ** (event.target.value / STEPS))));
      changed();
    });
    $(`number-${side}`).addEventListener("input", (event) => {
      if (Number(event.target.value) > 0) {
        setEpsilon(side, Number(event.target.value));
        changed();
      } else showEpsilon(side);
    });
    $(`number-${side}`).addEventListener("blur", () => showEpsilon(side));
  }
  $("text").addEventListener("input", veilSoon);
  $("again").addEventListener("click", () => drawAgain().catch(fail));
  $("compare").addEventListener("click", () => {
    compare(!settings.comparing);
    if (settings.comparing) chooseMechanism("b", settings.b.mechanism).catch(fail);
    else changed();
  });
  $("space").addEventListener("change", (event) => chooseSpace(event.target.value).then(changed).catch(fail));
  for (const name of ["select", "oov", "case"])
    $(name).addEventListener("change", (event) => {
      settings[name] = event.target.value;
      changed();
    });
  window.addEventListener("hashchange", () => {
    if (hasSettings()) begin().catch(fail); // a link that was opened where the page was
    else writeAddress(); // a place on the page, or nothing: no settings to take over
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address holds the settings
    $("text").focus();
  });
  $("share").addEventListener("click", () => share());
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = $("key").value.trim();
    $("key").value = "";
    try {
      useKey(key);
    } catch (error) {
      fail(error);
      return;
    }
    fail(null);
    begin().catch(fail);
  });
  onBudget(hearBudget);
  prepareTable(fail);
}

async function share() {
  writeAddress();
  try {
    await navigator.clipboard.writeText(location.href);
    say("Copied. The link contains the settings, not the text.", 3500);
  } catch {
    // browsers let a page copy only over HTTPS or on this machine, and only where it is allowed
    say("Your browser does not let this page copy. Copy the link from the address bar instead.", 12_000);
  }
}

function say(told, ms) {
  $("toast").textContent = told;
  setTimeout(() => ($("toast").textContent === told ? ($("toast").textContent = "") : null), ms);
}

$("text").value = SAMPLE;
listen();
begin().catch(fail);
