// The settings, and their place in the address. The text is never part of either.

const PLAIN = { space: "s", select: "w", oov: "o", case: "c" };

const usual = () => ({
  a: { mechanism: "", epsilon: null }, // null: not chosen yet, or unknown for this mechanism
  b: { mechanism: "", epsilon: null }, // the one to compare with; its ε follows from the first
  space: "",
  select: "content",
  oov: "replace",
  case: "sentence",
});

export const settings = usual();

export const hasSettings = () => new URLSearchParams(location.hash.slice(1)).has("m");

export function readAddress() {
  Object.assign(settings, usual());
  const told = new URLSearchParams(location.hash.slice(1));
  settings.a.mechanism = told.get("m") ?? "";
  if (Number(told.get("e")) > 0) settings.a.epsilon = Number(told.get("e"));
  settings.b.mechanism = told.get("vs") ?? "";
  for (const [name, letter] of Object.entries(PLAIN)) if (told.has(letter)) settings[name] = told.get(letter);
}

export function writeAddress() {
  const told = new URLSearchParams({ m: settings.a.mechanism });
  if (settings.a.epsilon) told.set("e", settings.a.epsilon);
  if (settings.b.mechanism) told.set("vs", settings.b.mechanism);
  for (const [name, letter] of Object.entries(PLAIN)) told.set(letter, settings[name]);
  history.replaceState(null, "", `#${told}`);
}

// What to send to the service, for one side.
export const choice = (side) => ({ mechanism: settings[side].mechanism, epsilon: settings[side].epsilon, space: settings.space });
export const way = (side) => ({ ...choice(side), select: settings.select, oov: settings.oov, case: settings.case });
