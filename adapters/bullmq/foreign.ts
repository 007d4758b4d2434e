/** What BullMQ keeps of a queue, by what stands behind its name. */
const OWN: ReadonlyMap<string, string> = new Map([
  ...['wait', 'paused', 'active'].map((name) => [name, 'list'] as const),
  ...['prioritized', 'delayed', 'completed', 'failed', 'waiting-children', 'marker', 'repeat'].map((name) => [name, 'zset'] as const),
  ...['id', 'pc', 'limiter', 'stalled-check'].map((name) => [name, 'string'] as const),
  ...([
    ['meta', 'hash'],
    ['stalled', 'set'],
    ['events', 'stream'],
  ] as const),
]);

/** Of which type Redis has to hold what stands behind the name of a queue; null where that is not known. */
export const typeOf = (name: string): string | null =>
  OWN.get(name) ?? (name.includes(':') ? (name.endsWith(':lock') ? 'string' : null) : 'hash');

/** KEYS what stands for all records, then keys of queues. ARGV the type of each of these. Removes those of another type, and with them what stands for all: jobs were lost. */
export const REMOVE_FOREIGN = `
local foreign = {}
for i = 2, #KEYS do
  local kind = redis.call('TYPE', KEYS[i]).ok
  if kind ~= 'none' and kind ~= ARGV[i - 1] then
    redis.call('DEL', KEYS[i])
    foreign[#foreign + 1] = KEYS[i]
  end
end
if #foreign > 0 then redis.call('DEL', KEYS[1]) end
return foreign
`;
