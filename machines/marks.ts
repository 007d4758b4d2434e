/** What people ask of the operator by annotations of an object, and take back by removing them. */

/** On a FloatingIPPool or a RoutedIP: `"true"` has the operator decide nothing for it. */
export const PAUSED = 'routedip.io/paused';

/** The annotations as they are; what an object does not bear is absent. */
export interface Marks {
  readonly paused?: string;
  /** The object is deleted, and waits for us. */
  readonly deleting?: boolean;
}

/** What a pool knows of its annotations. */
export interface NotedMarks {
  readonly paused: boolean;
  readonly deleting: boolean;
  /** Why an annotation does not count; null for no reason. */
  readonly wrong: string | null;
}

interface Marked {
  /** Null or absent for none. */
  readonly marks?: NotedMarks | null | undefined;
}

/** Nothing is decided for it: nothing is granted but where an address stands already, nothing created, released or published. What is under way ends. */
export const isPaused = ({ marks }: Marked): boolean => marks?.paused === true;

/** Takes over the annotations. From the end of a pause on the nodes count as unknown until they are told again: nothing is decided on what is out of date. */
export function observeMarks<C extends Marked & { readonly query: string | null }>(context: C, given: Marks | undefined): C {
  if (!given && !context.marks) return context;
  const marks = given ? noted(given) : null;
  return { ...context, marks, ...(isPaused(context) && !isPaused({ marks }) && { query: null }) };
}

function noted({ paused, deleting = false }: Marks): NotedMarks | null {
  if (paused === undefined) return null;
  const isKnown = paused === 'true' || paused === 'false';
  const wrong = isKnown ? null : `${PAUSED} is "${paused}", which is neither "true" nor "false": it counts as "false"`;
  return { paused: paused === 'true', deleting, wrong };
}
