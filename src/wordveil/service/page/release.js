// Releasing: the price, one draw, and what to do with it. There is no way to draw again.

import { hasKey, post } from "./api.js";
import { $, copy, sentence } from "./dom.js";
import { settings, way } from "./settings.js";

// Names a conversation: a text sent twice returns the same draws and costs nothing. Open tabs share the name, so that no
// tab draws again for a text that another has released. It is forgotten when the last tab closes.
const NAME = "wordveil-release";
const tabs = new BroadcastChannel(NAME);
tabs.onmessage = ({ data }) => {
  const name = sessionStorage.getItem(NAME);
  if (!data && name) tabs.postMessage(name);
  else if (data && !name) sessionStorage.setItem(NAME, data);
};
tabs.postMessage("");

function conversation() {
  let name = sessionStorage.getItem(NAME);
  if (!name) {
    name = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    sessionStorage.setItem(NAME, name);
    tabs.postMessage(name);
  }
  return name;
}

let [turn, abort] = [0, null];
let [shown, priced, total, count] = ["", 0, 0, 0]; // the request shown as released, the last price, and this tab's total loss and number of releases
let snippet = "curl";

const number = (value) => value.toLocaleString("en", { maximumFractionDigits: 1 });

function request(text) {
  const user = $("user").value.trim();
  return { ...way("a"), text, conversation: conversation(), ...(user ? { user } : {}) };
}

// Stops a request for a price. A release that is being paid for is never aborted.
export function stopPrice() {
  turn += 1;
  abort?.abort();
  $("release").disabled = true;
}

// Shows what a release would cost. Nothing is drawn.
export async function price(text, heard) {
  stopPrice();
  const mine = turn;
  abort = new AbortController();
  document.body.dataset.state = "waiting";
  $("release-told").textContent = "";
  const asked = request(text);
  showSnippet(asked.user);
  const isShown = shown === JSON.stringify(asked);
  $("released-part").classList.toggle("past", !isShown);
  $("release").hidden = isShown;
  if (!text.trim() || (!asked.user && !$("user-field").hidden)) {
    $("price").textContent = text.trim() ? "Say whose text it is." : "There is no text to release yet.";
    $("budget").textContent = "";
    document.body.dataset.state = "done";
    return;
  }
  try {
    const [told, { guarantee }] = await Promise.all([
      post("v1/price", asked, abort.signal),
      post("v1/privatize", { ...asked, text: [] }, abort.signal),
    ]);
    if (mine !== turn) return;
    heard(guarantee);
    priced = told.price ?? 0;
    const cost = told.price === null ? "its loss has no bound" : `it loses at most ${number(told.price)}`;
    const draws = told.draws === 1 ? "1 draw" : `${number(told.draws)} draws`;
    const before = count && told.draws ? ` ${count === 1 ? "A text was" : `${count} texts were`} released in this tab before; if this is about the same people, the losses add up, to ${number(total + priced)}.` : "";
    $("price").textContent = isShown
      ? "This text is released. Drawing it again would be a second release, and the losses add up, so there is no button for that."
      : told.draws ? `${draws}: ${cost}.${before}` : "Nothing new is drawn for this text, so it loses nothing more.";
    $("budget").textContent = told.budget_left === null ? "" : `Your budget has ${number(Math.max(0, told.budget_left))} left${told.fits ? "" : ", which is too little: choose a smaller ε or a shorter text"}.`;
    $("release").disabled = isShown || !told.fits || !text.trim();
    document.body.dataset.state = "done";
  } catch (error) {
    if (mine !== turn || error.name === "AbortError") return;
    document.body.dataset.state = "failed";
    $("price").textContent = "";
    refused(error);
  }
}

function refused(error) {
  if (error.code === "user-required") $("user-field").hidden = false;
  else $("release-told").textContent = sentence(error);
  if (error.status === 401) throw error;
}

export async function release(text, heard) {
  stopPrice();
  document.body.dataset.state = "releasing";
  $("release-told").textContent = "";
  const asked = request(text);
  const fields = ["text", "number", "epsilon", "user"].map($);
  fields.forEach((field) => (field.disabled = true)); // so that the page still shows what was asked for
  try {
    const told = await post("v1/privatize", asked);
    shown = JSON.stringify(asked);
    const veiled = told.results[0].text;
    $("released").value = veiled;
    URL.revokeObjectURL($("download").href);
    $("download").href = URL.createObjectURL(new Blob([veiled], { type: "text/plain" }));
    $("receipt").textContent = `Drawn once by ${asked.mechanism}, ε = ${asked.epsilon}. ${told.guarantee.sentence}`;
    $("released-part").hidden = false;
    if (!told.reused) {
      count += 1;
      total += priced;
    }
    heard(told.guarantee);
  } catch (error) {
    document.body.dataset.state = "failed";
    refused(error);
    return;
  } finally {
    fields.forEach((field) => (field.disabled = false));
  }
  await price(text, heard);
  $("released").focus();
}

// ---- the same without this page

const quote = (value) => `'${String(value).replaceAll("'", "'\\''")}'`;

const SNIPPETS = {
  curl: (asked, address) =>
    [
      `curl -sS ${address}v1/privatize \\`,
      ...(hasKey() ? ['  -H "Authorization: Bearer $WORDVEIL_KEY" \\'] : []),
      "  -H 'Content-Type: application/json' \\",
      `  -d ${quote(JSON.stringify({ text: "Your text.", ...asked }))}`,
    ].join("\n"),
  python: (asked, address) => {
    const how = Object.entries(asked).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const key = hasKey() ? ', key=os.environ["WORDVEIL_KEY"]' : "";
    return `${key ? "import os\n\n" : ""}from wordveil.client import Client\n\nclient = Client(${JSON.stringify(address)}${key})\nprint(client.privatize("Your text.", ${how.join(", ")}).text)`;
  },
  command: (asked) =>
    `wordveil privatize text.txt -o veiled.txt --mechanism ${asked.mechanism} --epsilon ${asked.epsilon} \\\n  --space ${quote(asked.space)} --select ${asked.select} --oov ${asked.oov} --case ${asked.case} \\\n  --once file --language en`,
};

function showSnippet(user = $("user").value.trim()) {
  const asked = user ? { ...way("a"), user } : way("a");
  if (settings.a.epsilon) $("snippet").textContent = SNIPPETS[snippet](asked, new URL(".", location.href.split("#")[0]).href);
}

export function prepareRelease() {
  $("copy").addEventListener("click", () => copy($("released").value, "Copied.", "Your browser does not let this page copy. Select the text instead."));
  $("copy-snippet").addEventListener("click", () => copy($("snippet").textContent, "Copied.", "Your browser does not let this page copy. Select the lines instead."));
  const buttons = [...document.querySelectorAll("[data-snippet]")];
  for (const button of buttons)
    button.addEventListener("click", () => {
      snippet = button.dataset.snippet;
      buttons.forEach((one) => one.setAttribute("aria-pressed", one === button));
      showSnippet();
    });
}
