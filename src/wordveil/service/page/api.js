// Calls to the service. The page sends nothing to any other host.

export class Problem extends Error {
  constructor(status, sentence, code = "") {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

const KEY = "wordveil-key"; // for this tab only
const MOST_TEXTS = 100;
const MOST_LETTERS = 20_000;
const TRIES = 3; // for a request that finds the service busy

export function useKey(key) {
  // the browser would refuse a character that no header can hold, as if the service were gone
  if (/[^ -~\u00a0-\u00ff]/.test(key)) throw new Problem(401, "this key contains a character that no key has; check how it was copied.");
  sessionStorage.setItem(KEY, key);
}

export const hasKey = () => Boolean(sessionStorage.getItem(KEY));
export const dropKey = () => sessionStorage.removeItem(KEY);

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export async function call(method, path, body, signal) {
  const headers = {};
  const key = sessionStorage.getItem(KEY);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  for (let left = TRIES; left > 0; left -= 1) {
    try {
      answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "the service does not answer; is it still running?");
    }
    const wait = Number(answer.headers.get("Retry-After"));
    if (answer.status !== 503 || !wait || left === 1) break;
    await pause(1000 * wait);
  }
  const told = await answer.json().catch(() => ({ detail: "the answer of the service could not be read." }));
  if (!answer.ok) throw new Problem(answer.status, told.detail, told.code);
  return told;
}

export const get = (path, signal) => call("GET", path, undefined, signal);
export const post = (path, body, signal) => call("POST", path, body, signal);

// Groups texts into batches that the service accepts: not too many, and not too long.
export function* batches(items, textOf) {
  let [batch, letters] = [[], 0];
  for (const item of items) {
    const more = textOf(item).length;
    if (batch.length === MOST_TEXTS || (batch.length && letters + more > MOST_LETTERS)) {
      yield batch;
      [batch, letters] = [[], 0];
    }
    batch.push(item);
    letters += more;
  }
  if (batch.length) yield batch;
}

// Waits for a calibration and reports its progress.
export async function calibrated(request, tell) {
  let job = await post("v1/calibrate", request);
  while (job.status === "waiting" || job.status === "running") {
    tell(job);
    await pause(500);
    job = await get(`v1/calibrate/${job.id}`);
  }
  if (job.status === "failed") throw new Problem(422, job.problem);
  return job.result;
}
