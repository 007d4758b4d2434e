// Puts the page together: what the operator says goes into the rows, and what the person chooses decides which of them are shown.

import { createDetail } from './detail.js';
import { byId, element, linksTo } from './dom.js';
import { get, listen } from './live.js';
import { createPlan } from './plan.js';
import { counted, kindOf, listed, outerState, ownerOf, pausedOwners } from './rows.js';
import { createTable } from './table.js';
import { clock, followerText, span, toneOf } from './text.js';

/** @typedef {import('./types.js').Row} Row */
/** @typedef {import('./types.js').Head} Head */
/** @typedef {import('./rows.js').View} View */

/** @type {Map<string, Row>} */
const rows = new Map();
/** Pools and RoutedIPs that are paused.
 * @type {ReadonlySet<string>} */
let paused = new Set();
/** @type {View} */
const view = { kind: 'addresses', text: '', pool: '', state: '', sort: 'state', descending: false };
/** @type {Head | null} */
let head = null;
/** When the connection was lost, by this machine's clock; null while it stands. */
let lostAt = /** @type {number | null} */ (null);
/** How much the operator's clock is ahead of this machine's, ms. */
let ahead = 0;

const now = () => (lostAt ?? Date.now()) + ahead;
const selected = () => decodeURIComponent(location.hash.slice(1));
/** @param {Row} row */
const isPaused = (row) => paused.has(ownerOf(row));
const detail = createDetail({ now, isPaused });
const plan = createPlan(() => paint());
const table = createTable({ now, isPaused, withheld: plan.of, select: (actor) => location.replace(`#${encodeURIComponent(actor)}`) });

const NOTHING_YET = {
  addresses: 'No addresses yet.\nApply a FloatingIPPool or a RoutedIP and they show up here.',
  pools: 'No pools yet.\nApply a FloatingIPPool and it shows up here.',
  routed: 'No RoutedIPs yet.\nApply a class and a RoutedIP and it shows up here.',
  services: 'No Services yet.\nApply an IPGroup and a Service of type LoadBalancer and it shows up here.',
  others: 'Nothing here yet.',
};

let painting = false;
/** Many changes in one frame are painted once. */
function paint() {
  if (painting) return;
  painting = true;
  requestAnimationFrame(() => {
    painting = false;
    paused = pausedOwners(rows.values());
    paintFilters();
    paintHeader();
    table.show(listed(rows.values(), view), selected());
  });
}

function paintFilters() {
  const kinds = /** @type {const} */ ([
    ['addresses', 'Addresses'],
    ['pools', 'Pools'],
    ['routed', 'RoutedIPs'],
    ['services', 'Services'],
    ['others', 'Other'],
  ]);
  byId('kinds').replaceChildren(
    ...kinds.map(([kind, text]) => toggle(text, view.kind === kind, () => Object.assign(view, { kind, state: '' }))),
  );

  const pools = [...new Set([...rows.values()].map(ownerOf).filter(Boolean))].sort();
  const chooser = /** @type {HTMLSelectElement} */ (byId('pool'));
  const options = ['', ...pools];
  if (chooser.options.length !== options.length || options.some((pool, index) => chooser.options[index]?.value !== pool)) {
    const all = pools.some((pool) => pool.startsWith('RoutedIP ')) ? 'any pool, RoutedIP' : 'every pool';
    chooser.replaceChildren(...options.map((pool) => new Option(pool || all, pool)));
    chooser.value = pools.includes(view.pool) ? view.pool : '';
    view.pool = chooser.value;
  }

  const all = counted(rows.values(), view);
  /** @type {Map<string, Row[]>} */
  const byState = new Map();
  for (const row of all) byState.set(outerState(row), [...(byState.get(outerState(row)) ?? []), row]);
  if (view.state !== '' && !byState.has(view.state)) byState.set(view.state, []);
  const chips = [...byState].sort(([a], [b]) => a.localeCompare(b)).map(([state, of]) => chip(state, of.length, toneOf(state, '')));
  byId('chips').replaceChildren(chip('', all.length, ''), ...chips);

  const empty = byId('empty');
  const isEmpty = listed(rows.values(), view).length === 0;
  empty.hidden = !isEmpty || head === null;
  empty.textContent = emptyText();
  paintHead();
}

function emptyText() {
  if (head && !head.leading) return 'This replica runs no actors: it is not the leader.';
  if ([...rows.values()].some((row) => kindOf(row) === view.kind)) return 'Nothing matches the filter.';
  return NOTHING_YET[view.kind];
}

/** @param {string} state @param {number} count @param {string} tone */
function chip(state, count, tone) {
  const button = toggle('', view.state === state, () => Object.assign(view, { state }));
  button.className = tone;
  button.append(`${state || 'All'} `, element('b', '', [String(count)]));
  return button;
}

/** @param {string} text @param {boolean} pressed @param {() => void} press */
function toggle(text, pressed, press) {
  const button = element('button', '', [text]);
  button.setAttribute('type', 'button');
  button.setAttribute('aria-pressed', String(pressed));
  button.addEventListener('click', () => {
    press();
    paint();
  });
  return button;
}

function paintHead() {
  const columns = /** @type {const} */ ([
    ['name', view.kind === 'addresses' ? 'Address' : 'Name'],
    ['state', 'State'],
    ['node', view.kind === 'services' ? 'Address' : 'Node'],
    ['since', 'Since'],
  ]);
  const buttons = columns.map(([sort, text]) => {
    const button = toggle(text, view.sort === sort, () =>
      Object.assign(view, { sort, descending: view.sort === sort && !view.descending }),
    );
    if (view.sort === sort) button.setAttribute('aria-sort', view.descending ? 'descending' : 'ascending');
    return button;
  });
  byId('head').replaceChildren(...buttons);
}

function paintHeader() {
  const leadership = byId('leadership');
  const connection = byId('connection');
  leadership.textContent = head ? (head.leading ? `leader · term ${head.term}` : 'not the leader') : '';
  leadership.className = `pill ${head?.leading ? 'ok' : 'trouble'}`;
  connection.textContent = lostAt === null ? (head ? 'live' : 'connecting') : 'reconnecting';
  connection.className = `pill ${lostAt === null && head ? 'ok' : 'trouble'}`;
  document.body.classList.toggle('stale', lostAt !== null);
  const notice = noticeText();
  byId('notice').hidden = notice === '';
  if (byId('notice').textContent !== notice) byId('notice').textContent = notice;
}

function noticeText() {
  if (lostAt !== null) {
    const since = span(Date.now() - lostAt);
    return `No connection to the operator for ${since}. What you see is as of ${clock(lostAt).slice(0, 8)}. Trying again…`;
  }
  return head && !head.leading ? followerText(head) : '';
}

/** @param {Head} next */
function heard(next) {
  head = next;
  lostAt = null;
  ahead = next.now - Date.now();
  plan.heard(next);
  paint();
}

listen({
  all: (next, all) => {
    rows.clear();
    for (const row of all) rows.set(row.actor, row);
    paused = pausedOwners(rows.values());
    heard(next);
    if (!rows.has(selected()) && !selected()) chooseFirst();
    else detail.show(selected());
  },
  changed: (next, changed, gone) => {
    for (const row of changed) rows.set(row.actor, row);
    for (const actor of gone) rows.delete(actor);
    heard(next);
    if (changed.some(({ actor }) => actor === selected()) || gone.includes(selected())) detail.show(selected());
  },
  lost: () => {
    lostAt ??= Date.now();
    paint();
  },
});

function chooseFirst() {
  const first = listed(rows.values(), view)[0];
  if (first) location.replace(`#${encodeURIComponent(first.actor)}`);
  else detail.show('');
}

addEventListener('hashchange', () => {
  paint();
  detail.show(selected());
});
byId('search').addEventListener('input', (event) => {
  view.text = /** @type {HTMLInputElement} */ (event.target).value;
  paint();
});
byId('pool').addEventListener('change', (event) => {
  view.pool = /** @type {HTMLSelectElement} */ (event.target).value;
  paint();
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  byId('search').focus();
});
// Times grow older without any news.
setInterval(() => {
  table.render();
  detail.tick(rows.get(selected()));
  paintHeader();
}, 1000);

get('/api/about').then((about) => {
  const { links, notes, version } = /** @type {{ links: Record<string, string>, notes: string[], version: string }} */ (about);
  byId('links').replaceChildren(...linksTo(links), ...notes.map((text) => element('span', 'pill', [text])));
  document.querySelector('h1')?.setAttribute('title', `version ${version}`);
}, console.error);
