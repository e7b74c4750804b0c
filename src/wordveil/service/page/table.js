// A small CSV: one column goes to the service, and the rest never leaves the browser.

import { batches, post } from "./api.js";
import { $, make, sentence } from "./dom.js";
import { way } from "./settings.js";

const MOST_BYTES = 2 << 20;
const SEPARATORS = [",", ";", "\t"];

// The separator: whichever is most frequent in the header line.
const separatorOf = (text) => {
  const [head] = text.split("\n", 1);
  const counts = SEPARATORS.map((separator) => head.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
};

function parse(text, separator) {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  const body = text.replace(/^\uFEFF/, "");
  for (let place = 0; place < body.length; place += 1) {
    const letter = body[place];
    if (quoted) {
      if (letter !== '"') cell += letter;
      else if (body[place + 1] === '"') {
        cell += '"';
        place += 1;
      } else quoted = false;
    } else if (letter === '"' && cell === "") quoted = true;
    else if (letter === separator) {
      row.push(cell);
      cell = "";
    } else if (letter === "\n") {
      rows.push([...row, cell.replace(/\r$/, "")]);
      row = [];
      cell = "";
    } else cell += letter;
  }
  if (quoted) throw new Error("the file ends inside a quoted cell; is it a CSV file?");
  if (cell !== "" || row.length) rows.push([...row, cell]);
  return rows;
}

const quote = (cell) => (/[",;\t\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
const write = (rows, separator) => rows.map((row) => row.map(quote).join(separator)).join("\r\n") + "\r\n";

async function read(file) {
  if (file.size > MOST_BYTES) throw new Error("the file is larger than 2 MB; use wordveil privatize for it.");
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new Error("the file is not in UTF-8; save it as CSV in UTF-8 and choose it again.");
  }
  const separator = separatorOf(text);
  const rows = parse(text, separator);
  if (rows.length < 2) throw new Error("the file needs a header line and at least one row.");
  return { rows, separator };
}

export function prepareTable(fail) {
  let table = null; // the rows, separator and name of the file
  let reading = 0; // counts the chosen files, so that a slow read does not replace a later file
  const told = $("table-told");
  const forget = () => {
    $("table-done").hidden = true;
    $("table-progress").hidden = true;
    URL.revokeObjectURL($("table-done").href);
  };
  const guarded = (work) => (event) => {
    event.preventDefault();
    fail(null);
    told.textContent = "";
    Promise.resolve().then(work).catch((error) => {
      $("table-progress").hidden = true;
      told.textContent = sentence(error); // here, too: the page's own place for problems may be out of sight
      fail(error);
    });
  };
  // While a column is being veiled, no other can be chosen, so that the download matches the panel.
  const allow = (on) => {
    $("file").disabled = !on;
    $("column").disabled = $("table-go").disabled = !on || !table;
  };

  $("file").addEventListener("change", guarded(async () => {
    forget();
    reading += 1;
    const mine = reading;
    table = null;
    $("column").replaceChildren();
    allow(true);
    const [file] = $("file").files;
    if (!file) return;
    let found;
    try {
      found = { ...(await read(file)), name: file.name };
    } catch (error) {
      if (mine !== reading) return;
      $("file").value = ""; // so that the same file can be chosen again once it is fixed
      throw error;
    }
    if (mine !== reading) return;
    table = found;
    const { rows } = table;
    rows[0].forEach((heading, number) => $("column").append(make("option", { value: number }, heading || `column ${number + 1}`)));
    const lengths = rows[0].map((_, number) => rows.slice(1, 50).reduce((sum, row) => sum + (row[number] ?? "").length, 0));
    $("column").value = lengths.indexOf(Math.max(...lengths));
    allow(true);
    told.textContent = `${(rows.length - 1).toLocaleString("en")} rows. The longest column is selected; choose another if you like.`;
  }));
  $("column").addEventListener("change", forget);

  $("table-form").addEventListener("submit", guarded(async () => {
    forget();
    const { rows, separator, name } = table;
    const column = Number($("column").value);
    const [head, ...body] = rows;
    const asked = way("a");
    const progress = $("table-progress");
    progress.hidden = false;
    progress.value = 0;
    allow(false);
    try {
      const veiled = [];
      let guarantee = null;
      for (const cells of batches(body.map((row) => row[column] ?? ""), (cell) => cell)) {
        const answer = await post("v1/privatize", { ...asked, text: cells });
        guarantee = answer.guarantee;
        veiled.push(...answer.results.map(({ text }) => text));
        progress.value = veiled.length / body.length;
      }
      const out = [head, ...body.map((row, number) => row.map((cell, place) => (place === column ? veiled[number] : cell)))];
      const done = $("table-done");
      done.href = URL.createObjectURL(new Blob([write(out, separator)], { type: "text/csv" }));
      done.download = name.replace(/(\.csv)?$/i, "-veiled.csv");
      done.hidden = false;
      told.textContent = `${veiled.length.toLocaleString("en")} ${veiled.length === 1 ? "cell" : "cells"} of ${head[column] || `column ${column + 1}`} veiled with ${asked.mechanism}, ε = ${asked.epsilon}. ${guarantee.sentence}`;
    } finally {
      allow(true);
    }
  }));
}
