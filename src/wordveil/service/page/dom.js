// Helpers that make elements. Text is only ever set as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const draw = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export const percent = (share) => {
  const value = 100 * share;
  return `${value >= 10 || value === 0 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : value >= 0.01 ? value.toFixed(2) : "<0.01"}%`;
};

export const short = (number) => String(Number(number.toPrecision(3)));

export function say(told, ms = 3500) {
  $("toast").textContent = told;
  setTimeout(() => ($("toast").textContent === told ? ($("toast").textContent = "") : null), ms);
}

// Browsers let a page copy only over HTTPS or on this machine, and only with permission.
export async function copy(text, done, refused) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say(refused, 12_000);
  }
}

// An error as a sentence.
export const sentence = ({ message }) => `${message.slice(0, 1).toUpperCase()}${message.slice(1)}`;
