// The right half: one actor, its chart, what it waits for, what it remembers, what became of it.

import { byId, element } from './dom.js';
import { draw, mark } from './draw.js';
import { layoutOf } from './layout.js';
import { get } from './live.js';
import { lastArrows, liveStates } from './marks.js';
import { badge } from './table.js';
import { clock, eventText, moveText, span, toneOf, waitText } from './text.js';
import { movable } from './view.js';

/** @typedef {import('./types.js').Row} Row */
/** @typedef {import('./types.js').Definition} Definition */
/** @typedef {import('./types.js').JournalEntry} JournalEntry */
/** @typedef {{ row: Row, record: { snapshot: { value: unknown, context: unknown }, version: number, term: number, chartVersion: number } }} Actor */

/** @param {{ now: () => number, isPaused: (row: Row) => boolean }} options */
export function createDetail({ now, isPaused }) {
  /** @type {Map<string, Promise<Definition | null>>} */
  const charts = new Map();
  /** @type {{ layout: import('./layout.js').Layout, picture: SVGSVGElement } | null} */
  let shown = null;
  /** Whether every arrow bears its label; null for what suits the chart.
   * @type {boolean | null} */
  let isLabelled = null;
  let wanted = '';
  let again = false;
  let busy = false;

  /** @param {Row} row */
  const facts = (row) => [isPaused(row) && 'paused', factsOf(row, now())].filter(Boolean).join('  ·  ');

  /** @param {string} name */
  const chartOf = (name) => {
    const chart = charts.get(name) ?? /** @type {Promise<Definition | null>} */ (get(`/api/charts/${encodeURIComponent(name)}`));
    charts.set(name, chart);
    chart.catch(() => charts.delete(name));
    return chart;
  };

  /** @param {Definition} definition */
  const pictureOf = async (definition) => {
    const host = byId('chart');
    const layout = await layoutOf(definition, { width: host.clientWidth, height: host.clientHeight }, isLabelled);
    if (shown?.layout === layout) return shown.picture;
    const picture = draw(layout);
    picture.classList.toggle('labelled', layout.isLabelled);
    host.replaceChildren(picture);
    movable(host, picture, layout, toggleLabels);
    shown = { layout, picture };
    return picture;
  };

  /** @param {Actor} actor @param {readonly JournalEntry[]} entries */
  const showChart = async ({ row, record }, entries) => {
    const definition = await chartOf(row.chart);
    if (!definition) return hint(`This operator has no chart of the name ${row.chart}.`);
    const picture = await pictureOf(definition);
    const latest = entries[0];
    mark(picture, {
      live: liveStates(definition.root, record.snapshot.value),
      arrows: latest ? lastArrows(definition, latest) : [],
      tone: toneOf(row.state, row.reason),
    });
  };

  /** @param {string} text */
  const hint = (text) => {
    shown = null;
    byId('chart').replaceChildren(element('div', 'hint', [text]));
  };

  const load = async () => {
    const id = encodeURIComponent(wanted);
    const [actor, journal] = await Promise.all([
      wanted ? get(`/api/actor?id=${id}`) : null,
      wanted ? get(`/api/journal?actor=${id}`).catch(() => ({ entries: [] })) : { entries: [] },
    ]);
    const { entries } = /** @type {{ entries: readonly JournalEntry[] }} */ (journal);
    const found = /** @type {Actor | null} */ (actor);
    showTitle(found, found ? facts(found.row) : '');
    byId('waiting').replaceChildren(waitingList(found?.row ?? null, now()));
    byId('context').replaceChildren(element('div', 'tree', [found ? tree(found.record.snapshot.context) : '']));
    byId('journal').replaceChildren(journalList(entries));
    if (found) await showChart(found, entries);
    else hint(wanted ? 'This one is gone.' : 'Choose one on the left.');
  };

  const toggleLabels = () => {
    isLabelled = !shown?.layout.isLabelled;
    refresh().catch((error) => hint(String(error)));
  };

  /** Loads what is wanted now; what is asked for meanwhile is loaded once afterwards. */
  const refresh = async () => {
    again = busy;
    if (busy) return;
    busy = true;
    try {
      await load();
    } catch (error) {
      hint(error instanceof Error ? error.message : String(error));
    }
    busy = false;
    if (again) await refresh();
  };

  return {
    /** @param {string} actor */
    show: (actor) => {
      wanted = actor;
      refresh().catch((error) => hint(String(error)));
    },
    /** Only the texts that grow older. @param {Row | undefined} row */
    tick: (row) => {
      if (!row) return;
      byId('waiting').replaceChildren(waitingList(row, now()));
      const line = byId('title').querySelector('.facts');
      if (line) line.textContent = facts(row);
    },
  };
}

/** @param {Actor | null} actor @param {string} facts */
function showTitle(actor, facts) {
  if (!actor) return byId('title').replaceChildren();
  const { row, record } = actor;
  byId('title').replaceChildren(
    element('strong', 'mono', [row.name]),
    badge(row, row.state.replaceAll('.', ' · ').replaceAll('|', ' | ')),
    element('span', 'dim facts', [facts]),
    element('span', 'spacer'),
    element('span', 'dim mono', [`${row.chart} v${record.chartVersion} · write ${record.version} · term ${record.term}`]),
    ...(row.reason ? [element('div', 'why', [`${row.reason}${row.message ? `: ${row.message}` : ''}`])] : []),
  );
}

/** @param {Row} row @param {number} now */
const factsOf = ({ chart, pool, isRouted, node, ports, since }, now) =>
  [
    pool && `${isRouted ? 'RoutedIP' : 'pool'} ${pool}`,
    node && `${chart === 'vip-service' ? 'has' : 'on'} ${node}`,
    ports,
    since !== null && `for ${span(now - since)}`,
  ]
    .filter(Boolean)
    .join('  ·  ');

/** @param {Row | null} row @param {number} now */
function waitingList(row, now) {
  if (!row || row.waiting.length === 0) return element('div', 'dim', [row ? 'no job and no timer: the next event' : '—']);
  const cells = row.waiting.flatMap((one) => [
    element('span', '', [waitText(one, now)]),
    element('span', 'dim mono', [one.dueAt === null ? '' : clock(one.dueAt)]),
    element('span', 'dim mono move whole', [one.commandId]),
  ]);
  return element('div', 'lines waits', cells);
}

/** @param {readonly JournalEntry[]} entries */
function journalList(entries) {
  if (entries.length === 0) return element('div', 'dim', ['nothing yet']);
  const cells = entries.flatMap(({ at, event, from, to, note }, index) => {
    const text = element('span', 'move', [
      element('b', '', [eventText(event)]),
      `  ${moveText(from, to)}`,
      ...(note ? [element('span', 'dim', [`  ${note}`])] : []),
    ]);
    const time = element('span', 'at mono', [clock(at)]);
    time.title = new Date(at).toISOString();
    if (index === 0) text.classList.add('latest');
    return [time, text];
  });
  return element('div', 'lines journal', cells);
}

const TIME_KEY = /(At|Until)$/;

/** @param {unknown} value @param {string} [key] @returns {Node} */
function tree(value, key = '') {
  if (Array.isArray(value)) {
    if (value.length === 0) return element('span', 'nothing', ['none']);
    return element(
      'ol',
      '',
      value.map((item) => element('li', '', [tree(item)])),
    );
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    if (entries.length === 0) return element('span', 'nothing', ['none']);
    return element(
      'dl',
      '',
      entries.flatMap(([name, inner]) => branch(name, inner)),
    );
  }
  if (value === null || value === '') return element('span', 'nothing', [value === '' ? 'empty' : 'none']);
  const time = typeof value === 'number' && TIME_KEY.test(key) && value > 1e12 ? `  (${clock(value)})` : '';
  return element('span', 'mono', [String(value) + time]);
}

/** @param {string} name @param {unknown} inner */
function branch(name, inner) {
  const isNested = typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0;
  const nested = tree(inner, name);
  return isNested ? [element('dt', '', [name]), element('dd', '', []), nested] : [element('dt', '', [name]), element('dd', '', [nested])];
}
