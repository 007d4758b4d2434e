import { cloudOfNodes } from '../adapters/kubernetes/cache/cloud-nodes.ts';
import { isForbidden, messageOf } from '../adapters/kubernetes/client/api-error.ts';
import type { AdmissionContext } from './admission.ts';
import { untilAnswered } from './until-answered.ts';

type Context = Pick<AdmissionContext, 'connection' | 'clock' | 'log' | 'stopping'>;

/** Checks once whether the nodes are machines of a cloud, whose controller may serve the same Services; returns the notice for users, null for none. Logs it as soon as it is
 *  known. */
export function otherController({ connection, clock, log, stopping }: Context): () => string | null {
  let notice: string | null = null;
  const look = async (): Promise<string | null> => {
    try {
      return await cloudOfNodes(connection);
    } catch (error) {
      // Missing permission to list nodes must not block anything.
      if (isForbidden(error)) return null;
      throw error;
    }
  };
  const failed = (error: unknown, attempt: number): void => {
    if (attempt === 1) log.warn('whose machines the nodes are is not known yet', { error: messageOf(error) });
  };
  void untilAnswered(look, { clock, stopping, failed }).then((cloud) => {
    if (cloud === null) return;
    notice = textFor(cloud);
    log.info('a cloud may serve the same Services of type LoadBalancer', { provider: cloud, message: notice });
  });
  return () => notice;
}

const textFor = (cloud: string): string =>
  `the nodes are machines of ${cloud}, whose controller may serve Services of type LoadBalancer too: an IPGroup takes those without a class. It is safe to run with ` +
  '--load-balancer-class and --load-balancer-class-only, and to give that class to the Services that are to have an address of an IPGroup';
