import { parseAddress } from '../model/address.ts';
import { type Address, MOVE_TO } from '../model/types.ts';
import { type Parks, parksIn } from './parks.ts';

/** What users request from the operator by annotations on an object, and withdraw by removing them. */

/** On a FloatingIPPool or a RoutedIP: `"true"` makes the operator decide nothing for it. */
export const PAUSED = 'routedip.io/paused';

/** The API server accepts 256 KiB of annotations from anyone who may write the object, and each request is evaluated in every turn: above this limit none is. */
const MOST_MOVES = 100;
/** Length of the annotation, characters: that many requests with the longest names are shorter. */
const LONGEST_MOVES = 32_768;
/** How many characters of an invalid value are shown. */
const LONGEST_VALUE = 100;

/** The raw annotations; those not on the object are absent. */
export interface Marks {
  readonly paused?: string;
  readonly moveTo?: string;
  readonly unassigned?: string;
  /** The object has been deleted and waits for our finalizer. */
  readonly deleting?: boolean;
}

/** State of the annotations of a pool. */
export interface NotedMarks {
  /** The annotation is present. */
  readonly isTold: boolean;
  readonly paused: boolean;
  readonly deleting: boolean;
  /** Why an annotation is ignored; null for no reason. */
  readonly wrong: string | null;
  /** The annotation that requests moves, and its requests in order; absent for none. */
  readonly moveTo?: string;
  readonly moves?: readonly Move[];
  /** Addresses requested to be on no node; absent without that annotation. */
  readonly parks?: Parks;
}

/** A request to move an address to a node. */
export interface Move {
  /** As written in the annotation. */
  readonly text: string;
  /** Null for a RoutedIP, and where no address can be parsed. */
  readonly address: Address | null;
  readonly node: string;
  /** The address has left its former node for this move. */
  readonly begun: boolean;
  /** Outcome; null before. An answered request is removed from the annotation. */
  readonly answer: { readonly done: boolean; readonly message: string } | null;
}

interface Marked {
  /** Null or absent for none. */
  readonly marks?: NotedMarks | null | undefined;
}

/** Nothing is decided for it: nothing is granted except where an address already is, nothing created, released or published. What is under way completes. */
export const isPaused = ({ marks }: Marked): boolean => marks?.paused === true;

/** Takes over the annotations. When a pause ends, the nodes count as unknown until they are observed again, so that nothing is decided on outdated facts. */
export function observeMarks<C extends Marked & { readonly query: string | null; readonly exposed: object | null }>(
  context: C,
  given: Marks | undefined,
): C {
  if (!given && !context.marks) return context;
  const marks = given ? noted(given, context) : null;
  return { ...context, marks, ...(isPaused(context) && !isPaused({ marks }) && { query: null }) };
}

/** The answer to a request that is still present is kept. */
function noted(
  { paused, moveTo, unassigned, deleting = false }: Marks,
  { marks, exposed }: Marked & { readonly exposed: object | null },
): NotedMarks | null {
  if (paused === undefined && moveTo === undefined && unassigned === undefined) return null;
  const moves = moveTo === undefined ? null : movesIn(moveTo, exposed !== null);
  const former = new Map((marks?.moves ?? []).map((move) => [move.text, move]));
  return {
    isTold: paused !== undefined,
    paused: paused === 'true',
    deleting,
    wrong: paused === undefined || paused === 'true' || paused === 'false' ? null : wrongText(paused),
    ...(moveTo !== undefined && { moveTo }),
    ...(moves && { moves: moves.map((move) => former.get(move.text) ?? move) }),
    ...(unassigned !== undefined && { parks: parksIn(unassigned, exposed !== null) }),
  };
}

const wrongText = (paused: string): string =>
  `${PAUSED} is "${paused.slice(0, LONGEST_VALUE)}", which is neither "true" nor "false": it counts as "false"`;

function movesIn(annotation: string, isRoutedIP: boolean): readonly Move[] {
  const parts = [...new Set(annotation.split(',').map((part) => part.trim()))].filter((part) => part !== '');
  if (parts.length > MOST_MOVES || annotation.length > LONGEST_MOVES) return [tooMuch(annotation.length, parts.length)];
  return parts
    .map((text) => moveIn(text, isRoutedIP))
    .map((move, index, all) => (all.findIndex(({ address }) => address === move.address) < index ? twice(move) : move));
}

function tooMuch(length: number, moves: number): Move {
  const asked = `${MOVE_TO} has ${length} characters and asks for ${moves} ${moves === 1 ? 'move' : 'moves'}`;
  const most = moves > MOST_MOVES ? `${MOST_MOVES} are looked at at once` : `${LONGEST_MOVES} are read`;
  return { text: asked, address: null, node: '', begun: false, answer: { done: false, message: `${asked}: at most ${most}` } };
}

const twice = (move: Move): Move =>
  move.answer
    ? move
    : { ...move, answer: { done: false, message: `"${move.text}" in ${MOVE_TO} comes after another node for the same address` } };

function moveIn(text: string, isRoutedIP: boolean): Move {
  const [left = '', node = '', ...more] = text.split('=').map((part) => part.trim());
  if (isRoutedIP && !text.includes('=')) return { text, address: null, node: text, begun: false, answer: null };
  const address = parseAddress(left);
  const isClear = !isRoutedIP && address !== null && node !== '' && more.length === 0;
  const form = isRoutedIP ? 'the name of a node' : '<address>=<node>';
  const answer = isClear ? null : { done: false, message: `"${text}" in ${MOVE_TO} is not ${form}` };
  return { text, address, node, begun: false, answer };
}
