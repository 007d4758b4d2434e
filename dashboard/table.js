// The table. Only the rows in sight are in the page, so that ten thousand cost no more than twenty.

import { byId, element } from './dom.js';
import { outerState } from './rows.js';
import { innerState, span, toneOf, waitsFor } from './text.js';

/** @typedef {import('./types.js').Row} Row */

const ROW_HEIGHT = 54;
/** Rows drawn beyond either edge, so that scrolling shows no gap. */
const MARGIN = 6;

/** @param {{ now: () => number, isPaused: (row: Row) => boolean, withheld: (row: Row) => string, select: (actor: string) => void }} options */
export function createTable({ now, isPaused, withheld, select }) {
  const scroller = byId('rows');
  const canvas = byId('canvas');
  /** @type {readonly Row[]} */
  let rows = [];
  let selected = '';

  const render = () => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - MARGIN);
    const last = Math.min(rows.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW_HEIGHT) + MARGIN);
    canvas.style.height = `${rows.length * ROW_HEIGHT}px`;
    canvas.replaceChildren(...rows.slice(first, last).map((row, index) => rowElement(row, first + index)));
  };

  /** @param {Row} row @param {number} index */
  const rowElement = (row, index) => {
    const line = element('div', 'row', [
      cell([element('div', 'mono', [row.name]), element('div', 'second', [row.pool || row.chart])]),
      cell([
        element('div', '', [badge(row, outerState(row))]),
        pausedOr(row, withheld(row) || waitsFor(row, now()) || innerState(row.state)),
      ]),
      cell([element('div', 'mono', [row.node || '—']), row.reason ? second(row.reason, 'why', row.message) : second(row.ports)]),
      cell([element('div', 'mono', [row.since === null ? '—' : span(now() - row.since)]), second(tries(row))], 'right'),
    ]);
    line.style.top = `${index * ROW_HEIGHT}px`;
    line.setAttribute('role', 'option');
    line.setAttribute('aria-selected', String(row.actor === selected));
    line.dataset.actor = row.actor;
    line.title = row.message;
    return line;
  };

  /** @param {Row} row @param {string} text */
  const pausedOr = (row, text) => {
    const line = second(text);
    if (isPaused(row)) line.prepend(element('span', 'paused', ['paused']), text ? ' · ' : '');
    return line;
  };

  canvas.addEventListener('click', (event) => {
    const actor = event.target instanceof Element ? event.target.closest('.row')?.getAttribute('data-actor') : null;
    if (actor) select(actor);
  });
  scroller.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -rows.length, End: rows.length }[event.key];
    if (!step) return;
    event.preventDefault();
    const index = rows.findIndex(({ actor }) => actor === selected);
    const row = rows[Math.min(rows.length - 1, Math.max(0, index + step))];
    if (row) select(row.actor);
  });
  scroller.addEventListener('scroll', render);
  new ResizeObserver(render).observe(scroller);

  return {
    /** @param {readonly Row[]} next @param {string} actor */
    show: (next, actor) => {
      const jump = actor !== selected;
      rows = next;
      selected = actor;
      render();
      if (jump)
        reveal(
          scroller,
          rows.findIndex((row) => row.actor === actor),
        );
    },
    render,
  };
}

/** @param {HTMLElement} scroller @param {number} index */
function reveal(scroller, index) {
  if (index < 0) return;
  const top = index * ROW_HEIGHT;
  if (top < scroller.scrollTop) scroller.scrollTop = top;
  else if (top + ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW_HEIGHT - scroller.clientHeight;
}

/** @param {Row} row @param {string} text */
export const badge = ({ state, reason }, text) => element('span', `badge ${toneOf(state, reason)}`, [text]);

/** @param {readonly Node[]} children @param {string} [className] */
const cell = (children, className = '') => element('div', className, children);

/** @param {string} text @param {string} [className] @param {string} [more] */
const second = (text, className = '', more = '') => element('div', `second ${className}`, [text && more ? `${text}: ${more}` : text]);

/** @param {Row} row */
const tries = ({ attempts }) => (attempts > 0 ? `${attempts} failed` : '');
