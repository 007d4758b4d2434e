import { isFields } from '../../machines/model/types.ts';

/** What BullMQ keeps of a queue, by what stands behind its name. */
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

/** Of which type Redis has to hold what stands behind the name of a queue, a `count` being a string of digits; null where that is not known. */
export const typeOf = (name: string): string | null =>
  OWN.get(name) ?? (name.includes(':') ? (name.endsWith(':lock') ? 'string' : null) : 'hash');

/** How Redis refuses a command for a value of another type, or to count what is no number. */
const IN_THE_WAY = /WRONGTYPE|not an integer/;

/** Whether it failed for what others have written, which will be in the way until it is removed. */
export const isForeign = ({ message }: { readonly message: string }): boolean => IN_THE_WAY.test(message);

/** KEYS what stands for all records, then keys of queues. ARGV the type of each of these. Removes those of another type, those that are to be counted up and are no numbers, and
 *  with them what stands for all: jobs were lost. */
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

/** Fields of a job that BullMQ reads as JSON, but for its data. */
const AS_JSON: ReadonlySet<string> = new Set(['opts', 'progress', 'parent']);

/** The answer of a script that hands out a job, with nothing in the place of what BullMQ could not read of it: it would throw, and be handed the same job again and again. */
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
