import { type Fields, flag, text } from '../http/body.ts';
import type { CallLog } from '../http/call-log.ts';
import { type ControlRoutes, commonRoutes, done, nothingThere, ok, required } from '../http/control.ts';
import type { Faults } from '../http/faults.ts';
import { httpEffects } from '../http/parse-fault.ts';
import type { Account, Rights } from './model.ts';
import { placeZone } from './zones.ts';

export interface ControlParts {
  readonly account: Account;
  readonly faults: Faults;
  readonly log: CallLog;
  readonly allow: (token: string, rights: Partial<Rights>) => void;
}

export const controlRoutes = ({ account, faults, log, allow }: ControlParts): ControlRoutes => ({
  ...commonRoutes(log, faults, httpEffects),
  'GET state': () => ok({ zones: [...account.zones.values()].map((zone) => ({ ...zone, records: [...zone.records.values()] })) }),
  'POST zones': ({ body }) => {
    const status = text(body, 'status') === 'pending' ? 'pending' : 'active';
    const { id, name } = placeZone(account, { name: wanted(body, 'name'), id: text(body, 'id'), status });
    return ok({ zone: { id, name, status } }, 201);
  },
  'DELETE zones': ({ rest: [id = ''] }) => {
    if (!account.zones.delete(id)) throw nothingThere();
    return done;
  },
  'POST tokens': ({ body }) => {
    const rights = (['zoneRead', 'dnsRead', 'dnsWrite'] as const).map((right) => [right, flag(body, right) ?? true]);
    allow(wanted(body, 'token'), Object.fromEntries(rights));
    return done;
  },
});

const wanted = (body: Fields, name: string): string => required(text(body, name), name);
