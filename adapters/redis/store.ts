import type { CellWrite, Claim, RecordStore, SaveResult } from '../../actors/ports/records.ts';
import type { ActorId } from '../../machines/model/types.ts';
import type { RedisLink } from './link.ts';
import { DROP, FENCE, LOAD, OPEN_TERM, RESET_CLAIMS, SAVE } from './scripts.ts';
import { judgeServer, runIdOf } from './server-info.ts';
import { type CellReply, cellIn, headIn, journalIn } from './stored.ts';

export interface RedisStoreOptions {
  /** Closed together with the store. */
  readonly link: RedisLink;
  /** Prefix of every key, a hash tag `{…}`, so that all keys share one cluster slot, as an atomic call requires. */
  readonly prefix: string;
  /** How many transitions are kept per cell. Default 200. */
  readonly journalLength?: number;
}

/** The key whose absence means that all records are lost. */
export const recordsKey = (prefix: string): string => `${prefix}:meta`;

/** Records in Redis. One Lua call per save; without the `meta` key the store counts as emptied. */
export const redisStore = ({ link, prefix, journalLength = 200 }: RedisStoreOptions): RecordStore => {
  if (!/^\{[^{}]+\}$/.test(prefix)) throw new Error(`the key prefix ${prefix} should be a name in braces, such as {routedip}`);
  const meta = recordsKey(prefix);
  const cells = `${prefix}:cells`;
  const claimsKey = (provider: string): string => `${prefix}:claims:${provider}`;
  const keysOf = (cell: ActorId) => ({
    records: `${prefix}:cell:${cell}:records`,
    heads: `${prefix}:cell:${cell}:heads`,
    outbox: `${prefix}:cell:${cell}:outbox`,
    seen: `${prefix}:cell:${cell}:seen`,
    journal: `${prefix}:cell:${cell}:journal`,
  });

  return {
    judge: () => judgeServer(link),
    check: async () => {
      const fatal = (await judgeServer(link)).filter(({ isFatal }) => isFatal);
      if (fatal.length > 0) throw new Error(fatal.map(({ message }) => message).join('; '));
    },
    state: () =>
      link.call('state', async (redis) => {
        // A no-op write that fails like any other on a server that is full, cannot write to its disk, or has become a replica.
        const isWritable = redis.setrange(`${prefix}:none`, 0, '');
        const [info, term] = await Promise.all([redis.info('server'), redis.hget(meta, 'term').catch(noneOfOurs), isWritable]);
        return { term: /^\d{1,12}$/.test(term ?? '') ? Number(term) : null, runId: runIdOf(info) };
      }),
    openTerm: async (term) => (await link.script(`open term ${term}`, OPEN_TERM, [meta], [term])) === 1,
    cells: () => link.call('cells', async (redis) => ((await redis.hkeys(cells).catch(noneOfOurs)) ?? []).sort()),
    load: async (cell) => {
      const { records, heads, outbox, seen } = keysOf(cell);
      const reply = await link.script(`load ${cell}`, LOAD, [cells, records, heads, outbox, seen], [cell]);
      return reply === null ? null : cellIn(reply as CellReply);
    },
    save: async (write) => {
      const { records, heads, outbox, seen, journal } = keysOf(write.cell);
      const providers = [...new Set([...write.claims.free, ...write.claims.take].map(({ provider }) => provider))];
      const keys = [meta, cells, records, heads, outbox, seen, journal, ...providers.map(claimsKey)];
      const reply = await link.script(`save ${write.cell}`, SAVE, keys, saveArgs(write, providers, journalLength));
      return saveResult(reply as [string, ...string[]]);
    },
    drop: async (cell, term) =>
      (await link.script(`drop ${cell}`, DROP, [meta, cells, ...Object.values(keysOf(cell))], [term, cell])) === 1,
    resetClaims: async (provider, claims, term) => {
      const args = [term, ...ownersByNode(claims.filter((claim) => claim.provider === provider))];
      return (await link.script(`reset claims of ${provider}`, RESET_CLAIMS, [meta, claimsKey(provider)], args)) === 1;
    },
    fence: async (cell, actor, invokeId) => {
      const reply = await link.script(`fence of ${actor}`, FENCE, [meta, keysOf(cell).heads], [actor]);
      const [term, head, isElsewhere] = reply as [string | null, string | null, number];
      const commandId = headIn(head).waiting[invokeId]?.commandId ?? null;
      return { commandId, term: term === null ? null : Number(term), isElsewhere: isElsewhere === 1 };
    },
    journal: (cell, limit) =>
      link.call(`journal of ${cell}`, async (redis) => {
        const entries = limit < 1 ? [] : await redis.lrange(keysOf(cell).journal, 0, limit - 1).catch(noneOfOurs);
        return journalIn(entries ?? []);
      }),
    close: () => link.close(),
  };
};

/** A value of another type under a key of ours is foreign: the next write removes it. */
const noneOfOurs = (error: unknown): null => {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return null;
  throw error;
};

type Args = (string | number)[];

const listOf = <T>(items: readonly T[], fields: (item: T) => Args): Args => [items.length, ...items.flatMap(fields)];

const saveArgs = (write: CellWrite, providers: readonly string[], journalLength: number): Args => {
  const key = (provider: string): number => providers.indexOf(provider) + 1;
  return [
    write.term,
    write.cell,
    journalLength,
    write.overwrites ? 1 : 0,
    ...listOf(write.records, ({ actor, expected, record }) =>
      record === null
        ? [actor, expected, 0, '', '']
        : [actor, expected, record.version, JSON.stringify(record.waiting), JSON.stringify(record)],
    ),
    ...listOf(write.outbox.add, (command) => [command.id, JSON.stringify(command)]),
    ...listOf(write.outbox.clear, (id) => [id]),
    ...listOf(Object.entries(write.seen), ([sender, id]) => [sender, id ?? '']),
    ...listOf(write.journal, (entry) => [JSON.stringify(entry)]),
    ...listOf(write.claims.free, ({ provider, node, owner }) => [key(provider), node, owner]),
    ...listOf(write.claims.take, ({ provider, node, owner, limit }) => [key(provider), node, owner, limit]),
  ];
};

const saveResult = ([kind, ...nodes]: readonly [string, ...string[]]): SaveResult => {
  switch (kind) {
    case 'saved':
      return { kind: 'saved' };
    case 'lost':
      return { kind: 'lost' };
    case 'staleTerm':
      return { kind: 'stale', what: 'term' };
    case 'staleVersion':
      return { kind: 'stale', what: 'version' };
    case 'claimsFull':
      return { kind: 'claimsFull', nodes: [...new Set(nodes)].sort() };
    default:
      throw new Error(`the save script answered ${kind}`);
  }
};

const ownersByNode = (claims: readonly Claim[]): string[] => {
  const owners = new Map<string, Set<ActorId>>();
  for (const { node, owner } of claims) owners.set(node, (owners.get(node) ?? new Set()).add(owner));
  return [...owners].flatMap(([node, names]) => [node, JSON.stringify([...names])]);
};
