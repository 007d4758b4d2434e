import { ofKind } from '../http/faults.ts';
import type { Cloud } from './cloud.ts';
import type { FaultEffect } from './faults.ts';
import { Refusal } from './refusal.ts';
import type { Reply } from './reply.ts';
import { wantedHolder } from './routes/reserved-ips.ts';

/** Ways in which the API, or what stands before it, may differ from its description. */

interface Asked {
  readonly cloud: Cloud;
  /** Changed where another page is served than the one that is asked for. */
  readonly url: URL;
  readonly params: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** @throws Refusal */
export function refuseByMode({ cloud, url, params, body }: Asked, effects: readonly FaultEffect[]): void {
  const size = Number(url.searchParams.get('per_page') ?? 20);
  if (ofKind(effects, 'failBigPages').some(({ over }) => size > over)) throw new Refusal(504, 'server_error', 'The page took too long.');
  const [small] = ofKind(effects, 'smallPages');
  if (small) url.searchParams.set('per_page', String(Math.min(size, small.max)));
  const [move] = ofKind(effects, 'noDirectMove');
  const holder = cloud.reservedIPs.get(params.ip ?? '')?.dropletId ?? null;
  if (move && holder !== null && wantedHolder(body) !== null)
    throw new Refusal(
      move.code,
      move.code >= 500 ? 'server_error' : 'unprocessable_entity',
      'The reserved IPv6 is assigned to another Droplet.',
    );
}

/** The answer as these have it. */
export function bent(reply: Reply, effects: readonly FaultEffect[]): Reply {
  const total = ofKind(effects, 'wrongTotal').reduce((sum, { by }) => sum + by, 0);
  const [status] = ofKind(effects, 'actionStatus');
  const isShuffled = ofKind(effects, 'shuffledPages').length > 0;
  if (!reply.body || (total === 0 && !status && !isShuffled)) return reply;
  return { ...reply, body: Object.fromEntries(Object.entries(reply.body).map(([key, value]) => [key, bentField(key, value)])) };

  function bentField(key: string, value: unknown): unknown {
    if (key === 'meta' && total !== 0) return { ...(value as object), total: (value as { readonly total: number }).total + total };
    const isList = Array.isArray(value);
    const items: readonly unknown[] = isList && isShuffled ? [...value.toReversed(), ...value.slice(0, 1)] : isList ? value : [value];
    const said =
      status && (key === 'action' || key === 'actions') ? items.map((each) => ({ ...(each as object), status: status.status })) : items;
    return isList ? said : said[0];
  }
}
