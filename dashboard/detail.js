// The right half: one actor, its chart, what it waits for, what it remembers, what became of it.

import { createChartPane } from './chart-pane.js';
import { byId, element } from './dom.js';
import { get } from './live.js';
import { badge } from './table.js';
import { clock, eventText, moveText, span, waitText } from './text.js';
import { tree } from './tree.js';

/** @typedef {import('./types.js').Row} Row */
/** @typedef {import('./types.js').JournalEntry} JournalEntry */
/** @typedef {{ row: Row, record: { snapshot: { value: unknown, context: unknown }, version: number, term: number, chartVersion: number } }} Actor */

/** @param {{ now: () => number, isPaused: (row: Row) => boolean }} options */
export function createDetail({ now, isPaused }) {
  const chart = createChartPane(byId('chart'), (name) => get(`/api/charts/${encodeURIComponent(name)}`));
  let wanted = '';
  let again = false;
  let busy = false;

  /** @param {Row} row */
  const facts = (row) => [isPaused(row) && 'paused', factsOf(row, now())].filter(Boolean).join('  ·  ');

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
    if (!found) return chart.hint(wanted ? 'This one is gone.' : 'Choose one on the left.');
    const { row, record } = found;
    await chart.show({ ...row, value: record.snapshot.value, last: entries[0] ?? null });
  };

  /** Loads what is wanted now; what is asked for meanwhile is loaded once afterwards. */
  const refresh = async () => {
    again = busy;
    if (busy) return;
    busy = true;
    try {
      await load();
    } catch (error) {
      chart.hint(error instanceof Error ? error.message : String(error));
    }
    busy = false;
    if (again) await refresh();
  };

  return {
    /** @param {string} actor */
    show: (actor) => {
      wanted = actor;
      refresh().catch((error) => chart.hint(String(error)));
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
