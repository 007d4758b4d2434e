// The stream of changes, and what is known about the connection it comes over.

/** @typedef {import('./types.js').Row} Row */
/** @typedef {import('./types.js').Head} Head */
/** @typedef {{ all(head: Head, rows: readonly Row[]): void, changed(head: Head, rows: readonly Row[], gone: readonly string[]): void, lost(): void }} Listener */

/** The operator says something at least every 5 s; silence for longer means that the connection is dead although nobody closed it. */
const SILENCE_MS = 12_000;
const RETRY_MS = 2_000;

/** Listens until the page is closed; a lost connection is told once and tried again for ever.
 * @param {Listener} listener */
export function listen(listener) {
  const source = new EventSource('/api/stream');
  let isOver = false;
  /** @type {number | undefined} */
  let silence;

  const lost = () => {
    if (isOver) return;
    isOver = true;
    clearTimeout(silence);
    source.close();
    listener.lost();
    setTimeout(() => listen(listener), RETRY_MS);
  };
  /** @param {string} name @param {(data: Head & { rows: readonly Row[], gone: readonly string[] }) => void} handle */
  const on = (name, handle) =>
    source.addEventListener(name, (event) => {
      clearTimeout(silence);
      silence = window.setTimeout(lost, SILENCE_MS);
      handle(JSON.parse(event.data));
    });

  on('all', (data) => listener.all(data, data.rows));
  on('changes', (data) => listener.changed(data, data.rows, data.gone));
  on('heartbeat', (data) => listener.changed(data, [], []));
  source.addEventListener('error', lost);
}

/** @param {string} path @returns {Promise<unknown>} null when there is nothing of that name */
export async function get(path) {
  const response = await fetch(path);
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}
