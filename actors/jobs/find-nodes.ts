import type { ProviderID } from '../../machines/model/types.ts';
import { ProviderError } from '../ports/errors.ts';
import { again, done, type JobBody, type JobContext, read } from './job.ts';

/** What earlier tries of the job have learnt. */
interface Progress {
  readonly told: readonly ProviderID[];
  readonly gone: readonly ProviderID[];
}

interface Answer {
  readonly providerID: ProviderID;
  /** Null while the provider does not answer because of its limit: then `waitMs` says how long to wait. */
  readonly gone: boolean | null;
  readonly waitMs: number;
}

/** FindNode for each node, concurrently. A node that the provider says nothing about counts as present: unknown is not gone. */
export const findNodes: JobBody<'findNodes'> = async (context) => {
  const { told, gone } = (context.progress as unknown as Progress | null) ?? { told: [], gone: [] };
  const open = context.input.nodes.filter(({ providerID }) => !told.includes(providerID));
  const answers = await Promise.all(open.map(({ providerID }) => look(context, providerID)));
  const heard = answers.filter(({ gone: isGone }) => isGone !== null);
  const known: Progress = {
    told: [...told, ...heard.map(({ providerID }) => providerID)],
    gone: [...gone, ...heard.filter(({ gone: isGone }) => isGone).map(({ providerID }) => providerID)],
  };
  const isWhole = heard.length === answers.length;
  return isWhole ? done({ gone: known.gone }) : again(Math.max(...answers.map(({ waitMs }) => waitMs)), { ...known });
};

/** @throws Unreachable */
async function look(context: JobContext<'findNodes'>, providerID: ProviderID): Promise<Answer> {
  try {
    const found = await context.provider.findNode(providerID, read(context, context.input.purpose));
    return { providerID, gone: found === 'gone', waitMs: 0 };
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    if (error.kind === 'RateLimited') return { providerID, gone: null, waitMs: Math.max(50, error.retryAfterMs ?? 1000) };
    return { providerID, gone: false, waitMs: 0 };
  }
}
