// Wires the page together.

import { dropKey, get, hasKey, post, useKey } from "./api.js";
import { $, copy, make, percent, sentence, short } from "./dom.js";
import { drawAnew, explore, prepareWords, showNothing, stop, usualSeconds } from "./explore.js";
import { at, curveOf, drawPlot, equal, loadCurve, matching, measure, rate } from "./plot.js";
import { prepareRelease, price, release, stopPrice } from "./release.js";
import { choice, hasSettings, readAddress, settings, writeAddress } from "./settings.js";
import { prepareTable } from "./table.js";
import { showNoWord, showWord } from "./word.js";

const STEPS = 1000;
const METRIC = "metric differential privacy";
const FIRST_PRESET = "balanced";
const PLAIN = ["space", "select", "oov", "case"];

let mechanisms = [];
let spaces = [];
let facts = null; // the examples, the presets, and whether this key may explore its own texts
let [picked, looking] = [null, null]; // the selected word, and the controller that aborts its request
let turn = 0; // counts choices of a mechanism, so that a late curve does not replace a newer one

const isReleasing = () => document.body.dataset.mode === "release";

function fail(error) {
  if (error?.name === "AbortError") return;
  if (error?.status === 401) return askForKey();
  $("problem-bar").hidden = !error;
  $("problem").textContent = error ? sentence(error) : "";
  $("retry").hidden = !(error?.status === 0 || error?.status >= 500); // errors that may have passed by themselves
}

// Without a key, somebody has done nothing wrong, so just ask. Report a wrong key beside the field.
function askForKey() {
  $("key-told").textContent = hasKey() ? "This key was not accepted. Check that it was copied whole." : "";
  dropKey();
  $("key-form").hidden = false;
  $("main").hidden = true;
  $("problem-bar").hidden = true;
  document.body.dataset.state = "locked";
  $("key").focus();
}

const soon = (work, ms) => {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(() => work().catch(fail), ms);
  };
};

// ---- ε and the presets

const limits = () => mechanisms[0] ?? { smallest_epsilon: 0.01, largest_epsilon: 1000 };

function span() {
  const points = curveOf(settings.a.mechanism);
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  if (!points) return [Math.max(0.1, least), Math.min(100, most)];
  // A curve that starts higher belongs to a mechanism that takes no smaller ε.
  const low = rate(points[0]) < 0.5 ? points[0].epsilon / 2 : points[0].epsilon;
  const lowest = Math.min(low, 0.8 * (presetEpsilon("strong") ?? low));
  return [Math.max(lowest, least), Math.min(points[points.length - 1].epsilon * 1.25, most)];
}

// The recommended mechanism: the service's default if it fits the space.
const recommended = () => (mechanisms.filter(fits).find((one) => one.default) ?? mechanisms.filter(fits)[0]).name;

// The ε of a preset: measured, or that at which the recommended mechanism is guessed as often; null if neither is known.
function presetEpsilon(preset) {
  const measured = facts.presets[settings.space] ?? {};
  const { mechanism } = settings.a;
  const best = recommended();
  return measured[mechanism]?.[preset] ?? (measured[best] ? equal(best, measured[best][preset], mechanism) : null);
}

function showEpsilon(isTyped = false) {
  const { epsilon } = settings.a;
  const [low, high] = span();
  if (epsilon) $("epsilon").value = Math.round((STEPS * Math.log(epsilon / low)) / Math.log(high / low));
  $("epsilon").setAttribute("aria-valuetext", epsilon ? `ε ${epsilon}` : "none chosen");
  const number = $("number");
  if (!isTyped) number.value = epsilon ?? ""; // do not change what somebody is typing
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  const differs = epsilon && Number(number.value) !== epsilon;
  $("used").textContent = differs ? `Using ε = ${epsilon}: it must be between ${least} and ${most.toLocaleString("en")}.` : "";
  const values = Object.keys(facts.protection).map((preset) => [preset, presetEpsilon(preset)]);
  const chosen = values.find(([, value]) => value !== null && value === epsilon)?.[0] ?? "";
  for (const one of document.getElementsByName("preset")) {
    one.checked = one.value === chosen;
    one.disabled = Boolean(one.value) && !values.find(([preset]) => preset === one.value)?.[1];
  }
  const missing = values.filter(([, value]) => !value).map(([preset]) => preset);
  const { mechanism } = settings.a;
  $("preset-told").textContent = chosen
    ? `${chosen[0].toUpperCase()}${chosen.slice(1)}: ${protects(chosen)}`
    : missing.length
      ? `${missing.length < values.length ? `${missing.join(" and ")} cannot be chosen` : "There are no presets"} for ${mechanism} on this space: no ε with that protection was measured.`.replace(/^./, (letter) => letter.toUpperCase())
      : "";
}

// What a preset promises. On the speeches nothing was guessed without the draws, so there is no figure for the gain.
function protects(preset) {
  const { attacker, gain } = facts.protection[preset];
  const measured = facts.presets[settings.space]?.[settings.a.mechanism];
  const who = measured ? "the strongest attacker we have" : `the strongest attacker we have (measured on ${recommended()}, at the ε where words are guessed as often one at a time)`;
  return `on public speeches, ${who} guesses at most ${percent(attacker)} of the words. For your own texts, use wordveil plan to choose ε. It also bounds what the draws add: ${percent(gain)} of the words that cannot be guessed without them.`;
}

function setEpsilon(epsilon, isTyped = false) {
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  settings.a.epsilon = epsilon && Math.min(Math.max(epsilon, least), most);
  followEpsilon();
  showEpsilon(isTyped);
}

// The other mechanism gets the ε that protects as much, or is not shown.
function followEpsilon() {
  const { a, b } = settings;
  b.epsilon = b.mechanism ? equal(a.mechanism, a.epsilon, b.mechanism) : null;
  const points = curveOf(a.mechanism);
  const range = points ? ` ${a.mechanism} was measured from ε = ${short(points[0].epsilon)} to ${short(points[points.length - 1].epsilon)}.` : "";
  $("compare-told").textContent = b.mechanism && !b.epsilon ? `These are not compared: no measured ε of ${b.mechanism} protects as much as ${a.mechanism} does here.${range}` : "";
}

// ---- showing results

function showPromise(promise) {
  const { mechanism } = settings.a;
  const none = promise.notion === "none";
  const isOpen = $("promise").querySelector("details")?.open ?? matchMedia("(min-width: 54rem)").matches;
  const audit = mechanisms.find(({ name }) => name === mechanism)?.audit ?? "none";
  $("unit").textContent = promise.notion === METRIC ? `per ${promise.unit}` : "";
  $("promise").replaceChildren(
    make(
      "div",
      { class: `promise${none ? " none" : ""}` },
      make("p", { class: "sentence" }, promise.sentence),
      make("p", { class: "formula" }, promise.formula),
      make(
        "details",
        { open: isOpen },
        make("summary", {}, "Limits"),
        make(
          "ul",
          {},
          none ? null : make("li", {}, "The guarantee is for one word. Over a text of n words the losses add up."),
          ...promise.caveats.map((caveat) => make("li", {}, caveat)),
          promise.claim ? make("li", {}, `The paper claims: ${promise.claim}`) : null,
          make("li", {}, `Audit of this version: ${audit}.`),
        ),
      ),
    ),
  );
}

const isExample = (text) => facts.examples.some((example) => example.text === text);

// Requests what the page should show now. Answers to earlier requests are dropped.
async function show() {
  fail(null);
  writeAddress();
  const text = $("text").value;
  const { mechanism, epsilon } = settings.a;
  if (!epsilon) {
    stop("done");
    stopPrice();
    showNothing(`No ε is chosen for ${mechanism}.`, "Its ε has a different unit, and no value with the same protection was measured. Measure one under The trade-off, which takes a minute, or set ε yourself.");
    $("price").textContent = "Choose an ε first.";
    $("unit").textContent = "";
    $("promise").replaceChildren(make("p", { class: "empty" }, "It depends on ε."));
    forgetPicked();
    drawPlot(measureNow);
    return undefined;
  }
  if (isReleasing()) {
    stop("waiting");
    return price(text, showPromise);
  }
  stopPrice();
  drawPlot(measureNow);
  if (facts.own_texts || isExample(text)) return explore(text, showPromise);
  stop("done");
  showNothing("You can release your own text, but not explore it.", "Your key has a budget, and free draws would be a way around it. Explore the examples to choose an ε, then release your text once.");
  return undefined;
}

const showSoon = soon(show, 120);

async function showPicked() {
  if (!picked || !settings.a.epsilon || isReleasing()) return;
  looking?.abort();
  looking = new AbortController();
  const { signal } = looking;
  try {
    const told = await post("v1/words", { ...choice("a"), word: picked }, signal);
    if (!signal.aborted) showWord(told, pick);
  } catch (error) {
    if (signal.aborted) return;
    if (error.status !== 404) throw error;
    showNoWord(sentence(error));
  }
}

function pick(word) {
  picked = word;
  showPicked().catch(fail);
}

const pickSoon = soon(showPicked, 250);

function forgetPicked() {
  looking?.abort();
  picked = null;
  showNoWord("Select a word of the draw to see what it may become, and how likely.", "The words around it appear here.");
}

function changed() {
  if (document.body.dataset.state !== "releasing") document.body.dataset.state = "waiting";
  $("release").disabled = true;
  showSoon();
  pickSoon();
}

// ---- choices

async function chooseMechanism(name) {
  turn += 1;
  const mine = turn;
  const before = { ...settings.a };
  const preset = document.querySelector("[name=preset]:checked")?.value;
  stop("waiting");
  stopPrice();
  await Promise.all([loadCurve(name), loadCurve(recommended())]);
  if (mine !== turn) return;
  settings.a.mechanism = name;
  offerComparisons();
  // ε has another unit now: carry over the same protection, or nothing
  setEpsilon((preset && presetEpsilon(preset)) || equal(before.mechanism, before.epsilon, name) || null);
  changed();
}

async function measureNow(mechanism) {
  try {
    await measure(mechanism, () => drawPlot(measureNow));
    if (settings.a.mechanism !== mechanism || settings.a.epsilon) return;
    const best = curveOf(recommended());
    const usual = facts.presets[settings.space]?.[recommended()]?.[FIRST_PRESET];
    setEpsilon(Number(short(matching(curveOf(mechanism), best && usual ? at(best, usual, rate) : 0.1))));
    changed();
  } catch (error) {
    fail(error);
  }
}

async function chooseCompared(name) {
  settings.b.mechanism = name;
  if (name) await loadCurve(name);
  if (settings.b.mechanism !== name) return;
  followEpsilon();
  changed();
}

const fits = ({ kinds }) => kinds.includes(spaces.find(({ name }) => name === settings.space).kind);

// Offers other mechanisms for comparison, and says what this one promises.
function offerComparisons() {
  const { a, b } = settings;
  if (b.mechanism === a.mechanism) b.mechanism = "";
  const others = mechanisms.filter((one) => fits(one) && one.name !== a.mechanism);
  $("compare").replaceChildren(make("option", { value: "" }, "nothing"), ...others.map((one) => make("option", { value: one.name }, one.name)));
  $("compare").value = b.mechanism;
  const { promises, audit, unproven } = mechanisms.find(({ name }) => name === a.mechanism);
  $("recommended").textContent = `${a.mechanism}: ${promises}.${unproven ? " Unproven." : audit === "broken" ? " The audit broke this." : ""} Two mechanisms are compared where words are guessed equally often.`;
}

async function chooseSpace(name) {
  settings.space = name;
  const usable = mechanisms.filter(fits);
  const has = (wanted) => usable.some((one) => one.name === wanted);
  if (!has(settings.a.mechanism)) settings.a = { mechanism: recommended(), epsilon: null };
  if (!has(settings.b.mechanism)) settings.b.mechanism = "";
  $("mechanism").replaceChildren(...usable.map((one) => make("option", { value: one.name }, one.name === recommended() ? `${one.name} (recommended)` : one.name)));
  $("mechanism").value = settings.a.mechanism;
  offerComparisons();
  await Promise.all([recommended(), settings.a.mechanism, settings.b.mechanism].filter(Boolean).map(loadCurve));
}

function chooseMode(mode) {
  document.body.dataset.mode = mode;
  for (const one of document.getElementsByName("mode")) one.checked = one.value === mode;
  changed();
}

async function begin() {
  facts = await get("v1/explore"); // first and alone: without a key, all would be refused
  [mechanisms, spaces] = await Promise.all([get("v1/mechanisms"), get("v1/spaces")]);
  spaces = spaces.filter(({ kind }) => mechanisms.some(({ kinds }) => kinds.includes(kind)));
  $("key-form").hidden = true;
  $("problem-bar").hidden = true;
  $("main").hidden = false;
  for (const [name, seconds] of Object.entries(facts.seconds)) usualSeconds.set(name, seconds);
  $("user-field").hidden = !facts.needs_user;
  for (const [preset, { attacker }] of Object.entries(facts.protection)) document.querySelector(`[name=preset][value=${preset}] + span small`).textContent = `at most ${percent(attacker)}`;
  readAddress();
  turn += 1;
  if (!spaces.some(({ name }) => name === settings.space)) settings.space = spaces[0].name;
  $("space").replaceChildren(...spaces.map(({ name, words }) => make("option", { value: name, title: `${words.toLocaleString("en")} words` }, name)));
  $("examples").replaceChildren(
    make("span", { class: "note" }, "Try:"),
    ...facts.examples.map(({ name, text }) => make("button", { type: "button", class: "quiet", onclick: () => useText(text) }, name)),
  );
  for (const name of PLAIN) {
    $(name).value = settings[name];
    if (!$(name).value) $(name).selectedIndex = 0; // the address may name something that does not exist
    settings[name] = $(name).value;
  }
  await chooseSpace(settings.space);
  const { smallest_epsilon: least, largest_epsilon: most } = limits();
  setEpsilon(settings.a.epsilon ?? presetEpsilon(FIRST_PRESET) ?? (curveOf(settings.a.mechanism) ? curveOf(settings.a.mechanism)[0].epsilon : Math.min(Math.max(4, least), most)));
  if (!$("text").value) $("text").value = facts.examples[0].text;
  await show();
  pickSoon();
}

function useText(text) {
  $("text").value = text;
  picked = null;
  changed();
}

const begun = () => begin().catch((error) => {
  if (error.status !== 401) document.body.dataset.state = "failed";
  fail(error);
});

function listen() {
  prepareWords(pick);
  prepareRelease();
  prepareTable(fail);
  $("epsilon").addEventListener("input", (event) => {
    const [low, high] = span();
    setEpsilon(Number(short(low * (high / low) ** (event.target.value / STEPS))));
    changed();
  });
  $("number").addEventListener("input", (event) => {
    if (Number(event.target.value) > 0) {
      setEpsilon(Number(event.target.value), true);
      changed();
    } else showEpsilon(true);
  });
  $("number").addEventListener("blur", () => showEpsilon());
  for (const one of document.getElementsByName("preset"))
    one.addEventListener("change", () => {
      if (!one.value) return $("number").focus();
      setEpsilon(presetEpsilon(one.value));
      return changed();
    });
  for (const one of document.getElementsByName("mode")) one.addEventListener("change", () => chooseMode(one.value));
  $("to-release").addEventListener("click", () => {
    chooseMode("release");
    document.querySelector("[name=mode]:checked").focus();
  });
  $("text").addEventListener("input", changed);
  $("user").addEventListener("input", changed);
  $("retry").addEventListener("click", () => ($("main").hidden ? begun() : changed()));
  $("again").addEventListener("click", () => {
    drawAnew();
    changed();
  });
  $("release").addEventListener("click", () => release($("text").value, showPromise).catch(fail));
  $("mechanism").addEventListener("change", (event) => chooseMechanism(event.target.value).catch(fail));
  $("compare").addEventListener("change", (event) => chooseCompared(event.target.value).catch(fail));
  $("space").addEventListener("change", (event) => {
    settings.a.epsilon = null; // it belonged to the other space
    chooseSpace(event.target.value)
      .then(() => {
        setEpsilon(presetEpsilon(FIRST_PRESET) ?? curveOf(settings.a.mechanism)?.[0].epsilon ?? null);
        changed();
      })
      .catch(fail);
  });
  for (const name of PLAIN.slice(1))
    $(name).addEventListener("change", (event) => {
      settings[name] = event.target.value;
      changed();
    });
  window.addEventListener("hashchange", () => {
    if (hasSettings()) begun(); // somebody opened a link in this tab
    else writeAddress(); // an anchor or nothing: no settings to read
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address holds the settings
    $("text").focus();
  });
  $("share").addEventListener("click", () => {
    writeAddress();
    copy(location.href, "Copied. The link contains the settings, not the text.", "Your browser does not let this page copy. Copy the link from the address bar instead.");
  });
  $("key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const key = $("key").value.trim();
    $("key").value = "";
    try {
      useKey(key);
    } catch (error) {
      $("key-told").textContent = sentence(error);
      return;
    }
    begun();
  });
}

listen();
begun();
