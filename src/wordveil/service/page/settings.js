// The settings, and their place in the address. The text is never part of either.

const SIDES = { a: ["m", "e"], b: ["vs", "ve"] };
const PLAIN = { space: "s", select: "w", oov: "o", case: "c" };

const usual = () => ({
  a: { mechanism: "", epsilon: 4 },
  b: { mechanism: "laplace", epsilon: 7 },
  comparing: false,
  space: "",
  select: "content",
  oov: "replace",
  case: "sentence",
});

export const settings = usual();

export const hasSettings = () => new URLSearchParams(location.hash.slice(1)).has(SIDES.a[0]);

export function readAddress() {
  Object.assign(settings, usual());
  const told = new URLSearchParams(location.hash.slice(1));
  for (const [side, [mechanism, epsilon]] of Object.entries(SIDES)) {
    if (told.has(mechanism)) settings[side].mechanism = told.get(mechanism);
    if (Number(told.get(epsilon)) > 0) settings[side].epsilon = Number(told.get(epsilon));
  }
  settings.comparing = told.has("vs");
  for (const [name, letter] of Object.entries(PLAIN)) if (told.has(letter)) settings[name] = told.get(letter);
}

export function writeAddress() {
  const told = new URLSearchParams({ m: settings.a.mechanism, e: settings.a.epsilon });
  if (settings.comparing) {
    told.set("vs", settings.b.mechanism);
    told.set("ve", settings.b.epsilon);
  }
  for (const [name, letter] of Object.entries(PLAIN)) told.set(letter, settings[name]);
  history.replaceState(null, "", `#${told}`);
}

// What the service is asked with, for one side.
export const choice = (side) => ({ mechanism: settings[side].mechanism, epsilon: settings[side].epsilon, space: settings.space });
export const way = (side) => ({ ...choice(side), select: settings.select, oov: settings.oov, case: settings.case });
