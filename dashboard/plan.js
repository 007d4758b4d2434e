// What an operator that only observes would do: above everything, and at what it would be done to.

import { byId, element } from './dom.js';
import { get } from './live.js';

/** @typedef {import('./types.js').Difference} Difference */

export const OBSERVES = 'Only observes: nothing is changed at any provider or in the cluster.';

/** Changes come many at a time, and a plan may be long. */
const PAUSE_MS = 1_000;
/** Beyond these nobody reads on. */
const MOST = 500;

/** @param {() => void} changed told when the plan was read */
export function createPlan(changed) {
  /** @type {readonly Difference[]} */
  let differences = [];
  let askedAt = 0;

  const ask = async () => {
    askedAt = Date.now();
    const answer = /** @type {{ differences: readonly Difference[] } | null} */ (await get('/api/plan'));
    differences = answer?.differences ?? [];
    byId('plan-title').textContent = `${OBSERVES} Withheld: ${differences.length || 'nothing'}`;
    const rows = differences.slice(0, MOST).map(({ what, subject, from, to }) => [what, subject, from ?? '–', to ?? '–']);
    byId('plan-rows').replaceChildren(
      ...rows.map((cells) =>
        element(
          'tr',
          'mono',
          cells.map((text) => element('td', '', [text])),
        ),
      ),
    );
    changed();
  };
  return {
    /** Whoever is heard says whether it only observes. @param {{ observes?: true }} head */
    heard: ({ observes }) => {
      byId('plan').hidden = !observes;
      if (!observes) differences = [];
      else if (Date.now() - askedAt > PAUSE_MS) ask().catch(console.error);
    },
    /** What is withheld of an actor, on one line; empty for nothing. @param {{ name: string, chart: string }} row */
    of: ({ name, chart }) =>
      differences
        .filter(({ subject, from, to }) => subject === name || [from, to].includes(`${chart} ${name}`))
        .map(({ what, subject, to }) => `withheld: ${what} ${subject === name ? `to ${to}` : subject}`)
        .join(', '),
  };
}
