// Hands what the operator says to the viewer in the frame. The viewer asks for it by saying that it is there; what was said before waits for that.

const RETRY_MS = 2_000;

const viewer = /** @type {HTMLIFrameElement} */ (document.getElementById('viewer'));
const chooser = /** @type {HTMLSelectElement} */ (document.getElementById('actor'));
const status = /** @type {HTMLElement} */ (document.getElementById('status'));
const viewerUrl = /** @type {HTMLAnchorElement} */ (document.getElementById('link')).href;
const viewerOrigin = new URL(viewerUrl).origin;

const chosen = new URLSearchParams(location.search).get('actor') ?? '';
let isThere = false;
/** @type {unknown[]} */
let waiting = [];

addEventListener('message', ({ origin, source, data }) => {
  if (origin !== viewerOrigin || source !== viewer.contentWindow || data?.type !== '@statelyai.connected') return;
  isThere = true;
  for (const message of waiting) tell(message);
  waiting = [];
});

/** @param {unknown} message */
function tell(message) {
  if (isThere) viewer.contentWindow?.postMessage(message, viewerOrigin);
  else waiting.push(message);
}

/** @param {string} text @param {string} tone */
function show(text, tone) {
  status.textContent = text;
  status.className = tone;
}

function connect() {
  const query = chosen ? `?actor=${encodeURIComponent(chosen)}` : '';
  const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws${query}`);
  socket.addEventListener('open', () => {
    // Everything is said again on each connection.
    waiting = [];
    show('live', 'ok');
  });
  socket.addEventListener('message', ({ data }) => tell(JSON.parse(data)));
  socket.addEventListener('close', () => {
    show('connection lost, trying again…', 'trouble');
    setTimeout(connect, RETRY_MS);
  });
}

async function fillChooser() {
  const actors = /** @type {{ actor: string }[]} */ (await (await fetch('/actors')).json());
  chooser.replaceChildren(new Option('the first hundred', ''), ...actors.map(({ actor }) => new Option(actor, actor)));
  chooser.value = chosen;
  chooser.addEventListener('change', () => location.assign(chooser.value ? `?actor=${encodeURIComponent(chooser.value)}` : '/'));
}

viewer.src = viewerUrl;
connect();
fillChooser().catch((error) => show(String(error), 'trouble'));
