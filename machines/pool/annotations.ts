import { parseAddress } from '../model/address.ts';
import { type Address, MOVE_TO } from '../model/types.ts';
import { type Parks, parksIn } from './parks.ts';

/** What people ask of the operator by annotations of an object, and take back by removing them. */

/** On a FloatingIPPool or a RoutedIP: `"true"` has the operator decide nothing for it. */
export const PAUSED = 'routedip.io/paused';

/** A server takes 256 KiB of annotations from whoever may write the object, and each request is looked at in every turn: beyond this none is. */
const MOST_MOVES = 100;
/** Of the annotation, characters: as many requests with the longest names have fewer. */
const LONGEST_MOVES = 32_768;
/** Of a value that is none, so many characters are told. */
const LONGEST_VALUE = 100;

/** The annotations as they are; what an object does not bear is absent. */
export interface Marks {
  readonly paused?: string;
  readonly moveTo?: string;
  readonly unassigned?: string;
  /** The object is deleted, and waits for us. */
  readonly deleting?: boolean;
}

/** What a pool knows of its annotations. */
export interface NotedMarks {
  /** The annotation is there. */
  readonly isTold: boolean;
  readonly paused: boolean;
  readonly deleting: boolean;
  /** Why an annotation does not count; null for no reason. */
  readonly wrong: string | null;
  /** The annotation that asks for moves, and what it asks for, in its order; absent for none. */
  readonly moveTo?: string;
  readonly moves?: readonly Move[];
  /** What is wanted on no node; absent without that annotation. */
  readonly parks?: Parks;
}

/** Somebody wants an address on a node. */
export interface Move {
  /** As it stands in the annotation. */
  readonly text: string;
  /** Null for that of a RoutedIP, and where there is none to be read. */
  readonly address: Address | null;
  readonly node: string;
  /** The address is no more on the node on which it was, for this. */
  readonly begun: boolean;
  /** What came of it; null before. What was answered is taken out of the annotation. */
  readonly answer: { readonly done: boolean; readonly message: string } | null;
}

interface Marked {
  /** Null or absent for none. */
  readonly marks?: NotedMarks | null | undefined;
}

/** Nothing is decided for it: nothing is granted but where an address stands already, nothing created, released or published. What is under way ends. */
export const isPaused = ({ marks }: Marked): boolean => marks?.paused === true;

/** Takes over the annotations. From the end of a pause on the nodes count as unknown until they are told again: nothing is decided on what is out of date. */
export function observeMarks<C extends Marked & { readonly query: string | null; readonly exposed: object | null }>(
  context: C,
  given: Marks | undefined,
): C {
  if (!given && !context.marks) return context;
  const marks = given ? noted(given, context) : null;
  return { ...context, marks, ...(isPaused(context) && !isPaused({ marks }) && { query: null }) };
}

/** What was told of a request that still stands is remembered. */
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
