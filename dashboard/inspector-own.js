// Our own view: the actors by what they are a part of, the chart of one of them, and who sent what to whom. Sends nothing anywhere.

import { createChartPane } from './chart-pane.js';
import { byId, element, update } from './dom.js';
import { eventsOf, nameOf, reasonIn, treeOf } from './inspector-model.js';
import { get } from './live.js';
import { clock, eventText, leaves, moveText, toneOf } from './text.js';
import { tree } from './tree.js';

/** @typedef {import('./inspector-model.js').Model} Model */
/** @typedef {import('./inspector-model.js').Actor} Actor */
/** @typedef {import('./inspector-model.js').Sent} Sent */

/** So many events are listed. */
const MOST_LISTED = 200;

/** @param {Model} model */
export function createOwnView(model) {
  const chart = createChartPane(byId('chart'), (machine) => get(`/drawings/${encodeURIComponent(machine)}`));
  let selected = '';
  let isAll = false;
  /** The event whose content is shown. @type {number | null} */
  let opened = null;
  let painting = false;

  const paint = () => {
    if (painting) return;
    painting = true;
    requestAnimationFrame(() => {
      painting = false;
      const branches = treeOf(model.actors.values());
      if (!branches.some(({ actor }) => actor.id === selected)) selected = branches[0]?.actor.id ?? '';
      update(
        byId('actors'),
        branches.map((each) => ({
          key: each.actor.id,
          looks: [each.depth, stateOf(each.actor), reasonIn(each.actor.context), each.actor.id === selected].join(),
          make: () => branch(each),
        })),
      );
      byId('count').textContent = String(branches.length);
      paintActor(model.actors.get(selected));
      paintEvents();
    });
  };

  /** @param {{ actor: Actor, depth: number }} branch */
  const branch = ({ actor, depth }) => {
    const name = depth > 0 && actor.id.endsWith('/dns') ? 'DNS records' : nameOf(actor.id);
    const button = element('button', 'branch', [element('span', 'mono', [name]), badge(actor, true)]);
    button.setAttribute('type', 'button');
    button.setAttribute('aria-current', String(actor.id === selected));
    button.dataset.actor = actor.id;
    button.title = actor.id;
    button.addEventListener('click', () => {
      selected = actor.id;
      paint();
    });
    return element('li', `level-${depth}`, [button]);
  };

  /** @param {Actor | undefined} actor */
  const paintActor = (actor) => {
    if (!actor) {
      byId('title').replaceChildren();
      return chart.hint('No actors yet. Apply a FloatingIPPool or a RoutedIP and they show up here.');
    }
    byId('title').replaceChildren(
      element('strong', 'mono', [nameOf(actor.id)]),
      badge(actor, false),
      element('span', 'dim mono', [actor.id]),
      element('span', 'spacer'),
      element('span', 'dim', [actor.machine]),
    );
    chart
      .show({ chart: actor.machine, value: actor.value, state: stateOf(actor), reason: reasonIn(actor.context), last: actor.last })
      .catch((error) => chart.hint(String(error)));
  };

  const paintEvents = () => {
    const listed = (isAll ? model.events : eventsOf(model.events, selected)).slice(-MOST_LISTED).reverse();
    update(
      byId('events'),
      listed.map((sent) => ({
        key: String(sent.number),
        looks: [sent.move !== null, sent.number === opened].join(),
        make: () => line(sent),
      })),
    );
    byId('nothing').hidden = listed.length > 0;
    for (const [id, pressed] of /** @type {const} */ ([
      ['of-selected', !isAll],
      ['of-all', isAll],
    ]))
      byId(id).setAttribute('aria-pressed', String(pressed));
  };

  /** @param {Sent} sent */
  const line = (sent) => {
    const { number, at, from, to, event, move } = sent;
    const button = element('button', 'sent', [
      element('span', 'dim mono', [clock(at)]),
      element('span', 'who', [nameOf(from)]),
      element('span', 'dim', ['→']),
      element('span', 'who', [from === to ? 'itself' : nameOf(to)]),
      element('b', '', [eventText(event.type)]),
      element('span', 'dim move', [move ? moveText(move.from, move.to) : '']),
    ]);
    button.setAttribute('type', 'button');
    button.setAttribute('aria-expanded', String(opened === number));
    button.title = `${from} → ${to}`;
    button.addEventListener('click', () => {
      opened = opened === number ? null : number;
      paintEvents();
    });
    const item = element('li', '', [button]);
    if (opened === number) item.append(element('div', 'tree', [tree(event)]));
    return item;
  };

  byId('of-selected').addEventListener('click', () => {
    isAll = false;
    paintEvents();
  });
  byId('of-all').addEventListener('click', () => {
    isAll = true;
    paintEvents();
  });
  new ResizeObserver(paint).observe(byId('chart'));

  return { paint };
}

/** @param {Actor} actor */
const stateOf = ({ value }) => leaves(value).join('|');

/** Of several regions only what they are in: `Serving` in short, else with the innermost state of each.
 * @param {Actor} actor @param {boolean} isShort */
function stateText({ value }, isShort) {
  const paths = leaves(value);
  const [first = ''] = paths;
  if (paths.length < 2) return first.replaceAll('.', ' · ');
  const [outer = ''] = first.split('.');
  return isShort ? outer : `${outer} · ${paths.map((path) => path.split('.').at(-1)).join(', ')}`;
}

/** @param {Actor} actor @param {boolean} isShort */
function badge(actor, isShort) {
  const made = element('span', `badge ${toneOf(stateOf(actor), reasonIn(actor.context))}`, [stateText(actor, isShort)]);
  made.title = stateOf(actor);
  return made;
}
