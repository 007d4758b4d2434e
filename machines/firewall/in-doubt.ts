import type { Decision } from '../events.ts';
import { restMs } from '../model/backoff.ts';
import type { AnyFirewallEvent, FirewallContext, FirewallDoubt } from './context.ts';

export interface DoubtSettings {
  /** How long a call may still take effect after it was sent, ms. */
  readonly callDeadlineMs: number;
}

export const doubtsOpen = ({ doubt }: FirewallContext): boolean => Boolean(doubt) && doubt?.of !== 'open';
export const doubtsPruned = ({ doubt }: FirewallContext): boolean => Boolean(doubt) && doubt?.of !== 'prune';
export const isInDoubt = ({ doubt }: FirewallContext): boolean => Boolean(doubt);

/** Combines two doubts: they cover both kinds of call until the later end. */
export function bothDoubts(one: FirewallDoubt | null | undefined, other: FirewallDoubt): FirewallDoubt {
  if (!one) return other;
  return { ...(one.until > other.until ? one : other), of: one.of === other.of ? one.of : 'both' };
}

/** The worker that sent the call may have ended before the answer. Jobs are found again, so their calls are never in doubt. */
export const doubt =
  ({ callDeadlineMs }: DoubtSettings, of: FirewallDoubt['of']) =>
  (context: FirewallContext, event: AnyFirewallEvent): Decision<FirewallContext> => ({
    context: context.byJobs ? context : { ...context, doubt: bothDoubts(context.doubt, { of, until: event.at + callDeadlineMs }) },
    effects: [],
  });

/** The same for a job that failed, or that completed in another run: when that may have left a call behind. */
export const doubtIfUnknown =
  (settings: DoubtSettings, of: FirewallDoubt['of']) =>
  (context: FirewallContext, event: AnyFirewallEvent): Decision<FirewallContext> => {
    const isUnknown =
      ('error' in event && event.error.unknownOutcome) || ('output' in event && 'owned' in event.output && event.output.rerun);
    return isUnknown ? doubt(settings, of)(context, event) : { context, effects: [] };
  };

/** No call of ours with an unobserved outcome can still take effect. */
export const endDoubt = (context: FirewallContext): Decision<FirewallContext> => ({ context: { ...context, doubt: null }, effects: [] });

/** Remaining time of the doubt, ms. */
export const doubtLeft =
  ({ callDeadlineMs }: DoubtSettings) =>
  (context: FirewallContext, at: number): number =>
    restMs(context.doubt?.until ?? null, at, context.doubt?.wholeMs ?? callDeadlineMs);
