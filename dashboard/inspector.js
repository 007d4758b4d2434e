// Puts the inspector together: what the operator says goes to the viewer in the frame while that answers, and into our own view always.

import { byId } from './dom.js';
import { Model, statusOf } from './inspector-model.js';
import { createOwnView } from './inspector-own.js';
import { createViewer } from './inspector-viewer.js';
import { get } from './live.js';
import { OBSERVES } from './plan.js';

/** @typedef {import('./types.js').Leadership} Leadership */

const RETRY_MS = 2_000;
/** The operator says something every second; silence for longer means that the connection is dead although nobody closed it. */
const SILENCE_MS = 10_000;
const CHOICE = 'inspector';

const about = /** @type {Leadership & { viewer: string }} */ (await get('/about'));
const { host } = new URL(about.viewer);
const chosen = new URLSearchParams(location.search).get('actor') ?? '';
const model = new Model();
/** @type {Leadership | null} */
let leadership = null;
let isConnected = false;
/** What the person chose; null for the viewer while it answers.
 * @type {'viewer' | 'own' | null} */
let choice = localStorage.getItem(CHOICE) === 'own' ? 'own' : null;
/** Whoever is busy in our own view is not taken away from it by a viewer that answers at last. */
let isBusy = false;
/** @type {import('./inspector-viewer.js').Presence} */
let presence = 'off';
let isShown = false;

byId('observes').hidden = !about.observes;
byId('observes').textContent = OBSERVES;

const own = createOwnView(model);
const viewer = createViewer({
  frame: /** @type {HTMLIFrameElement} */ (byId('viewer')),
  url: about.viewer,
  arrived: () => model.introductions(),
  changed: (next) => {
    presence = next;
    paint();
  },
});

function paint() {
  const isLeading = leadership?.leading ?? true;
  const isOffered = choice !== 'own' && (presence === 'there' || presence === 'waiting');
  isShown = isOffered && (choice === 'viewer' || !isBusy);
  const { text, tone } = statusOf({ isConnected, isLeading, viewer: presence, isShown, host });
  byId('status').textContent = text;
  byId('status').className = `pill ${tone}`;
  byId('follower').hidden = isLeading;
  byId('leader').textContent = leadership?.leader ? `The leader is ${leadership.leader}.` : 'No leader is known.';
  byId('reach').hidden = !leadership?.reach;
  byId('command').textContent = leadership?.reach ?? '';
  byId('viewer').hidden = !isShown || !isLeading;
  byId('own').hidden = isShown || !isLeading;
  byId('show-viewer').setAttribute('aria-pressed', String(isShown));
  byId('show-own').setAttribute('aria-pressed', String(!isShown));
  document.body.classList.toggle('stale', !isConnected);
  own.paint();
}

function connect() {
  const query = chosen ? `&actor=${encodeURIComponent(chosen)}` : '';
  const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/ws?page${query}`);
  const wait = () => window.setTimeout(() => socket.close(), SILENCE_MS);
  let silence = wait();
  socket.addEventListener('message', ({ data }) => {
    clearTimeout(silence);
    silence = wait();
    const message = JSON.parse(data);
    if (message.type === 'routedip.leadership') return lead(message);
    model.hear(message);
    viewer.tell(message);
    own.paint();
  });
  socket.addEventListener('close', () => {
    clearTimeout(silence);
    isConnected = false;
    paint();
    setTimeout(connect, RETRY_MS);
  });
}

/** Every actor is said again after a connection, and when somebody else leads. Most of the time it is only a sign of life.
 * @param {Leadership} next */
function lead(next) {
  if (isConnected && JSON.stringify(next) === JSON.stringify(leadership)) return;
  const isNew = !isConnected || leadership?.leading !== next.leading || leadership.term !== next.term;
  leadership = next;
  isConnected = true;
  if (isNew) {
    model.restart();
    // A replica that does not lead has nothing to draw.
    if (!next.leading) viewer.stop();
    else if (choice !== 'own') viewer.start();
    fillChooser().catch(console.error);
  }
  paint();
}

async function fillChooser() {
  const actors = /** @type {{ actor: string }[]} */ (await get('/actors'));
  const chooser = /** @type {HTMLSelectElement} */ (byId('actor'));
  chooser.replaceChildren(new Option('the first hundred', ''), ...actors.map(({ actor }) => new Option(actor, actor)));
  if (chosen && !actors.some(({ actor }) => actor === chosen)) chooser.append(new Option(chosen, chosen));
  chooser.value = chosen;
}

byId('actor').addEventListener('change', (event) => {
  const { value } = /** @type {HTMLSelectElement} */ (event.target);
  location.assign(value ? `?actor=${encodeURIComponent(value)}` : '/');
});
byId('show-viewer').addEventListener('click', () => {
  choice = 'viewer';
  localStorage.removeItem(CHOICE);
  if (leadership?.leading && (presence === 'off' || presence === 'silent')) viewer.start();
  paint();
});
byId('show-own').addEventListener('click', () => {
  choice = 'own';
  localStorage.setItem(CHOICE, 'own');
  viewer.stop();
});
for (const kind of ['pointerdown', 'keydown']) {
  byId('own').addEventListener(kind, () => {
    isBusy = true;
  });
}

connect();
