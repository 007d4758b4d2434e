// Draws the chart of one actor with its present state marked, and goes on marking as the actor changes.

import { element } from './dom.js';
import { draw, mark } from './draw.js';
import { layoutOf } from './layout.js';
import { lastArrows, liveStates } from './marks.js';
import { toneOf } from './text.js';
import { movable } from './view.js';

/** @typedef {import('./types.js').Definition} Definition */
/** @typedef {import('./types.js').Move} Move */
/** An actor as it is drawn: `value` is its state value, `last` what it did last.
 * @typedef {{ chart: string, value: unknown, state: string, reason: string, last: Move | null }} Drawn */

/** @param {HTMLElement} host @param {(chart: string) => Promise<unknown>} load answers a Definition, or null where there is none */
export function createChartPane(host, load) {
  /** @type {Map<string, Promise<Definition | null>>} */
  const charts = new Map();
  /** @type {{ layout: import('./layout.js').Layout, picture: SVGSVGElement } | null} */
  let shown = null;
  /** Whether every arrow bears its label; null for what suits the chart.
   * @type {boolean | null} */
  let isLabelled = null;
  /** @type {Drawn | null} */
  let wanted = null;

  /** @param {string} name */
  const chartOf = (name) => {
    const chart = charts.get(name) ?? /** @type {Promise<Definition | null>} */ (load(name));
    charts.set(name, chart);
    chart.catch(() => charts.delete(name));
    return chart;
  };

  /** @param {import('./layout.js').Layout} layout */
  const pictureOf = (layout) => {
    if (shown?.layout === layout) return shown.picture;
    const picture = draw(layout);
    picture.classList.toggle('labelled', layout.isLabelled);
    host.replaceChildren(picture);
    movable(host, picture, layout, toggleLabels);
    shown = { layout, picture };
    return picture;
  };

  /** @param {Drawn} drawn */
  const show = async (drawn) => {
    wanted = drawn;
    const definition = await chartOf(drawn.chart);
    if (!definition) return wanted === drawn ? hint(`This operator has no chart of the name ${drawn.chart}.`) : undefined;
    const layout = await layoutOf(definition, { width: host.clientWidth, height: host.clientHeight }, isLabelled);
    // Meanwhile another one was chosen, or this one has changed again.
    if (wanted !== drawn) return;
    mark(pictureOf(layout), {
      live: liveStates(definition.root, drawn.value),
      arrows: drawn.last ? lastArrows(definition, drawn.last) : [],
      tone: toneOf(drawn.state, drawn.reason),
    });
  };

  /** @param {string} text */
  const hint = (text) => {
    wanted = null;
    shown = null;
    host.replaceChildren(element('div', 'hint', [text]));
  };

  const toggleLabels = () => {
    isLabelled = !shown?.layout.isLabelled;
    if (wanted) show(wanted).catch((error) => hint(String(error)));
  };

  return { show, hint };
}
