import { type ChartNode, condition, statesOf, type Transition } from './chart-tree.ts';

const name = (id: string): string => id.replaceAll(/[^A-Za-z0-9]/g, '_');

/** Mermaid ends a label at a colon, a semicolon or a hash. */
const label = (text: string): string => text.replaceAll(/[:;#]/g, ' ');

const said = (event: string, whens: readonly string[]): string => {
  const when = whens.filter((each) => each !== '').join(' or ');
  return label(`${event}${when === '' ? '' : ` [${when}]`}`);
};

interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly event: string;
  readonly when: string;
}

/** The arrow of a transition, drawn between the two states where the paths of source and target part: Mermaid cannot draw one from inside a
 *  composite state to another. Null for what stays where it is. */
const arrowOf = (source: ChartNode, transition: Transition): Arrow | null => {
  if (transition.target === null) return null;
  const from = source.id.split('.');
  const to = transition.target.split('.');
  let shared = 0;
  while (shared < from.length && shared < to.length && from[shared] === to[shared]) shared += 1;
  if (shared === from.length || shared === to.length) return null;
  const inner = from.slice(shared + 1).join('.');
  return {
    from: from.slice(0, shared + 1).join('.'),
    to: to.slice(0, shared + 1).join('.'),
    event: `${inner === '' ? '' : `${inner}, `}${transition.event}`,
    when: condition(transition),
  };
};

/** One arrow for all that leads from one state to another, and on it one line for each event. */
const merged = (arrows: readonly Arrow[]): readonly (Pick<Arrow, 'from' | 'to'> & { readonly label: string })[] =>
  [...Map.groupBy(arrows, ({ from, to }) => `${from} ${to}`).values()].flatMap((together) => {
    const lines = Map.groupBy(together, ({ event }) => event);
    const text = [...lines]
      .map(([event, each]) =>
        said(
          event,
          each.map(({ when }) => when),
        ),
      )
      .join('<br/>');
    return together.slice(0, 1).map(({ from, to }) => ({ from, to, label: text }));
  });

const parentOf = (id: string): string => id.split('.').slice(0, -1).join('.');

const bodyOf = (node: ChartNode, arrows: ReturnType<typeof merged>, indent: string): string => {
  const regions = node.children.map((child) => stateOf(child, arrows, indent));
  if (node.kind === 'parallel') return regions.join(`${indent}--\n`);
  const start = node.initial === null ? '' : `${indent}[*] --> ${name(node.initial)}\n`;
  const own = arrows
    .filter(({ from }) => parentOf(from) === node.id)
    .map(({ from, to, label: text }) => `${indent}${name(from)} --> ${name(to)} : ${text}\n`);
  const ends = node.children.filter(({ kind }) => kind === 'final').map(({ id }) => `${indent}${name(id)} --> [*]\n`);
  return [...regions, start, ...own, ...ends].join('');
};

const stateOf = (node: ChartNode, arrows: ReturnType<typeof merged>, indent: string): string => {
  const title = `${indent}state "${node.key}" as ${name(node.id)}`;
  if (node.children.length === 0) return `${title}\n`;
  return `${title} {\n${bodyOf(node, arrows, `${indent}  `)}${indent}}\n`;
};

/** A note at the target of what may happen in every state: arrows from all of them would hide the rest. */
const anywhereOf = (root: ChartNode): string =>
  root.transitions
    .filter(({ target }) => target !== null)
    .map(
      (transition) =>
        `  note right of ${name(transition.target ?? '')}\n    from every state on ${said(transition.event, [condition(transition)])}\n  end note\n`,
    )
    .join('');

/** The chart in Mermaid's language for state diagrams. */
export const diagramOf = (root: ChartNode): string => {
  const arrows = merged(statesOf(root).flatMap((node) => node.transitions.flatMap((transition) => arrowOf(node, transition) ?? [])));
  return `stateDiagram-v2\n${bodyOf(root, arrows, '  ')}${anywhereOf(root)}`;
};
