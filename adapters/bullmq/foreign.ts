import { isFields } from '../../machines/model/types.ts';

/** The types of BullMQ's keys, by the suffix after the queue name. */
const OWN: ReadonlyMap<string, string> = new Map([
  ...['wait', 'paused', 'active'].map((name) => [name, 'list'] as const),
  ...['prioritized', 'delayed', 'completed', 'failed', 'waiting-children', 'marker', 'repeat'].map((name) => [name, 'zset'] as const),
  ...['id', 'pc'].map((name) => [name, 'count'] as const),
  ...['limiter', 'stalled-check'].map((name) => [name, 'string'] as const),
  ...([
    ['meta', 'hash'],
    ['stalled', 'set'],
    ['events', 'stream'],
  ] as const),
]);

/** The Redis type that a key must have, by the suffix after the queue name; a `count` is a string of digits. Null when unknown. */
export const typeOf = (name: string): string | null =>
  OWN.get(name) ?? (name.includes(':') ? (name.endsWith(':lock') ? 'string' : null) : 'hash');

/** How Redis refuses a command for a value of another type, or an increment of a value that is not a number. */
const IN_THE_WAY = /WRONGTYPE|not an integer/;

/** Whether it failed because of a foreign value, which blocks the queue until it is removed. */
export const isForeign = ({ message }: { readonly message: string }): boolean => IN_THE_WAY.test(message);

/** KEYS the records key, then keys of queues. ARGV the type of each of the latter. Removes keys of another type, and counters that are not numbers. If there were
 *  any, jobs were lost: then it also removes the records key. */
export const REMOVE_FOREIGN = `
local foreign = {}
local function areCounts(values)
  for _, value in pairs(values) do
    if value and not (#value < 16 and string.match(value, '^%d+$')) then return false end
  end
  return true
end
local function isOurs(key, kind, wanted)
  if wanted == 'count' then return kind == 'string' and areCounts({redis.call('GET', key)}) end
  return kind == wanted and (kind ~= 'hash' or areCounts(redis.call('HMGET', key, 'ats', 'atm', 'stc', 'opts.maxLenEvents')))
end
for i = 2, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and not isOurs(KEYS[i], kind, ARGV[i - 1]) then
    redis.call('DEL', KEYS[i])
    foreign[#foreign + 1] = KEYS[i]
  end
end
if #foreign > 0 then redis.call('DEL', KEYS[1]) end
return foreign
`;

/** Fields of a job that BullMQ parses as JSON, except for its data. */
const AS_JSON: ReadonlySet<string> = new Set(['opts', 'progress', 'parent']);

/** The reply of a script that hands out a job, with unparsable fields replaced by `{}`: BullMQ would throw, and fetch the same job again and again. */
export function sanitized(answer: unknown): unknown {
  const [job] = Array.isArray(answer) ? (answer as unknown[]) : [];
  if (!Array.isArray(job)) return answer;
  for (let at = 0; at < job.length; at += 2) if (AS_JSON.has(job[at]) && !isFields(parsed(job[at + 1]))) job[at + 1] = '{}';
  return answer;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
